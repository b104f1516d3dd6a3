//! The loop picture: x is the call number, new ground climbs, repeats drop onto lettered rows, and only what belongs to a
//! finding is coloured.
//!
//! [`layout`] places the calls as plain data (columns, folds, rows, heights), [`svg`] draws that, [`strip`] draws the whole
//! session in at most 128 buckets, and [`mini`] the same shape in the size of a line.

mod fold;
mod labels;
mod layout;
mod marks;
pub(crate) mod mini;
mod strip;
mod svg;
#[cfg(test)]
mod tests;

use belay_ipc::views::{PictureRow, PictureView};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::text::{name, sentence};
use crate::words;
use layout::Layout;

pub(crate) use marks::legend;

/// Colours of the rows of a finding; further rows are grey and differ by letter and place.
const COLOURS: [&str; 4] = ["a", "b", "c", "d"];

/// The letter of a row of the finding.
pub(crate) fn letter(row: usize) -> char {
    u8::try_from(row).ok().filter(|row| *row < 26).map_or('?', |row| char::from(b'A' + row))
}

/// A lettered key in the row's colour.
pub(crate) fn key(row: usize) -> Markup {
    let colour = COLOURS.get(row).map_or("key", |colour| match *colour {
        "a" => "key ka",
        "b" => "key kb",
        "c" => "key kc",
        _ => "key kd",
    });
    html! { b class=(colour) { (letter(row)) } }
}

/// The row of the finding that a pair belongs to.
pub(crate) fn finding_row(rows: &[PictureRow], pair: &str) -> Option<usize> {
    rows.iter().filter(|row| row.in_finding).position(|row| row.pair == pair)
}

/// Whether the window ends at the newest call.
pub(crate) fn at_newest_end(view: &PictureView) -> bool {
    view.calls.last().is_none_or(|call| call.call >= view.total)
}

/// The panel. `url` is the address of the page, to walk through earlier calls.
pub(crate) fn panel(frame: &Frame<'_>, view: &PictureView, url: &str) -> Markup {
    html! {
        section.panel id="shape" aria-labelledby="shape-h" data-calls-total=(view.total) {
            header {
                h2 id="shape-h" { "Shape of the work" }
                small.wide { "up: something new · sideways: the same again · colour: part of the loop" }
                button.main type="button" data-show-new hidden { "New calls" }
                (window(view, url))
            }
            @if view.calls.is_empty() {
                div.body { p.muted { "No calls yet. The picture begins with the first tool call." } }
            } @else {
                @let layout = Layout::new(view);
                (strip::strip(view))
                div.picture {
                    (labels::labels(view, &layout))
                    div.scroll tabindex="0" role="group" aria-label="Calls; left and right arrows walk through them" aria-describedby="call"
                        data-calls=(cursor_data(frame, view, &layout)) {
                        (svg::picture(frame, view, &layout))
                    }
                }
                div.body { div.row.legend { (legend()) output.mono.end id="call" { (newest(frame, view)) } } }
            }
        }
    }
}

/// "calls 356 to 412 of 412", with the ways to earlier and later ones.
fn window(view: &PictureView, url: &str) -> Markup {
    let (Some(first), Some(last)) = (view.calls.first(), view.calls.last()) else { return html! { span {} } };
    let size = view.calls.len() as u64;
    let later = last.call.saturating_add(size);
    html! {
        nav.row.muted aria-label="Window of calls" {
            @if first.call > 1 {
                a.button.plain href={ (url) "?until=" (first.call - 1) "#shape" } { "Earlier" }
            }
            span {
                "calls " (words::grouped(first.call)) " to " (words::grouped(last.call)) " of " (words::grouped(view.total))
            }
            @if last.call < view.total {
                @if later < view.total { a.button.plain href={ (url) "?until=" (later) "#shape" } { "Later" } }
                a.button.plain href={ (url) "#shape" } data-newest { "Newest" }
            }
        }
    }
}

/// What the cursor tells of each column: its left edge, its width and its text.
fn cursor_data(frame: &Frame<'_>, view: &PictureView, layout: &Layout) -> String {
    let columns: Vec<serde_json::Value> = layout
        .columns
        .iter()
        .map(|column| {
            let text = match &column.kind {
                layout::ColumnKind::Calls(calls) => {
                    let calls: Vec<String> =
                        view.calls[calls.clone()].iter().map(|call| describe(frame, call)).collect();
                    calls.join(" ‖ ")
                }
                layout::ColumnKind::Fold(fold) => fold.words().join(", "),
            };
            serde_json::json!([column.x, column.width, text])
        })
        .collect();
    serde_json::Value::Array(columns).to_string()
}

/// "call 412 · 13:30:57 · Edit src/cart.ts → held by Belay · $1.57 since progress"
fn describe(frame: &Frame<'_>, call: &belay_ipc::views::CallView) -> String {
    let tail = match call.progress {
        true => "progress".to_owned(),
        false => format!("{} since progress", words::dollars(call.since_progress_micros)),
    };
    format!(
        "call {} · {} · {} → {} · {tail}",
        words::grouped(call.call),
        words::clock_seconds(call.at, frame.zone),
        name(words::action(&call.what)).to_text(),
        name(&call.outcome).to_text(),
    )
}

fn newest(frame: &Frame<'_>, view: &PictureView) -> Markup {
    html! { @if let Some(call) = view.calls.last() { (sentence(&describe(frame, call))) } }
}
