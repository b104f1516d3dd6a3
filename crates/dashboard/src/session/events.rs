//! The events: the picture as text, and everything else that was recorded.

use std::collections::BTreeSet;

use belay_ipc::views::{EventLineView, SessionPageView};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::parts::{command, session_url};
use crate::picture::{finding_row, key};
use crate::text::{name, shell_word};
use crate::words;

pub(super) fn panel(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let session = &view.session;
    let kinds: BTreeSet<&str> = view.events.iter().map(|event| event.kind.as_str()).collect();
    html! {
        section.panel id="events" aria-labelledby="events-h" {
            header {
                h2 id="events-h" { "Events" }
                div.row role="search" {
                    input id="event-search" type="search" aria-label="Filter the events shown" placeholder="Filter the events shown" data-search="#events [data-event]" autocomplete="off";
                    select id="event-kind" aria-label="Kind of event" data-kinds="#events [data-event]" {
                        option value="" { "all kinds" }
                        @for kind in kinds { option value=(name(kind)) { (name(&kind.replace('_', " "))) } }
                    }
                }
            }
            @if view.events.is_empty() {
                div.body { p.muted { "No events in this window." } }
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
                small { (words::grouped(view.events.len() as u64)) " of " (words::pluralize(session.events, "event")) }
                @if let Some(older) = view.older { a.button href={ (session_url(&session.session)) "?before=" (older) "#events" } { "Older" } }
                span.end.grow { (command(&format!("belay events tail {} -n {}", shell_word(&session.short), view.events.len().max(1)))) }
            }
        }
    }
}

fn row(frame: &Frame<'_>, view: &SessionPageView, event: &EventLineView) -> Markup {
    let letter = event.pair.as_deref().and_then(|pair| finding_row(&view.picture.rows, pair));
    html! {
        tr id={ "e" (event.seq) } data-event=(name(&event.kind)) {
            td { @if let Some(call) = event.call { (words::grouped(call)) } @else { small { "–" } } }
            td { time datetime=(event.at) { (words::clock_seconds(event.at, frame.zone)) } }
            td { @if let Some(row) = letter { (key(row)) } }
            td.break { @if event.call.is_none() { small { (name(&event.kind.replace('_', " "))) " " } } @if !event.what.is_empty() { code { (name(&event.what)) } } }
            td.break { (name(&event.outcome)) }
            td.n { @if event.tokens > 0 { (words::tokens(event.tokens)) } @else { "0" } }
            td.mid { (name(&event.source)) }
        }
    }
}
