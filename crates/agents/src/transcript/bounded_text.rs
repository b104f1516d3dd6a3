//! The length limit for text from session files.

/// Maximum length of a text that a parser collects before it becomes an excerpt.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Appends a line to a text, up to the maximum length.
pub(crate) fn append_line(text: &mut String, line: &str) {
    let remaining = MAX_TEXT_BYTES.saturating_sub(text.len());
    if !text.is_empty() && remaining > 0 {
        text.push('\n');
    }
    text.push_str(&line[..line.floor_char_boundary(remaining)]);
}
