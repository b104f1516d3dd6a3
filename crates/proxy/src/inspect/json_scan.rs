//! Scans JSON text without building values.
//!
//! Only the last few hundred bytes of a long conversation are new. Older values are skipped as text, and only new ones are
//! parsed by serde. The scan checks just enough to find the end of a value; the API reports it to the agent if the rest is not valid JSON.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Deserializer};

/// A position in JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonCursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// Maximum nesting; conversations are shallow.
const MAX_DEPTH: usize = 256;

impl<'a> JsonCursor<'a> {
    pub(crate) fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    /// The current offset.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn skip_blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The next non-whitespace byte.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip_blank();
        self.text.get(self.at).copied()
    }

    /// Consumes `byte` if it is next.
    pub(crate) fn consume_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips a value and returns its range.
    pub(crate) fn skip_value(&mut self) -> Option<Range<usize>> {
        self.skip_blank();
        let start = self.at;
        match self.text.get(self.at)? {
            b'"' => self.skip_string()?,
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                let rest = &self.text[self.at..];
                let end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                self.at += rest.iter().position(end).unwrap_or(rest.len());
            }
        }
        (self.at > start).then_some(start..self.at)
    }

    /// Skips a string. Names and most values end within eight bytes.
    #[inline]
    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        if let Some(eight) = self.text.get(self.at..).and_then(<[u8]>::first_chunk)
            && let Some(quote) = quote_in(eight)
            && (quote == 0 || eight[quote - 1] != b'\\')
        {
            self.at += quote + 1;
            return Some(());
        }
        self.skip_long_string()
    }

    /// Skips the rest of a string. Not inlined, so that short strings do not pay for its stack frame.
    #[inline(never)]
    fn skip_long_string(&mut self) -> Option<()> {
        loop {
            let rest = self.text.get(self.at..)?;
            let quote = quote(rest)?;
            self.at += quote + 1;
            // After an odd number of backslashes it is part of the string.
            let backslashes = rest[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes.is_multiple_of(2) {
                return Some(());
            }
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.text.get(self.at)? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return None;
                    }
                }
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Moves to the value of the next field of an object and returns the field's raw name. `None` at the end of the object; call it after the brace and after each value.
    pub(crate) fn next_field(&mut self) -> Option<&'a [u8]> {
        self.consume_byte(b',');
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at;
        self.skip_string()?;
        let name = &self.text[start + 1..self.at - 1];
        self.consume_byte(b':').then_some(name)
    }

    /// See [`pick`]. It stops before the closing brace.
    fn fields<const N: usize>(&mut self, names: [&str; N]) -> Option<[&'a [u8]; N]> {
        if !self.consume_byte(b'{') {
            return None;
        }
        let mut picked = [&[][..]; N];
        while let Some(found) = self.next_field() {
            let value = &self.text[self.skip_value()?];
            if let Some(at) = names.iter().position(|name| name.as_bytes() == found) {
                picked[at] = if value == b"null" { &[] } else { value };
            }
        }
        Some(picked)
    }

    /// Whether another element of an array comes; call it after the bracket and after each value.
    pub(crate) fn next_element(&mut self) -> bool {
        self.consume_byte(b',');
        self.peek().is_some_and(|byte| byte != b']')
    }
}

/// Finds the next quote. Most strings are short, so the first bytes are searched eight at a time, which costs less than
/// setting up a vectorised search.
fn quote(text: &[u8]) -> Option<usize> {
    const INLINE_SEARCH_WORDS: usize = 4;
    for (at, eight) in text.as_chunks::<8>().0.iter().take(INLINE_SEARCH_WORDS).enumerate() {
        if let Some(found) = quote_in(eight) {
            return Some(at * 8 + found);
        }
    }
    let seen = (text.len() / 8).min(INLINE_SEARCH_WORDS) * 8;
    memchr::memchr(b'"', &text[seen..]).map(|at| seen + at)
}

/// Where the first quote is among eight bytes.
#[inline]
fn quote_in(eight: &[u8; 8]) -> Option<usize> {
    const BYTE_LSBS: u64 = u64::MAX / 255;
    let differ = u64::from_le_bytes(*eight) ^ (BYTE_LSBS * u64::from(b'"'));
    // Of the set bits, the lowest is a quote: a borrow only affects higher bits.
    let found = differ.wrapping_sub(BYTE_LSBS) & !differ & (BYTE_LSBS << 7);
    (found != 0).then_some((found.trailing_zeros() / 8) as usize)
}

/// Parses JSON. UTF-8 is validated once, which is faster than per string; if it is invalid, the fields that are read
/// may still be valid.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> serde_json::Result<T> {
    match str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(json),
    }
}

/// A string that may be missing or `null`. serde would copy a string inside an `Option`.
pub(crate) fn optional_str<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Ok(Option::<Text<'a>>::deserialize(deserializer)?.map(|Text(text)| text))
}

/// The text of a JSON string; `None` for other values.
pub(crate) fn parse_string(raw: &[u8]) -> Option<String> {
    parse_str(raw).map(Cow::into_owned)
}

/// The text of a JSON string, borrowed if it has no escapes; `None` for other values.
pub(crate) fn parse_str(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = str::from_utf8(raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?).ok()?;
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return Some(Cow::Borrowed(text));
    }
    unescaped(text).or_else(|| serde_json::from_slice(raw).ok()).map(Cow::Owned)
}

/// Parses an integer.
pub(crate) fn parse_u64(raw: &[u8]) -> Option<u64> {
    str::from_utf8(raw).ok()?.parse().ok()
}

/// Resolves escapes; `None` if there are others than the short ones.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            plain @ (b'"' | b'\\' | b'/') => char::from(*plain),
            _ => return None,
        });
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    Some(out)
}

/// The raw values of the given fields, empty if missing or `null`; `None` if the input is not an object.
pub(crate) fn pick<'a, const N: usize>(object: &'a [u8], names: [&str; N]) -> Option<[&'a [u8]; N]> {
    JsonCursor::new(object, 0).fields(names)
}

/// Applies [`pick`] to each object of an array without finding its end first; other elements of the array are skipped.
pub(crate) fn array_fields<'a, const N: usize>(
    array: &'a [u8],
    names: [&str; N],
) -> impl Iterator<Item = [&'a [u8]; N]> {
    let mut scan = JsonCursor::new(array, 0);
    let is_array = scan.consume_byte(b'[');
    std::iter::from_fn(move || {
        while is_array && scan.next_element() {
            if scan.peek() == Some(b'{') {
                let picked = scan.fields(names)?;
                return scan.consume_byte(b'}').then_some(picked);
            }
            scan.skip_value()?;
        }
        None
    })
}

/// The raw value of a field of a small object.
pub(crate) fn field<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut scan = JsonCursor::new(object, 0);
    if !scan.consume_byte(b'{') {
        return None;
    }
    while let Some(found) = scan.next_field() {
        let value = scan.skip_value()?;
        if found == name.as_bytes() {
            return Some(&object[value]);
        }
    }
    None
}

#[cfg(test)]
mod tests;
