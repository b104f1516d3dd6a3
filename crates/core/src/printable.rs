//! Makes external text safe to print: it cannot control a terminal, reorder text or contain invisible characters.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character controls the display instead of being displayed: C0 and C1 controls, bidirectional controls,
/// zero-width and other invisible format characters, and the Unicode line separators.
pub fn is_unprintable(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Characters without a glyph of their own.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Text of several lines without unprintable characters. Controls become spaces; invisible characters are removed.
pub fn printable(text: &str) -> Cow<'_, str> {
    clean(text, |c| matches!(c, '\n' | '\t'))
}

/// Like [`printable`], on one line.
pub fn single_line(text: &str) -> Cow<'_, str> {
    clean(text, |_| false)
}

fn clean(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_unprintable(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if !is_unprintable(c) || keep(c) => Some(c),
        c if is_invisible(c) => None,
        _ => Some(' '),
    };
    Cow::Owned(text.chars().filter_map(shown).collect())
}

/// The text with every unprintable character except line breaks and tabs as an escape such as `\u{202e}`: nothing is lost.
pub fn spell_out(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// JSON text with every unprintable character as an escape. JSON itself requires that only below U+0020.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    // Between the tokens of compact JSON there are no such characters, so all of them are inside strings.
    if !json.chars().any(|c| is_unprintable(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unprintable(c) && !matches!(c, '\n' | '\t') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_lose_their_effect() {
        for (text, shown) in [
            ("plain text, ümläut, 日本, 👍", "plain text, ümläut, 日本, 👍"),
            ("a\tb\nc", "a\tb\nc"),
            ("\x1b]0;title\x07rm", " ]0;title rm"),
            ("\x1b[2J\x1b[Hgone", " [2J [Hgone"),
            ("over\rwritten\x08", "over written "),
            ("\u{9b}31m\u{9d}0;x\u{9c}", " 31m 0;x "),
            ("user\u{202e}gpj.exe\u{2066}", "usergpj.exe"),
            ("in\u{200b}vis\u{feff}i\u{2060}ble\u{ad}", "invisible"),
            ("a\u{2028}b\u{2029}c", "a b c"),
            ("tag\u{e0041}\u{e007f}", "tag"),
        ] {
            assert_eq!(printable(text), shown, "{text:?}");
        }
        assert_eq!(single_line("a\tb\nc"), "a b c");
        assert_eq!(spell_out("rm\u{202e} x\u{200b}\r\ta’日\n"), "rm\\u{202e} x\\u{200b}\\r\ta’日\n");
    }

    proptest! {
        #[test]
        fn nothing_unprintable_remains(text in proptest::collection::vec(any::<char>(), 0..64)) {
            let text: String = text.into_iter().collect();
            prop_assert!(!printable(&text).chars().any(|c| is_unprintable(c) && !matches!(c, '\n' | '\t')));
            let line = single_line(&text);
            prop_assert!(!line.chars().any(is_unprintable));
            prop_assert_eq!(single_line(&line), line.as_ref(), "cleaning twice changes nothing");
        }

        #[test]
        fn escaped_json_has_the_same_value(text in proptest::collection::vec(any::<char>(), 0..64)) {
            let text: String = text.into_iter().chain("\u{1b}\u{9b}\u{202e}\u{e0041}\u{2028}\u{7f}".chars()).collect();
            let json = serde_json::to_string(&text).unwrap();
            let escaped = escape_json(&json);
            prop_assert!(!escaped.chars().any(is_unprintable));
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
    }
}
