//! Bar charts, drawn by the server.

use maud::{Markup, html};

use crate::text::name;

/// A coordinate with one decimal, without a needless zero.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A share of a height; something stays visible.
fn height(value: u64, max: u64, full: f64, least: f64) -> f64 {
    if value == 0 || max == 0 { least } else { (value as f64 / max as f64 * full).max(least) }
}

/// Tokens per minute. The last `hot` bars are amber: they came after the last progress.
pub(crate) fn sparkline(values: &[u64], hot: usize, label: &str) -> Markup {
    let max = values.iter().copied().max().unwrap_or(0);
    let calm = values.len().saturating_sub(hot);
    html! {
        svg.spark width="96" height="20" viewBox="0 0 96 20" role="img" aria-label=(label) {
            @for (at, value) in values.iter().enumerate().take(24) {
                @let tall = height(*value, max, 20.0, 1.0);
                rect class=(if at < calm { "fill2" } else { "fillw" }) x=(at * 4) width="3" y=(px(20.0 - tall)) height=(px(tall)) {}
            }
        }
    }
}

/// Width of the longest label of an axis.
const TICK_WIDTH: u32 = 36;

/// A bar of a chart over time.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) value: u64,
    /// Text of the axis below it.
    pub(crate) tick: Option<String>,
    /// Shown when pointed at.
    pub(crate) title: String,
}

/// Bars over time; the newest is darker.
pub(crate) fn bars(bars: &[Bar], step: u32, tall: u32, label: &str) -> Markup {
    let max = bars.iter().map(|bar| bar.value).max().unwrap_or(0);
    let width = u32::try_from(bars.len()).unwrap_or(0) * step;
    let full = f64::from(tall) - 18.0;
    html! {
        svg width=(width.max(step)) height=(tall) viewBox={ "0 0 " (width.max(step)) " " (tall) } role="img" aria-label=(name(label)) {
            @for (at, bar) in bars.iter().enumerate() {
                @let size = height(bar.value, max, full - 4.0, 1.0);
                @let x = at as u32 * step;
                g {
                    title { (name(&bar.title)) }
                    rect class=(if at + 1 == bars.len() { "fill2" } else { "fill1" }) x=(x) width=(step - 4) y=(px(full - size)) height=(px(size)) {}
                    @if let Some(tick) = &bar.tick {
                        // A label at the right edge ends there.
                        @let at_edge = x + TICK_WIDTH > width;
                        text x=(if at_edge { width } else { x }) y=(tall - 2) text-anchor=[at_edge.then_some("end")] { (name(tick)) }
                    }
                }
            }
        }
    }
}

/// A horizontal bar that compares one name with the others.
pub(crate) fn share(value: u64, max: u64) -> Markup {
    let percent = if max == 0 { 0.0 } else { value as f64 / max as f64 * 100.0 };
    html! {
        svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(px(percent)) height="4" {}
        }
    }
}
