//! Resolves terminal control: escape sequences, carriage returns and backspaces.

/// A line as a terminal would show it. `scratch` is reused between lines.
pub(super) fn strip_ansi<'a>(raw: &'a str, scratch: &'a mut String) -> &'a str {
    let raw = raw.trim_end_matches('\r');
    scratch.clear();
    let bytes = raw.as_bytes();
    let mut at = 0;
    let mut copied = 0;
    while at < bytes.len() {
        let b = bytes[at];
        if b != 0x1b && b != b'\r' && b != 0x08 && !is_silent(b) {
            at += 1;
            continue;
        }
        scratch.push_str(&raw[copied..at]);
        match b {
            0x1b => at = escape_end(bytes, at),
            // Text after a carriage return overwrites the line; a lone one changes nothing.
            b'\r' => {
                at += 1;
                if bytes[at..].iter().any(|b| *b != b'\r') {
                    scratch.clear();
                }
            }
            0x08 => {
                at += 1;
                scratch.pop();
            }
            _ => at += 1,
        }
        copied = at;
    }
    scratch.push_str(&raw[copied..]);
    scratch
}

/// Control bytes without visible effect, except those handled separately.
fn is_silent(b: u8) -> bool {
    (b < 0x20 && !matches!(b, b'\t' | b'\r' | 0x1b | 0x08)) || b == 0x7f
}

/// End of the escape sequence at `at`. An invalid one loses only its escape byte.
fn escape_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at + 1) {
        Some(b'[') => {
            let mut end = at + 2;
            while let Some(b) = bytes.get(end) {
                match b {
                    0x20..=0x3f => end += 1,
                    0x40..=0x7e => return end + 1,
                    _ => break,
                }
            }
            at + 1
        }
        // Titles and links end with BEL or ESC \.
        Some(b']') => {
            for end in at + 2..bytes.len() {
                match bytes[end] {
                    0x07 => return end + 1,
                    0x1b if bytes.get(end + 1) == Some(&b'\\') => return end + 2,
                    0x1b => break,
                    _ => {}
                }
            }
            at + 1
        }
        Some(b'(' | b')') if bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric) => at + 3,
        Some(b'=' | b'>' | b'7' | b'8' | b'M' | b'D' | b'E' | b'H' | b'c') => at + 2,
        _ => at + 1,
    }
}

/// The run with all spinner glyphs replaced by one; `None` if there are none.
pub(super) fn normalize_spinner(run: &str) -> Option<String> {
    let turns = |c: char| matches!(c, '\u{2800}'..='\u{28ff}' | '\u{25d0}'..='\u{25d3}' | '\u{25f4}'..='\u{25f7}');
    // All spinner glyphs start with 0xe2; most non-ASCII text does not.
    if memchr::memchr(0xe2, run.as_bytes()).is_none() || !run.contains(turns) {
        return None;
    }
    let mut out = String::with_capacity(run.len());
    for c in run.chars() {
        if !turns(c) {
            out.push(c);
        } else if !out.ends_with(SPINNER_PLACEHOLDER) {
            out.push(SPINNER_PLACEHOLDER);
        }
    }
    Some(out)
}

/// Replaces any spinner glyph.
const SPINNER_PLACEHOLDER: char = '\u{28ff}';
