//! Bounds a payload before it is parsed.
//!
//! A tool may return megabytes of small JSON objects, whose tree takes a hundred times their text. [`condense`] copies a
//! payload token by token, without a tree: a long string loses its middle, and a container that exceeds its budget loses
//! its rest. A digest replaces what is omitted, so equal payloads stay equal and different ones different. Every
//! top-level field has its own budget, so the same tool input is condensed in the same way by each hook that reports it.

use belay_core::Digest;
use memchr::{memchr, memchr2};

/// A longer string is reduced to its head and its tail. Outcomes depend on less of a text than these.
const MAX_STRING_BYTES: usize = 128 * 1024;
const HEAD_BYTES: usize = 64 * 1024;
const TAIL_BYTES: usize = 32 * 1024;

/// A string of at most this size is never reduced.
const MIN_STRING_BYTES: usize = 1024;

/// A longer number or key is omitted.
const MAX_TOKEN_BYTES: usize = 1024;

/// Budget of a top-level field.
const MAX_FIELD_BYTES: usize = 384 * 1024;
const MAX_FIELD_NODES: usize = 4096;

/// Budget of all fields together.
const MAX_PAYLOAD_BYTES: usize = 1280 * 1024;
const MAX_PAYLOAD_NODES: usize = 16 * 1024;
const MAX_FIELDS: usize = 256;

/// Containers nested deeper are omitted. serde_json refuses more than 128.
const MAX_DEPTH: usize = 48;

/// Up to this size the digest of an omitted string is that of its unescaped text, which can be compared with a file's.
const MAX_UNESCAPED_BYTES: usize = 8 * 1024 * 1024;

const MARKER: &str = "[belay: ";
const OMITTED_KEY: &str = "belay:omitted";

/// Condenses a JSON object; `None` if the text is not one. Omitted parts are not validated.
pub fn condense(payload: &[u8]) -> Option<Vec<u8>> {
    let mut condenser = Condenser { input: payload, at: 0, out: Vec::new(), budget: Budget::default() };
    condenser.payload()?;
    condenser.whitespace();
    (condenser.at == payload.len()).then_some(condenser.out)
}

/// Whether parts of this input may be missing: [`condense`] has omitted them, or they were no valid text. An input may
/// also quote such a marker.
pub(crate) fn may_lack_parts(input: &str) -> bool {
    [MARKER, OMITTED_KEY, "\u{fffd}"].iter().any(|mark| input.contains(mark))
}

/// Digest of a text that [`condense`] may have reduced.
pub(crate) fn digest_of(text: &str) -> Digest {
    original_digest(text).unwrap_or_else(|| Digest::from_bytes(text))
}

/// The digest in the marker of a reduced string. Any file may contain such a line, so it counts only where [`condense`]
/// would have put it: its head is twice as long as its tail, and both are shorter than the stated length.
fn original_digest(text: &str) -> Option<Digest> {
    text.match_indices(MARKER).find_map(|(at, _)| {
        let head = text[..at].strip_suffix('\n')?;
        let (length, rest) = text[at + MARKER.len()..].split_once(" bytes, digest ")?;
        let (digest, tail) = rest.split_once("]\n")?;
        let (length, digest) = (length.parse().ok()?, Digest::parse(digest)?);
        [false, true].into_iter().any(|ascii| is_reduced(head, tail, length, ascii)).then_some(digest)
    })
}

/// Whether a string of `length` bytes is reduced to this head and tail, if `ascii` says how JSON writes other characters.
fn is_reduced(head: &str, tail: &str, length: usize, ascii: bool) -> bool {
    // Neither is cut inside an escape sequence of up to 12 bytes.
    const MAX_SHIFT: usize = 3 * 12;
    let (head, tail) = (escaped_length(head, ascii), escaped_length(tail, ascii));
    head >= MIN_STRING_BYTES / 2 && (2 * tail..=2 * tail + MAX_SHIFT).contains(&head) && length > head + tail
}

/// Length of a text in JSON.
fn escaped_length(text: &str, ascii: bool) -> usize {
    let length = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c if ascii && !c.is_ascii() => 6 * c.len_utf16(),
        c => c.len_utf8(),
    };
    text.chars().map(length).sum()
}

#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    bytes: usize,
    nodes: usize,
}

impl Budget {
    fn is_spent(self) -> bool {
        self.bytes == 0 || self.nodes == 0
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.nodes = self.nodes.saturating_sub(1);
    }
}

struct Condenser<'a> {
    input: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// Of the current field.
    budget: Budget,
}

impl<'a> Condenser<'a> {
    fn payload(&mut self) -> Option<()> {
        let mut left = Budget { bytes: MAX_PAYLOAD_BYTES, nodes: MAX_PAYLOAD_NODES };
        let mut fields = 0;
        self.container(b'{', b'}', |this| {
            fields += 1;
            if fields > MAX_FIELDS {
                return Some(false);
            }
            let granted = Budget { bytes: left.bytes.min(MAX_FIELD_BYTES), nodes: left.nodes.min(MAX_FIELD_NODES) };
            this.budget = granted;
            this.member(0)?;
            left.bytes -= granted.bytes - this.budget.bytes;
            left.nodes -= granted.nodes - this.budget.nodes;
            Some(true)
        })
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        self.whitespace();
        match self.peek()? {
            b'"' => self.string(),
            open @ (b'{' | b'[') if depth >= MAX_DEPTH || self.budget.is_spent() => {
                let from = self.at;
                self.at += 1;
                self.skip_container(open)?;
                self.omit(from);
                Some(())
            }
            b'{' => {
                self.budget.spend(2);
                self.container(b'{', b'}', |this| {
                    let fits = !this.budget.is_spent();
                    if fits {
                        this.member(depth + 1)?;
                    }
                    Some(fits)
                })
            }
            b'[' => {
                self.budget.spend(2);
                self.container(b'[', b']', |this| {
                    let fits = !this.budget.is_spent();
                    if fits {
                        this.value(depth + 1)?;
                    }
                    Some(fits)
                })
            }
            _ => self.scalar(),
        }
    }

    /// Copies a container. `each` copies one item; if it returns `false` the rest is omitted.
    fn container(&mut self, open: u8, close: u8, mut each: impl FnMut(&mut Self) -> Option<bool>) -> Option<()> {
        self.whitespace();
        self.expect(open)?;
        self.whitespace();
        self.out.push(open);
        if self.peek()? != close {
            loop {
                let from = self.at;
                if !each(self)? {
                    self.skip_container(open)?;
                    // The closing bracket is copied below.
                    self.at -= 1;
                    if open == b'{' {
                        self.out.extend_from_slice(format!("\"{OMITTED_KEY}\":").as_bytes());
                    }
                    self.omit(from);
                    break;
                }
                self.whitespace();
                if self.peek()? != b',' {
                    break;
                }
                self.at += 1;
                self.out.push(b',');
                self.whitespace();
            }
        }
        self.expect(close)?;
        self.out.push(close);
        Some(())
    }

    fn member(&mut self, depth: usize) -> Option<()> {
        self.whitespace();
        let key = self.scan_string()?;
        if key.len() > MAX_TOKEN_BYTES {
            let digest = Digest::from_bytes(key);
            self.out.extend_from_slice(format!("\"{MARKER}{} bytes, digest {digest}]\"", key.len()).as_bytes());
        } else {
            self.copy_quoted(key);
        }
        self.budget.bytes = self.budget.bytes.saturating_sub(key.len().min(MAX_TOKEN_BYTES));
        self.whitespace();
        self.expect(b':')?;
        self.out.push(b':');
        self.value(depth)
    }

    fn string(&mut self) -> Option<()> {
        let text = self.scan_string()?;
        let before = self.out.len();
        let limit = self.budget.bytes.clamp(MIN_STRING_BYTES, MAX_STRING_BYTES);
        if text.len() <= limit {
            self.copy_quoted(text);
        } else {
            let (head, tail) = match limit {
                MAX_STRING_BYTES => (HEAD_BYTES, TAIL_BYTES),
                _ => (limit / 2, limit / 4),
            };
            let head = &text[..unit_start(text, head)];
            let tail = &text[unit_start(text, text.len() - tail)..];
            self.out.push(b'"');
            self.out.extend_from_slice(head);
            let marker = format!("\\n{MARKER}{} bytes, digest {}]\\n", text.len(), string_digest(text));
            self.out.extend_from_slice(marker.as_bytes());
            self.out.extend_from_slice(tail);
            self.out.push(b'"');
        }
        self.budget.spend(self.out.len() - before);
        Some(())
    }

    fn scalar(&mut self) -> Option<()> {
        let from = self.at;
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        let rest = self.input.get(from..)?;
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        if length > MAX_TOKEN_BYTES {
            self.omit(from);
        } else {
            self.out.extend_from_slice(&rest[..length]);
            self.budget.spend(length);
        }
        Some(())
    }

    /// Writes a string in place of the input since `from`.
    fn omit(&mut self, from: usize) {
        let omitted = &self.input[from..self.at];
        let marker = format!("\"{MARKER}{} bytes, digest {}]\"", omitted.len(), Digest::from_bytes(omitted));
        self.out.extend_from_slice(marker.as_bytes());
        self.budget.spend(marker.len());
    }

    /// Moves behind the end of a container whose opening bracket has been read.
    fn skip_container(&mut self, open: u8) -> Option<()> {
        let mut scanner = EndScanner { depth: 1, ..EndScanner::default() };
        self.at += scanner.feed(&self.input[self.at..])?;
        let close = self.input[self.at - 1];
        matches!((open, close), (b'{', b'}') | (b'[', b']')).then_some(())
    }

    /// Moves behind a string and returns the text between its quotes, with escapes.
    fn scan_string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let from = self.at;
        loop {
            let found = self.at + memchr2(b'"', b'\\', self.input.get(self.at..)?)?;
            if self.input[found] == b'"' {
                self.at = found + 1;
                return Some(&self.input[from..found]);
            }
            self.at = found + 2;
        }
    }

    fn copy_quoted(&mut self, text: &[u8]) {
        self.out.push(b'"');
        self.out.extend_from_slice(text);
        self.out.push(b'"');
    }

    fn whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        found.then_some(())
    }
}

/// The first position at or after `target` that is not inside a character or an escape sequence.
fn unit_start(text: &[u8], target: usize) -> usize {
    let mut at = 0;
    let plain_until = loop {
        let Some(escape) = memchr(b'\\', &text[at..]).map(|found| at + found) else { break text.len() };
        if escape >= target {
            break escape;
        }
        at = escape + escape_length(&text[escape..]);
        if at >= target {
            return at.min(text.len());
        }
    };
    let is_inside_character = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (target..plain_until).find(|at| !is_inside_character(at)).unwrap_or(plain_until)
}

/// Length of an escape sequence; a surrogate pair is one.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _, b'\\', b'u', ..] => 12,
        [b'\\', b'u', ..] => 6,
        _ => 2,
    }
}

/// Digest of a string's text, unescaped unless it is huge or invalid.
fn string_digest(raw: &[u8]) -> Digest {
    let unescape = || {
        let quoted = [&b"\""[..], raw, b"\""].concat();
        serde_json::from_slice::<String>(&quoted).ok()
    };
    let text = (raw.len() <= MAX_UNESCAPED_BYTES).then(unescape).flatten();
    text.map_or_else(|| Digest::from_bytes(raw), Digest::from_bytes)
}

/// Finds the end of a JSON container in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndScanner {
    depth: usize,
    in_string: bool,
    after_backslash: bool,
}

impl EndScanner {
    /// Scans more of the text. Returns how many of these bytes belong to the container once it is complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.after_backslash {
                self.after_backslash = false;
                at += 1;
                continue;
            }
            if self.in_string {
                at += memchr2(b'"', b'\\', &bytes[at..])? + 1;
                match bytes[at - 1] {
                    b'"' => self.in_string = false,
                    _ => self.after_backslash = true,
                }
                continue;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests;
