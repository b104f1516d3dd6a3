//! The overview: who needs a person, what the others do, and what today cost.

mod needs;
mod review_row;
mod today;
mod working;

use std::sync::Arc;

use belay_core::status::StatusValue;
use belay_ipc::views::{OverviewView, PendingApproval};
use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, Page, PageView, replaced};
use crate::landing;
use crate::model::DecisionLine;
use crate::review_task::decide as review_decide;
use crate::words;

const SUMMARY: &str = "summary";
const NEEDS: &str = "needs";
const WORKING: &str = "working";
const TODAY: &str = "today";

/// Ids of the parts that change.
pub(crate) const PARTS: [&str; 4] = [SUMMARY, NEEDS, WORKING, TODAY];

/// The overview.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverviewPage {
    pub view: Arc<OverviewView>,
    /// The permission prompts that can be answered here.
    pub approvals: Vec<PendingApproval>,
    /// What people have decided in the last minutes, newest first.
    pub resolved: Vec<DecisionLine>,
}

impl PageView for OverviewPage {
    fn place(&self) -> Page {
        Page::Overview
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let view = &*self.view;
        let title = match view.need_count() {
            0 => "Overview".to_owned(),
            1 => "1 needs you".to_owned(),
            count => format!("{count} need you"),
        };
        let live =
            Live { at_once: &[NAV, SUMMARY, NEEDS, WORKING], each_minute: &[TODAY], reviews: true, ..Live::default() };
        frame.document(
            &title,
            live,
            &html! {
                (summary(frame, view))
                (trial(frame, view))
                (needs::panel(frame, self))
                (working::panel(frame, view))
                (today::panels(frame, view))
                (review_decide::list_dialogs(frame))
            },
        )
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        let view = &*self.view;
        match id {
            SUMMARY => Some(summary(frame, view)),
            NEEDS => Some(needs::panel(frame, self)),
            WORKING => Some(working::panel(frame, view)),
            TODAY => Some(today::panels(frame, view)),
            // The first session has begun while the landing page was open.
            landing::ID => Some(replaced(id)),
            _ => None,
        }
    }
}

fn summary(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    let working = view.active.iter().filter(|session| session.status.value == StatusValue::Working).count();
    let waiting = view.active.len() - working;
    html! {
        div.title id=(SUMMARY) {
            h1 { "Overview" }
            nav.tabs aria-label="Parts of this page" {
                a href="#needs" { "Needs you " span.count { (view.need_count()) } }
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
            p { "Some of these sessions belong to the guided trial. They send no alerts and are not included in any figure." }
            (form(frame, "acts", "/trial/remove", &html! { button { "Remove the trial’s sessions" } output.answer {} }))
        }
    }
}
