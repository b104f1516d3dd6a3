//! The marks of calls: their shape tells the outcome.

use belay_core::session::CallMark;
use maud::{Markup, html};

use crate::charts::px;

/// Classes of a mark: grey, or the colour of its row.
fn class(base: &str, row: Option<usize>) -> String {
    match row.and_then(|row| super::COLOURS.get(row)) {
        Some(colour) => format!("{base} m{colour}"),
        None => base.to_owned(),
    }
}

/// A mark at a point.
pub(crate) fn mark(kind: CallMark, x: f64, y: f64, row: Option<usize>) -> Markup {
    let solid = class("m", row);
    let line = class("m x", row);
    let hollow = class("m o", row);
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    match kind {
        CallMark::Ok => html! { rect class=(solid) x=(px(x - 4.0)) y=(px(y - 4.0)) width="8" height="8" rx="1" {} },
        CallMark::Failed => html! { path class=(line) d={ "M" (at(-4.0, -4.0)) "l8 8M" (at(4.0, -4.0)) "l-8 8" } {} },
        CallMark::Written => html! { path class=(solid) d={ "M" (at(0.0, -6.0)) "l6 10.5h-12z" } {} },
        CallMark::Reverted => html! { path class=(solid) d={ "M" (at(0.0, 6.0)) "l6-10.5h-12z" } {} },
        CallMark::HeldBack => html! {
            path class=(hollow) d={ "M" (at(-4.0, -4.5)) "h8v9h-8z" } {}
            path class=(line) stroke-width="1.5" d={ "M" (at(-1.3, -2.0)) "v4M" (at(1.3, -2.0)) "v4" } {}
        },
        CallMark::Running => html! { circle class=(hollow) cx=(px(x)) cy=(px(y)) r="3.5" stroke-dasharray="2 1.6" {} },
    }
}

/// What the shapes mean.
pub(crate) fn legend() -> Markup {
    let shown = [
        (CallMark::Ok, "ok"),
        (CallMark::Failed, "failed"),
        (CallMark::Written, "file written"),
        (CallMark::Reverted, "file back to earlier content"),
        (CallMark::HeldBack, "held back"),
        (CallMark::Running, "running"),
    ];
    html! {
        @for (kind, word) in shown {
            span { svg.icon viewBox="0 0 16 16" aria-hidden="true" { (mark(kind, 8.0, 8.0, None)) } (word) }
        }
    }
}
