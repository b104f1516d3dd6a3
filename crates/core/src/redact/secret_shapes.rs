//! Closer looks: from the literal that gave a secret away to where it begins and ends.
//!
//! Each function gets the literal's place and answers with the bytes to cut.

use super::LiteralHit;
use super::secret_names::{self, Confidence};
use super::secret_values::{Charset, is_placeholder, looks_like_password, looks_random};

/// A closer look.
pub(super) type ShapeFinder = fn(&LiteralHit<'_>) -> Option<(usize, usize)>;

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

fn ends_value(b: u8) -> bool {
    b.is_ascii_whitespace()
        || matches!(b, b'"' | b'\'' | b'`' | b'&' | b';' | b',' | b')' | b']' | b'}' | b'<' | b'>' | b'\\' | b'|')
}

fn value_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|b| !ends_value(**b)).count()
}

/// The path after a webhook's host.
pub(super) fn webhook(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let stop = value_end(text.as_bytes(), end);
    (stop - end >= 12 && !is_placeholder(&text[end..stop])).then_some((end, stop))
}

/// `SK` and exactly 32 lower-case hex digits.
pub(super) fn twilio(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, .. } = place;
    let bytes = text.as_bytes();
    if !text[start..].starts_with("SK") || place.before().is_ascii_alphanumeric() {
        return None;
    }
    let hex = bytes[start + 2..].iter().take_while(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).count();
    let end = start + 2 + hex;
    (hex == 32 && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)).then_some((start, end))
}

/// `123456789:AA...`: the bot's number stands before the literal.
pub(super) fn telegram(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let bytes = text.as_bytes();
    let digits = bytes[floor..start].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let run = Charset::Dashed.token_end(&bytes[end..]);
    ((8..=10).contains(&digits) && run >= 32).then_some((start - digits, end + run))
}

/// Everything up to the end of the value that follows the literal.
pub(super) fn after_literal(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let stop = value_end(text.as_bytes(), end);
    (stop > end && !is_placeholder(&text[end..stop])).then_some((end, stop))
}

/// The signature of a pre-signed address.
pub(super) fn signature(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let bytes = text.as_bytes();
    if !matches!(place.before(), b'?' | b'&') {
        return None;
    }
    let stop = value_end(bytes, end);
    (stop - end >= 30 && looks_random(&text[end..stop])).then_some((end, stop))
}

/// Three base64 parts; the first two are JSON and so begin alike.
pub(super) fn jwt(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, .. } = place;
    let bytes = text.as_bytes();
    if &text[start..end] != "eyJ" || (Charset::Base64.contains(place.before()) && place.before() != b'=') {
        return None;
    }
    let header = start + Charset::Dashed.token_end(&bytes[start..]);
    if header - start < 10 || !bytes[header..].starts_with(b".eyJ") {
        return None;
    }
    let payload = header + 1 + Charset::Dashed.token_end(&bytes[header + 1..]);
    if bytes.get(payload) != Some(&b'.') {
        return Some((start, payload));
    }
    Some((start, payload + 1 + Charset::Dashed.token_end(&bytes[payload + 1..])))
}

/// A private key, to its end mark or to the end of the text.
pub(super) fn pem(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, .. } = place;
    let label = private_key(text, end)?;
    let body = end + label.len() + DASHES.len();
    let close = format!("-----END {label}{DASHES}");
    Some((start, text[body..].find(&close).map_or(text.len(), |at| body + at + close.len())))
}

/// The end of a private key whose beginning was cut off: its body goes with it.
pub(super) fn pem_end(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let label = private_key(text, end)?;
    // Base64, its line breaks as they are or escaped.
    let is_body = |b: &&u8| Charset::Base64.contains(**b) || matches!(**b, b'\n' | b'\r' | b'\\');
    let body = text.as_bytes()[floor..start].iter().rev().take_while(is_body).count();
    Some((start - body, end + label.len() + DASHES.len()))
}

const DASHES: &str = "-----";

/// The label at `at`, when it is a private key's.
fn private_key(text: &str, at: usize) -> Option<&str> {
    let label = &text[at..at + text[at..].find(DASHES)?];
    (label.len() <= 40 && (label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK"))).then_some(label)
}

/// `scheme://user:password@host`, `https://token@host`.
pub(super) fn userinfo(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let bytes = text.as_bytes();
    let stop = end
        + bytes[end..]
            .iter()
            .take(512)
            .take_while(|b| {
                !b.is_ascii_whitespace() && !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
            })
            .count();
    let at = end + memchr::memrchr(b'@', &bytes[end..stop])?;
    match memchr::memchr(b':', &bytes[end..at]) {
        Some(colon) => {
            let from = end + colon + 1;
            (from < at && !is_placeholder(&text[from..at])).then_some((from, at))
        }
        None => looks_random(&text[end..at]).then_some((end, at)),
    }
}

/// What follows `Bearer `, unless it is prose or a variable.
pub(super) fn bearer(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let bytes = text.as_bytes();
    let run = bytes[end..].iter().take_while(|b| Charset::Base64.contains(**b) || matches!(b, b'.' | b'~')).count();
    let value = &text[end..end + run];
    (run >= 8 && value.bytes().any(|b| b.is_ascii_digit())).then_some((end, end + run))
}

/// The value of an `Authorization` header, its scheme left standing.
pub(super) fn authorization(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let (from, _) = header_value(text, end)?;
    let bytes = text.as_bytes();
    let mut from = from;
    for scheme in ["basic ", "token ", "digest ", "apikey ", "negotiate ", "aws4-hmac-sha256 "] {
        if bytes[from..].len() > scheme.len()
            && bytes[from..from + scheme.len()].eq_ignore_ascii_case(scheme.as_bytes())
        {
            from += scheme.len();
        }
    }
    // The bearer rule knows prose from tokens; it has its turn when we pass.
    if bytes[from..].len() > 7 && bytes[from..from + 7].eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let stop = value_end(bytes, from);
    let value = &text[from..stop];
    (value.len() >= 8 && !is_placeholder(value) && (looks_like_password(value) || value.ends_with('=')))
        .then_some((from, stop))
}

/// The whole value of a cookie header.
pub(super) fn cookie(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let (from, stop) = header_value(text, end)?;
    let value = &text[from..stop];
    let pair = value.split(';').next()?;
    let (name, content) = pair.split_once('=')?;
    let named = !name.is_empty() && name.bytes().all(is_name);
    (named && !content.is_empty() && !is_placeholder(value) && !is_placeholder(content)).then_some((from, stop))
}

/// After `name`, an optional quote and a colon: the value up to the quote or the end of the line.
fn header_value(text: &str, end: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = end;
    if matches!(bytes.get(at), Some(b'"' | b'\'')) {
        at += 1;
    }
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    at += 1;
    at += bytes[at..].iter().take(4).take_while(|b| **b == b' ').count();
    if matches!(bytes.get(at), Some(b'"' | b'\'')) {
        at += 1;
    }
    let stop =
        at + bytes[at..].iter().take_while(|b| !matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\')).count();
    (stop > at).then_some((at, stop))
}

/// `curl -u user:password`
pub(super) fn curl_user(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    if !place.line_before().iter().any(|piece| piece.contains("curl")) {
        return None;
    }
    let bytes = text.as_bytes();
    let from = end + usize::from(matches!(bytes.get(end), Some(b'"' | b'\'')));
    let stop = value_end(bytes, from);
    let colon = from + text[from..stop].find(':')? + 1;
    (colon < stop && !is_placeholder(&text[colon..stop])).then_some((colon, stop))
}

/// `NAME=value`, `"name": "value"`, `name: value`, `--name value`.
pub(super) fn assignment(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    const MAX_NAME_BYTES: usize = 64;
    let bytes = text.as_bytes();
    let left = bytes[floor..start].iter().rev().take(MAX_NAME_BYTES).take_while(|b| is_name(**b)).count();
    let right = bytes[end..].iter().take(MAX_NAME_BYTES).take_while(|b| is_name(**b)).count();
    let (name_start, name_end) = (start - left, end + right);
    let name = &text[name_start..name_end];
    let sure = secret_names::name_confidence(name)?;
    // A quoted name, perhaps inside another text (`\"`).
    let mut at = name_end + usize::from(bytes.get(name_end) == Some(&b'\\'));
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let blanks = |at: usize| bytes[at..].iter().take(8).take_while(|b| matches!(b, b' ' | b'\t')).count();
    let gap = blanks(at);
    let flag = name.starts_with("--");
    let tight = match bytes.get(at + gap) {
        Some(b'=') if matches!(bytes.get(at + gap + 1), Some(b'=' | b'~')) => return None,
        Some(b'=' | b':') => {
            let arrow = bytes[at + gap..].starts_with(b"=>") || bytes[at + gap..].starts_with(b":=");
            let colon = bytes[at + gap] == b':';
            at += gap + 1 + usize::from(arrow);
            gap == 0 && !colon && !arrow
        }
        _ if flag && gap == 1 => {
            at += 1;
            true
        }
        _ => return None,
    };
    let after = blanks(at);
    let from = at + after;
    // A quoted literal, perhaps inside another text (`\"`).
    let escape = usize::from(bytes.get(from) == Some(&b'\\'));
    if let Some(&quote @ (b'"' | b'\'' | b'`')) = bytes.get(from + escape) {
        let from = from + escape + 1;
        let stop = from + bytes[from..].iter().take_while(|b| **b != quote && !matches!(b, b'\n' | b'\\')).count();
        let value = &text[from..stop];
        let fits = match sure {
            Confidence::Strong => !value.is_empty() && !value.contains(' '),
            Confidence::Weak => looks_random(value),
        };
        return (fits && !is_placeholder(value)).then_some((from, stop));
    }
    let stop = value_end(bytes, from);
    let value = &text[from..stop];
    if value.is_empty() || is_placeholder(value) || bytes.get(stop) == Some(&b'(') {
        return None;
    }
    // In an environment file everything after the sign is the value.
    let environment =
        tight && after == 0 && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let fits = match sure {
        Confidence::Strong if environment || (flag && tight) => true,
        Confidence::Strong => looks_like_password(value),
        Confidence::Weak => looks_random(value),
    };
    fits.then_some((from, stop))
}
