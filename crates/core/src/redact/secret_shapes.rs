//! Finders that locate the start and end of a secret from its literal.

use super::LiteralHit;
use super::secret_values::{Charset, is_placeholder, looks_like_password, looks_random};

/// Returns the byte range to redact.
pub(super) type ShapeFinder = fn(&LiteralHit<'_>) -> Option<(usize, usize)>;

pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

fn ends_value(b: u8) -> bool {
    b.is_ascii_whitespace()
        || matches!(b, b'"' | b'\'' | b'`' | b'&' | b';' | b',' | b')' | b']' | b'}' | b'<' | b'>' | b'\\' | b'|')
}

pub(super) fn value_end(bytes: &[u8], at: usize) -> usize {
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
    let end = match bytes.get(payload) {
        Some(b'.') => payload + 1 + Charset::Dashed.token_end(&bytes[payload + 1..]),
        _ => payload,
    };
    Some((start, Charset::Dotted.wrapped_end(bytes, end, 0)))
}

/// A licence key ends with its literal.
pub(super) fn new_relic_license(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let bytes = text.as_bytes();
    let key = bytes[floor..start].iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
    let ends = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    ((32..=40).contains(&key) && ends && &text[start..end] == "NRAL").then_some((start - key, end))
}

/// `<14 characters>.atlasv1.<60 and more>`
pub(super) fn terraform(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let bytes = text.as_bytes();
    let id = bytes[floor..start].iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
    let run = Charset::Dashed.token_end(&bytes[end..]);
    (id >= 14 && run >= 40).then_some((start - id, end + run))
}

/// `A3-` and groups of capitals and digits, 34 characters in all.
pub(super) fn one_password_key(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, .. } = place;
    let bytes = text.as_bytes();
    let run = bytes[end..].iter().take_while(|b| Charset::Upper.contains(**b) || **b == b'-').count();
    let key = &text[end..end + run];
    let groups = key.split('-').all(|group| matches!(group.len(), 5 | 6 | 11));
    let inside_a_word = Charset::Dashed.contains(place.before());
    (groups && key.len() >= 29 && key.bytes().any(|b| b.is_ascii_digit()) && !inside_a_word)
        .then_some((start, end + run))
}

/// `pat<14 characters>.<64 hex digits>`; most matches are the word "path".
pub(super) fn airtable(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    const ID: usize = 14;
    let &LiteralHit { text, start, end, .. } = place;
    let bytes = text.as_bytes();
    if bytes.get(end + ID) != Some(&b'.') || !bytes[end..end + ID].iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let from = end + ID + 1;
    let run = Charset::Hex.token_end(&bytes[from..]);
    let inside_a_word = Charset::Word.contains(place.before());
    (run >= 60 && !inside_a_word && &text[start..end] == "pat").then_some((start, from + run))
}

/// The private part of a PuTTY key, to its checksum or to the end of the text.
pub(super) fn putty(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, .. } = place;
    if !text.as_bytes().get(end).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let mac = text[end..].find(PUTTY_MAC).map(|at| end + at + PUTTY_MAC.len());
    Some((start, mac.map_or(text.len(), |at| at + Charset::Hex.token_end(&text.as_bytes()[at..]))))
}

/// The end of a PuTTY key whose beginning was cut off.
pub(super) fn putty_end(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, start, end, floor, .. } = place;
    let bytes = text.as_bytes();
    let mac = Charset::Hex.token_end(&bytes[end..]);
    (mac > 0).then(|| (start - key_body(&bytes[floor..start]), end + mac))
}

const PUTTY_MAC: &str = "Private-MAC: ";

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
    Some((start - key_body(&text.as_bytes()[floor..start]), end + label.len() + DASHES.len()))
}

/// Length of the base64 at the end of a text, its line breaks as they are or escaped.
fn key_body(bytes: &[u8]) -> usize {
    let is_body = |b: &&u8| Charset::Base64.contains(**b) || matches!(**b, b'\n' | b'\r' | b'\\');
    bytes.iter().rev().take_while(is_body).count()
}

const DASHES: &str = "-----";

/// The label at `at`, when it is a private key's.
fn private_key(text: &str, at: usize) -> Option<&str> {
    let label = &text[at..at + text[at..].find(DASHES)?];
    (label.len() <= 40 && (label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK"))).then_some(label)
}

/// `scheme://user:password@host`, `https://token@host`. A password may hold `/`, `?` and `#`, although it should not.
pub(super) fn userinfo(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    const MAX_URL_BYTES: usize = 512;
    let &LiteralHit { text, end, .. } = place;
    let bytes = text.as_bytes();
    let ends_url = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\');
    let url = &bytes[end..end + bytes[end..].iter().take(MAX_URL_BYTES).take_while(|b| !ends_url(b)).count()];
    // A second address is not part of the first.
    let url = &url[..memchr::memmem::find(url, b"://").unwrap_or(url.len())];
    let authority = url.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(url.len());
    let at = match memchr::memrchr(b'@', &url[..authority]) {
        Some(at) => at,
        None => {
            let at = memchr::memrchr(b'@', url)?;
            let colon = memchr::memchr(b':', &url[..authority])?;
            let (name, port) = (&url[..colon], &url[colon + 1..authority]);
            let is_port = port.iter().all(u8::is_ascii_digit) && (url[..at].contains(&b'?') || is_host(place, name));
            Some(at).filter(|_| !is_port)?
        }
    };
    let at = end + at;
    match memchr::memchr(b':', &bytes[end..at]) {
        Some(colon) => {
            let from = end + colon + 1;
            (from < at && !is_placeholder(&text[from..at])).then_some((from, at))
        }
        None => looks_random(&text[end..at]).then_some((end, at)),
    }
}

/// Whether the name before the colon of an address is a host, so that a port follows: `http://localhost:80/@me`. In a
/// scheme that mostly comes with a password, only a name that looks like a host is one.
fn is_host(place: &LiteralHit<'_>, name: &[u8]) -> bool {
    let &LiteralHit { text, start, floor, .. } = place;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let before = &text[floor..start];
    let scheme = &before[before.trim_end_matches(is_scheme).len()..];
    // `git+https`
    let scheme = scheme.rsplit('+').next().unwrap_or(scheme);
    let is_web = ["http", "https", "ws", "wss", "docker", "oci"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    is_web || name.contains(&b'.') || name.contains(&b'[') || name.eq_ignore_ascii_case(b"localhost")
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
    for scheme in ["basic ", "token ", "digest ", "apikey ", "negotiate ", "aws4-hmac-sha256 ", "ssws ", "splunk "] {
        if bytes[from..].len() > scheme.len()
            && bytes[from..from + scheme.len()].eq_ignore_ascii_case(scheme.as_bytes())
        {
            from += scheme.len();
        }
    }
    // The bearer rule distinguishes prose from tokens; leave the match to it.
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
