//! Bar charts as inline SVG.

use std::fmt::Write as _;

use super::escape;

/// One bar: its value, a highlighted part, and its tooltip.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: u64,
    pub(super) part: u64,
    pub(super) note: String,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const BELOW: f64 = 24.0;

/// Vertical bars over time.
pub(super) fn columns(bars: &[Bar], unit: fn(u64) -> String) -> String {
    let top = bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let step = (WIDTH - LEFT) / bars.len() as f64;
    let width = (step * 0.8).clamp(0.5, 40.0);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{} bars, the highest {}\">",
        HEIGHT + BELOW,
        bars.len(),
        escape(&unit(top))
    );
    for line in 0..=2u32 {
        let y = HEIGHT - HEIGHT * f64::from(line) / 2.0 * 0.95;
        let value = (top as f64 * f64::from(line) / 2.0) as u64;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" class=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            escape(&unit(value))
        );
    }
    let labels = (bars.len() / 8).max(1);
    for (at, bar) in bars.iter().enumerate() {
        let x = LEFT + step * at as f64 + (step - width) / 2.0;
        let tall = |value: u64| HEIGHT * 0.95 * value as f64 / top as f64;
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"all\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>\
             <rect class=\"part\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/></g>",
            escape(&bar.note),
            HEIGHT - tall(bar.value),
            tall(bar.value),
            HEIGHT - tall(bar.part),
            tall(bar.part)
        );
        if at % labels == 0 {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
                x + width / 2.0,
                HEIGHT + 17.0,
                escape(&bar.name)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Horizontal bars.
pub(super) fn rows(bars: &[Bar]) -> String {
    const ROW: f64 = 26.0;
    const NAME: f64 = 230.0;
    let top = bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{} kinds\">",
        ROW * bars.len() as f64,
        bars.len()
    );
    for (at, bar) in bars.iter().enumerate() {
        let y = ROW * at as f64;
        let wide = (WIDTH - NAME - 60.0) * bar.value as f64 / top as f64;
        let _ = writeln!(
            out,
            "<g><title>{}</title><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>\
             <rect class=\"all\" x=\"{NAME}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"16\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            escape(&bar.note),
            NAME - 10.0,
            y + 17.0,
            escape(&bar.name),
            y + 5.0,
            NAME + wide + 8.0,
            y + 17.0,
            bar.value
        );
    }
    out.push_str("</svg>\n");
    out
}
