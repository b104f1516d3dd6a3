//! The events: the picture as text, and everything else that was recorded.

use belay_core::event::EVENT_KINDS;
use belay_ipc::views::{EventLineView, SessionPageView};
use maud::{Markup, html};

use super::{EventFilter, SessionPage};
use crate::frame::Frame;
use crate::parts::{command, path_segment, session_url};
use crate::picture::{finding_row, key};
use crate::text::{name, shell_word};
use crate::words;

pub(super) fn panel(frame: &Frame<'_>, page: &SessionPage) -> Markup {
    let (view, filter) = (&page.view, &page.events);
    let session = &view.session;
    let url = session_url(&session.session);
    html! {
        section.panel id="events" aria-labelledby="events-h" {
            header { h2 id="events-h" { "Events" } (search(&url, filter)) }
            @if view.events.is_empty() {
                div.body { p.muted {
                    @match (filter.is_set(), view.older) {
                        (false, _) => { "No events in this window." }
                        (true, None) => { "No event of this session matches." }
                        (true, Some(older)) => { "No event after number " (words::grouped(older)) " matches. Search the older ones." }
                    }
                } }
            } @else {
                div.scroll tabindex="0" role="group" aria-label="Events" {
                    table {
                        thead { tr {
                            th scope="col" { "Call" } th scope="col" { "Time" } th scope="col" { "Row" } th scope="col" { "What" }
                            th scope="col" { "Outcome" } th.n scope="col" { "Tokens" } th.mid scope="col" { "Sensor" }
                        } }
                        tbody { @for event in &view.events { (row(frame, view, event)) } }
                    }
                }
            }
            div.body.row {
                small {
                    (words::grouped(view.events.len() as u64))
                    @if filter.is_set() { " found" }
                    " of " (words::pluralize(session.events, "event"))
                }
                @if let Some(older) = view.older { a.button href=(older_url(&url, filter, older)) { (if filter.is_set() { "Search older" } else { "Older" }) } }
                @if filter.before.is_some() { a.button.plain href=(older_url(&url, filter, 0)) { "Newest" } }
                span.end.grow { (command(&format!("belay events tail {} -n {}", shell_word(&session.short), view.events.len().max(1)))) }
            }
        }
    }
}

/// Searches the whole session on the server. `assets/events.js` does it while a person types.
fn search(url: &str, filter: &EventFilter) -> Markup {
    html! {
        form.row role="search" method="get" action={ (url) "#events" } data-events {
            input id="event-search" type="search" name="q" aria-label="Search all events of this session" placeholder="Search all events" value=(filter.text) maxlength="200" autocomplete="off";
            select id="event-kind" name="kind" aria-label="Kind of event" {
                option value="" { "all kinds" }
                @for kind in EVENT_KINDS { option value=(kind) selected[filter.kind == *kind] { (kind.replace('_', " ")) } }
            }
            noscript { button { "Search" } }
        }
    }
}

/// The address of the events before a sequence number; 0 for the newest.
fn older_url(url: &str, filter: &EventFilter, before: u64) -> String {
    let mut query = Vec::new();
    for (field, value) in [("q", &filter.text), ("kind", &filter.kind)] {
        if !value.is_empty() {
            query.push(format!("{field}={}", path_segment(value)));
        }
    }
    if before > 0 {
        query.push(format!("before={before}"));
    }
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{url}{separator}{}#events", query.join("&"))
}

fn row(frame: &Frame<'_>, view: &SessionPageView, event: &EventLineView) -> Markup {
    let letter = event.pair.as_deref().and_then(|pair| finding_row(&view.picture.rows, pair));
    html! {
        tr id={ "e" (event.seq) } {
            td { @if let Some(call) = event.call { (words::grouped(call)) } @else { small { "–" } } }
            td { time datetime=(event.at) { (words::clock_seconds(event.at, frame.zone)) } }
            td { @if let Some(row) = letter { (key(row)) } }
            td.break { @if event.call.is_none() { small { (name(&event.kind.replace('_', " "))) " " } } @if !event.what.is_empty() { code { (name(&event.what)) } } }
            td.break { (name(&event.outcome)) }
            td.n { @if event.tokens > 0 { (words::tokens(event.tokens)) } @else { "–" } }
            td.mid { (name(&event.source)) }
        }
    }
}
