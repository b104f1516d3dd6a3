//! Replaces characters outside ASCII in a finished buffer, for terminals whose locale is not UTF-8.

use ratatui::buffer::Buffer;

/// Our own symbols and their replacements, one column each.
const REPLACEMENTS: &[(&str, &str)] = &[
    ("▌", ">"),
    ("·", "-"),
    ("…", "~"),
    ("“", "\""),
    ("”", "\""),
    ("’", "'"),
    ("–", "-"),
    ("─", "-"),
    ("│", "|"),
    ("┌", "+"),
    ("┐", "+"),
    ("└", "+"),
    ("┘", "+"),
    ("┈", "."),
    ("→", ">"),
    ("←", "<"),
    ("×", "x"),
    ("✓", "+"),
    ("●", "*"),
    ("○", "o"),
    ("◇", "%"),
    ("‖", "|"),
    ("≡", "="),
    ("□", "o"),
    ("◔", "~"),
    ("↻", "@"),
    ("■", "#"),
    ("▲", "^"),
    ("▼", "v"),
    ("▣", "@"),
    ("░", "."),
    ("▁", "_"),
    ("▂", "."),
    ("▃", ":"),
    ("▄", "-"),
    ("▅", "="),
    ("▆", "+"),
    ("▇", "*"),
    ("█", "#"),
];

pub(crate) fn fold(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().is_ascii() {
            continue;
        }
        let known = REPLACEMENTS.iter().find(|(symbol, _)| *symbol == cell.symbol());
        cell.set_symbol(known.map_or("?", |(_, replacement)| replacement));
    }
}
