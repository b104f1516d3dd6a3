//! The overview: who needs a person, what the others do, and what today cost.

mod needs;
mod today;
mod working;

use belay_core::status::StatusValue;
use belay_ipc::views::{OverviewView, PendingApproval};
use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV};
use crate::words;

const SUMMARY: &str = "summary";
const NEEDS: &str = "needs";
const WORKING: &str = "working";
const TODAY: &str = "today";

/// The overview. `approvals` are the permission prompts that can be answered here.
pub fn page(frame: &Frame<'_>, view: &OverviewView, approvals: &[PendingApproval]) -> Markup {
    let title = match view.needs.len() {
        0 => "Overview".to_owned(),
        1 => "1 needs you".to_owned(),
        count => format!("{count} need you"),
    };
    let live = Live { at_once: &[NAV, SUMMARY, NEEDS, WORKING], each_minute: &[TODAY], ..Live::default() };
    frame.document(
        &title,
        live,
        &html! {
            (summary(frame, view))
            (trial(frame, view))
            (needs::panel(frame, view, approvals))
            (working::panel(frame, view))
            (today::panels(frame, view))
        },
    )
}

/// Parts of the page by id, separated by commas. `None` if one of them does not exist.
pub fn fragment(frame: &Frame<'_>, view: &OverviewView, approvals: &[PendingApproval], ids: &str) -> Option<Markup> {
    let part = |id: &str| match id {
        NAV => Some(frame.nav()),
        SUMMARY => Some(summary(frame, view)),
        NEEDS => Some(needs::panel(frame, view, approvals)),
        WORKING => Some(working::panel(frame, view)),
        TODAY => Some(today::panels(frame, view)),
        _ => None,
    };
    crate::frame::fragments(ids, part)
}

fn summary(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    let working = view.active.iter().filter(|session| session.status.value == StatusValue::Working).count();
    let waiting = view.active.len() - working;
    html! {
        div.title id=(SUMMARY) {
            h1 { "Overview" }
            nav.tabs aria-label="Parts of this page" {
                a href="#needs" { "Needs you " span.count { (view.needs.len()) } }
                a href="#working" { "Working " span.count { (working) } }
                a href="#working" { "Waiting " span.count { (waiting) } }
                a href="#today" { "Today " span.count { (words::dollars(view.today.spent.cost_micros)) } }
            }
            div.acts.hide {
                small.wide.cut { (today::in_one_line(frame, view)) }
                input id="search" type="search" aria-label="Search sessions" placeholder="Search sessions" data-search="[data-row]" autocomplete="off";
                kbd { "/" }
            }
        }
    }
}

fn trial(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    if !view.trial {
        return html! {};
    }
    html! {
        aside.note aria-label="Guided trial" {
            p { "Some of these sessions belong to the guided trial. They alert nobody and count in no figure." }
            (form(frame, "acts", "/trial/remove", &html! { button { "Remove the trial’s sessions" } output.answer {} }))
        }
    }
}
