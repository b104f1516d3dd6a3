//! The whole session as a strip, with the window marked.

use belay_ipc::views::PictureView;
use maud::{Markup, html};

use crate::charts::px;
use crate::words;

const WIDTH: f64 = 1030.0;
const MAX_STEP: f64 = 10.0;
const TOP: f64 = 4.0;
const TALL: f64 = 18.0;

pub(super) fn strip(view: &PictureView) -> Markup {
    if view.strip.is_empty() || view.bucket_calls == 0 {
        return html! {};
    }
    let step = (WIDTH / view.strip.len() as f64).min(MAX_STEP);
    let width = step * view.strip.len() as f64;
    let at = |call: u64| call as f64 / view.bucket_calls as f64 * step;
    let first = view.calls.first().map_or(0, |call| call.call.saturating_sub(1));
    let last = view.calls.last().map_or(0, |call| call.call);
    let label = format!(
        "Whole session: {} in {} of {}; the window is marked",
        words::pluralize(view.total, "call"),
        words::pluralize(view.strip.len() as u64, "step"),
        words::pluralize(view.bucket_calls, "call"),
    );
    html! {
        div.picture.map {
            small { "whole session, " (words::pluralize(view.total, "call")) }
            div.scroll tabindex="0" role="group" aria-label="Whole session" {
                svg width=(px(width)) height="26" viewBox={ "0 0 " (px(width)) " 26" } role="img" aria-label=(label) {
                    @for (index, bucket) in view.strip.iter().enumerate() {
                        @let calls = f64::from(bucket.calls.max(1));
                        @let share = |count: u32| (f64::from(count) / calls).min(1.0) * TALL;
                        @let hot = share(bucket.in_finding);
                        @let repeated = share(bucket.calls.saturating_sub(bucket.new).saturating_sub(bucket.in_finding));
                        @let x = px(index as f64 * step);
                        @let end = (index as u64 + 1).saturating_mul(view.bucket_calls).min(view.total);
                        g data-until=(end) {
                            rect.fill1 x=(x) width=(px(step - 2.0)) y=(px(TOP)) height=(px((TALL - hot - repeated).max(0.0))) {}
                            @if repeated > 0.0 { rect.fill2 x=(x) width=(px(step - 2.0)) y=(px(TOP + TALL - hot - repeated)) height=(px(repeated)) {} }
                            @if hot > 0.0 { rect.fill3 x=(x) width=(px(step - 2.0)) y=(px(TOP + TALL - hot)) height=(px(hot)) {} }
                        }
                    }
                    rect.win x=(px(at(first).max(1.0))) y="1.5" width=(px((at(last) - at(first)).clamp(4.0, width - 2.0))) height="23" rx="2" {}
                }
            }
        }
    }
}
