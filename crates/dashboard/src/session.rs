//! The page of a session.

mod details;
mod events;
mod finding;
mod record;

use belay_ipc::views::SessionPageView;
use maud::{Markup, html};

use crate::forms::decisions_url;
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::parts::{command, session_url};
use crate::picture;
use crate::state;
use crate::text::name;
use crate::words;

const HEAD: &str = "head";
const FINDING: &str = "finding";
const SHAPE: &str = "shape";
const DETAILS: &str = "details";
const RECORD: &str = "record";
const EVENTS: &str = "events";

/// The page of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    pub view: SessionPageView,
    /// Which events the table shows.
    pub events: EventFilter,
}

/// Selects events of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Words that an event must contain.
    pub text: String,
    /// The only kind to show; empty for all.
    pub kind: String,
    /// Only events before this sequence number.
    pub before: Option<u64>,
}

impl EventFilter {
    fn is_set(&self) -> bool {
        !self.text.is_empty() || !self.kind.is_empty()
    }
}

impl PageView for SessionPage {
    fn place(&self) -> Page {
        Page::Session
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let view = &self.view;
        let look = state::of_session(&view.session, view.incident.as_ref());
        let title = format!("{} · {}", look.word, name(view.session.title()).to_text());
        // A window in the past stays as it is.
        let mut at_once = vec![NAV, HEAD, FINDING, RECORD];
        if picture::at_newest_end(&view.picture) {
            at_once.extend([SHAPE, DETAILS]);
        }
        if self.events.before.is_none() {
            at_once.push(EVENTS);
        }
        let live = Live { at_once: &at_once, session: Some(&view.session.session), ..Live::default() };
        frame.document(&title, live, &html! {
            @for id in [HEAD, FINDING, SHAPE, DETAILS, RECORD, EVENTS] { @if let Some(part) = self.part(frame, id) { (part) } }
        })
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        let view = &self.view;
        match id {
            HEAD => Some(head(frame, view)),
            FINDING => Some(finding::panel(frame, view)),
            SHAPE => Some(picture::panel(frame, &view.picture, &session_url(&view.session.session))),
            DETAILS => Some(details::panels(view)),
            RECORD => Some(record::panels(frame, view)),
            EVENTS => Some(events::panel(frame, self)),
            _ => None,
        }
    }
}

fn head(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let session = &view.session;
    let look = state::of_session(session, view.incident.as_ref());
    let ends = state::ends(frame, &session.status);
    html! {
        div.stack id=(HEAD) data-calls-total=(session.calls) data-about=(decisions_url(&session.session)) data-happened=[record::newest_decision(frame, view)] {
            div {
                p.muted {
                    a.link href="/" { "Overview" }
                    @for part in [session.project_name(), session.branch.as_deref()].into_iter().flatten() { " / " (name(part)) }
                }
                div.title {
                    h1 { (name(session.title())) }
                    (state::state(look, &html! {
                        (state::since_clock(frame, session.status.since))
                        @if let Some(end) = ends { small { ", ends by itself in " (end) } }
                    }))
                    nav.acts aria-label="Sessions" {
                        @if let Some(previous) = &view.previous { a.button.plain href=(session_url(previous)) data-key="k" { "Previous " kbd { "k" } } }
                        @if let Some(next) = &view.next { a.button.plain href=(session_url(next)) data-key="j" { "Next " kbd { "j" } } }
                    }
                }
            }
            (facts(frame, view))
        }
    }
}

fn facts(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let session = &view.session;
    let usage = &session.usage;
    let read = usage.cache_read.saturating_mul(100).checked_div(usage.context()).filter(|percent| *percent > 0);
    let fact = |label: &str, value: Markup| html! { div { dt { (label) } dd { (value) } } };
    html! {
        dl.facts {
            (fact("Agent", html! { (name(words::display_name(&session.agent))) @if let Some(version) = &session.agent_version { " " (name(version)) } }))
            @if let Some(model) = &session.model { (fact("Model", html! { (name(model)) })) }
            (fact("Session", html! { code { (name(&session.session)) } }))
            (fact("Started", html! { (words::moment(session.started_at, frame.now, frame.zone)) }))
            (fact("Calls", html! { (words::grouped(session.calls)) @if session.errors > 0 { " " small { (words::grouped(session.errors)) " failed" } } }))
            (fact("Tokens", html! { (words::tokens(session.tokens)) @if let Some(percent) = read { " " small { (percent) " % cache reads" } } }))
            (fact("Cost", html! {
                (words::cost(session.cost_micros, session.unpriced_micros))
                @if let Some(limit) = session.limits.cost_micros { " " small { "of " (words::round_dollars(limit)) } }
            }))
            @if !view.sensors.is_empty() { (fact("Seen by", html! { (name(&view.sensors.join(", "))) })) }
        }
    }
}

/// The command for what a panel shows.
fn footer(line: &str) -> Markup {
    html! { footer { (command(line)) } }
}
