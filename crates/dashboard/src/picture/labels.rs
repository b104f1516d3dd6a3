//! The labels left of the picture.

use belay_ipc::views::{FlagKind, PictureView};
use maud::{Markup, html};

use super::key;
use super::layout::Layout;
use crate::text::name;
use crate::words;

pub(super) fn labels(view: &PictureView, layout: &Layout) -> Markup {
    let first = view.calls.first().map_or(0, |call| call.call);
    let compacted = view.flags.iter().rev().find(|flag| flag.kind == FlagKind::Compacted && flag.after >= first);
    html! {
        ol aria-label="Rows" {
            li.h1 { small { "rounds and interventions" } }
            li.h2 { span { b { "New ground" } br; small { "calls made for the first time" br; "filled: progress" } } }
            @for row in &layout.rows {
                @if let Some(known) = view.rows.get(row.index) {
                    li class=[row.letter.map(|_| "loop")] {
                        @if let Some(letter) = row.letter { (key(letter)) }
                        span.grow { code { (name(&known.what)) } " " small { (name(&known.outcome)) } }
                        small.hide { (words::grouped(known.count)) "×" }
                    }
                }
            }
            li.h3 { span { b { "Since progress" } br; small { "money" } } }
            li.h3 { span { b { "Burn" } br; small { "tokens a call; light: cache" } } }
            li.h3 {
                span {
                    b { "Context" } br;
                    small { @if let Some(flag) = compacted { "compacted at call " (words::grouped(flag.after)) } @else { "share of the window" } }
                }
            }
        }
    }
}
