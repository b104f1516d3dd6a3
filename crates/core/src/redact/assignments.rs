//! Finds the value after the name of a secret.

use super::LiteralHit;
use super::secret_names::{self, Confidence};
use super::secret_shapes::{is_name, value_end};
use super::secret_values::{
    is_code_reference, is_counter, is_path, is_placeholder, is_prose, looks_like_password, looks_random,
};

const MAX_NAME_BYTES: usize = 64;

/// What stands between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `=` without blanks.
    Equals,
    /// `: `, ` = `, `=>`, `:=`.
    Spaced,
    /// One blank, as after a command-line option.
    Blank,
    /// `%3D` or `%3A`, in a URL-encoded text.
    Encoded,
}

/// A name with a separator behind it.
struct Assignment<'a> {
    name: &'a str,
    separator: Separator,
    confidence: Confidence,
    /// A name in capitals with a value right after the sign: a shell or an environment file.
    variable: bool,
    /// A field of a query, a form or a connection string.
    parameter: bool,
}

/// `NAME=value`, `"name": "value"`, `name: value`, `--name value`, `name%3Dvalue`.
pub(super) fn assignment(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let bytes = text.as_bytes();
    let right = bytes[end..].iter().take(MAX_NAME_BYTES).take_while(|b| is_name(**b)).count();
    let name_end = end + right;
    // Most names in a text have no value, so this comes first.
    let (separator, at) = separator(bytes, name_end)?;
    let left = bytes[floor..start].iter().rev().take(MAX_NAME_BYTES).take_while(|b| is_name(**b)).count();
    let name_start = start - left;
    let name = &text[name_start..name_end];
    let option = name.starts_with("--");
    if separator == Separator::Blank && !option {
        return None;
    }
    let confidence = match secret_names::name_confidence(name)? {
        // `pass: 12` reports a test.
        Confidence::Password if name.eq_ignore_ascii_case("pass") && separator == Separator::Spaced => Confidence::Weak,
        confidence => confidence,
    };
    let from = at + blanks(bytes, at);
    let tight = from == at && matches!(separator, Separator::Equals | Separator::Blank);
    let capitals = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let variable = tight && capitals && separator == Separator::Equals;
    let before = &text[floor..name_start];
    let parameter = tight && (before.ends_with(['?', '&']) || is_connection_string(before));
    let assignment = Assignment { name, separator, confidence, variable: variable || option && tight, parameter };

    // A quoted literal, perhaps inside another text (`\"`).
    let escape = usize::from(bytes.get(from) == Some(&b'\\'));
    if let Some(&quote @ (b'"' | b'\'' | b'`')) = bytes.get(from + escape) {
        let from = from + escape + 1;
        let stop = quoted_end(bytes, from, quote, escape > 0);
        return assignment.accepts_quoted(text.get(from..stop)?).then_some((from, stop));
    }
    let stop = match separator {
        Separator::Encoded => encoded_end(bytes, from),
        _ if variable && starts_line(before) => shell_value_end(bytes, from),
        _ => value_end(bytes, from),
    };
    let is_call = bytes.get(stop) == Some(&b'(');
    (!is_call && assignment.accepts(text.get(from..stop)?)).then_some((from, stop))
}

impl Assignment<'_> {
    fn accepts_quoted(&self, value: &str) -> bool {
        if value.is_empty() || is_placeholder(value) {
            return false;
        }
        let with_blanks = || {
            let name = self.name.to_ascii_lowercase();
            self.variable || ["pass", "pwd"].iter().any(|part| name.contains(part)) && !is_prose(value)
        };
        match self.confidence {
            Confidence::Strong => !value.contains(' ') || with_blanks(),
            Confidence::Password => !is_path(value) && !is_counter(value) && (!value.contains(' ') || with_blanks()),
            Confidence::Weak => looks_random(value) && !is_path(value),
        }
    }

    fn accepts(&self, value: &str) -> bool {
        let whole = self.variable || self.parameter || self.separator == Separator::Encoded;
        if value.is_empty() || is_placeholder(value) || !whole && is_code_reference(value) {
            return false;
        }
        match self.confidence {
            Confidence::Strong => whole || looks_like_password(value),
            Confidence::Password => !is_path(value) && !is_counter(value) && (whole || looks_like_password(value)),
            Confidence::Weak => looks_random(value) && !is_path(value),
        }
    }
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(8).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// The separator after a name, and where it ends.
fn separator(bytes: &[u8], name_end: usize) -> Option<(Separator, usize)> {
    let encoded = |at: usize, signs: &[&[u8]]| {
        let three = bytes.get(at..at + 3)?;
        signs.iter().any(|sign| three.eq_ignore_ascii_case(sign)).then_some(at + 3)
    };
    if bytes.get(name_end) == Some(&b'%') {
        let sign = encoded(name_end, &[b"%22"]).unwrap_or(name_end);
        let value = encoded(sign, &[b"%3d", b"%3a"])?;
        return Some((Separator::Encoded, encoded(value, &[b"%22", b"%20"]).unwrap_or(value)));
    }
    // A quoted name, perhaps inside another text (`\"`).
    let mut at = name_end + usize::from(bytes.get(name_end) == Some(&b'\\'));
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let gap = blanks(bytes, at);
    let sign = at + gap;
    match bytes.get(sign) {
        Some(b'=') if matches!(bytes.get(sign + 1), Some(b'=' | b'~')) => None,
        Some(b'=' | b':') => {
            let arrow = bytes[sign..].starts_with(b"=>") || bytes[sign..].starts_with(b":=");
            let tight = gap == 0 && bytes[sign] == b'=' && !arrow;
            let separator = if tight { Separator::Equals } else { Separator::Spaced };
            Some((separator, sign + 1 + usize::from(arrow)))
        }
        _ if gap == 1 => Some((Separator::Blank, sign)),
        _ => None,
    }
}

/// Whether only a keyword stands between the start of the line and here.
fn starts_line(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before).trim_start();
    matches!(line, "" | "export " | "set " | "ENV " | "ARG " | "declare -x " | "+ ")
}

/// Whether a connection string (`Server=db;User Id=sa;`) ends here.
fn is_connection_string(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before).trim_end_matches(' ');
    line.ends_with(';')
        && ["server=", "host=", "data source=", "user id=", "uid=", "user=", "username=", "database="]
            .iter()
            .any(|field| memchr::memmem::find(line.to_ascii_lowercase().as_bytes(), field.as_bytes()).is_some())
}

/// In an environment file everything up to a blank is the value.
fn shell_value_end(bytes: &[u8], at: usize) -> usize {
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'\\');
    at + bytes[at..].iter().take_while(|b| !ends(b)).count()
}

/// The end of a quoted value. Inside another text a backslash announces the closing quote; elsewhere it escapes the
/// character that follows.
fn quoted_end(bytes: &[u8], from: usize, quote: u8, escaped: bool) -> usize {
    let mut at = from;
    while let Some(b) = bytes.get(at) {
        match b {
            b'\n' => break,
            b if *b == quote => break,
            b'\\' if escaped => break,
            b'\\' if bytes.get(at + 1).is_some_and(|next| next.is_ascii() && *next != b'\n') => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The end of a URL-encoded value: an encoded or plain delimiter.
fn encoded_end(bytes: &[u8], from: usize) -> usize {
    let delimiters: [&[u8]; 7] = [b"%26", b"%22", b"%2c", b"%0a", b"%0d", b"%7d", b"%3b"];
    let mut at = value_end(bytes, from);
    for percent in memchr::memchr_iter(b'%', &bytes[from..at]) {
        let three = bytes.get(from + percent..from + percent + 3).unwrap_or_default();
        if delimiters.iter().any(|sign| three.eq_ignore_ascii_case(sign)) {
            at = from + percent;
            break;
        }
    }
    at
}
