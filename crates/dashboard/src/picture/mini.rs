//! The same shape, small: for rows of the needs list, for incidents, and to explain how to read it.

use belay_core::session::CallMark;
use belay_ipc::views::{CallView, NeedView};
use maud::{Markup, html};

use super::marks::mark;
use super::{COLOURS, letter};
use crate::charts::px;

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) calls: &'a [CallView],
    /// Pairs of the finding, in the order of the cycle.
    pub(crate) pairs: &'a [String],
    /// First call of the finding.
    pub(crate) from: Option<u64>,
}

/// Calls that fit into a small picture.
const MAX_CALLS: usize = 60;

/// The shape in a row of the needs list.
pub(crate) fn small(need: &NeedView) -> Markup {
    let shape = Shape { calls: &need.calls, pairs: &need.pairs, from: need.finding_from };
    if shape.calls.is_empty() {
        html! {}
    } else {
        draw(shape, 160.0, 40.0, false)
    }
}

/// The shape with its marks.
pub(crate) fn large(shape: Shape<'_>, height: f64) -> Markup {
    draw(shape, 440.0, height, true)
}

fn draw(shape: Shape<'_>, width: f64, height: f64, detailed: bool) -> Markup {
    let calls = &shape.calls[shape.calls.len().saturating_sub(MAX_CALLS)..];
    let margin = if detailed { 6.0 } else { 3.0 };
    let scale = (width - 2.0 * margin) / calls.len().max(1) as f64;
    let x = |index: usize| margin + (index as f64 + 0.5) * scale;
    let looping = !shape.pairs.is_empty();
    let ground = if looping { height * 0.4 } else { height - margin };
    let (least, most) = (
        calls.iter().map(|call| call.distinct).min().unwrap_or(0),
        calls.iter().map(|call| call.distinct).max().unwrap_or(0),
    );
    let step = (ground - margin) / most.saturating_sub(least).max(1) as f64;
    let y = |call: &CallView| margin + most.saturating_sub(call.distinct) as f64 * step;
    let row_y = |row: usize| {
        let (top, bottom) = (height * 0.54, height - margin - if detailed { 2.0 } else { 0.0 });
        top + (bottom - top) * row as f64 / shape.pairs.len().saturating_sub(1).max(1) as f64
    };
    let row = |call: &CallView| {
        let counts = shape.from.is_some_and(|from| call.call >= from);
        shape.pairs.iter().position(|pair| counts && *pair == call.pair)
    };
    let mut line = String::new();
    let mut thread = String::new();
    for (index, call) in calls.iter().enumerate() {
        line.push_str(&match index {
            0 => format!("M{} {}", px(x(0)), px(y(call))),
            _ => format!("H{}V{}", px(x(index)), px(y(call))),
        });
        if let Some(row) = row(call).filter(|_| call.mark != CallMark::HeldBack) {
            let verb = if thread.is_empty() { "M" } else { "L" };
            thread.push_str(&format!("{verb}{} {}", px(x(index)), px(row_y(row))));
        }
    }
    html! {
        svg.mini width=(px(width)) height=(px(height)) viewBox={ "0 0 " (px(width)) " " (px(height)) } preserveAspectRatio="xMinYMid"
            role="img" aria-label=(label(shape)) {
            path.thread d=(line) {}
            @if !thread.is_empty() { path class=(if detailed { "thread hot" } else { "thread" }) d=(thread) {} }
            @for (index, call) in calls.iter().enumerate() {
                @if detailed && call.progress {
                    circle.up cx=(px(x(index))) cy=(px(y(call))) r="3" {}
                } @else if detailed && call.first {
                    circle.m.o cx=(px(x(index))) cy=(px(y(call))) r="3" {}
                }
                @if let Some(row) = row(call) {
                    @if detailed {
                        (mark(call.mark, x(index), row_y(row), Some(row)))
                    } @else {
                        circle class=(COLOURS.get(row).map_or("m".to_owned(), |colour| format!("m m{colour}"))) cx=(px(x(index))) cy=(px(row_y(row))) r="1.8" {}
                    }
                }
            }
        }
    }
}

fn label(shape: Shape<'_>) -> String {
    let letters: Vec<String> = (0..shape.pairs.len()).map(|row| letter(row).to_string()).collect();
    match letters.len() {
        0 => "Shape: new ground throughout".to_owned(),
        1 => "Shape: new ground stops, then row A repeats".to_owned(),
        _ => format!("Shape: new ground stops, then rows {} repeat", letters.join(", ")),
    }
}
