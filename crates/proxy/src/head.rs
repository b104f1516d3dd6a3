//! Heads of requests and responses: parsed, and otherwise left unchanged.
//!
//! A relayed head keeps its lines byte for byte, in order and in the original case; only hop-by-hop headers are removed. An
//! ambiguous head is refused, because the peer must see the same message as Belay.

mod request;
mod response;

pub(crate) use request::{HeadRewrite, RequestHead, RoutedHead};
pub(crate) use response::ResponseHead;

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::framing::Framing;

/// Maximum number of header lines.
pub(crate) const MAX_HEADERS: usize = 128;
/// Headers with a credential.
pub(crate) const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
/// Maximum length of a head.
pub(crate) const MAX_HEAD_BYTES: usize = 256 * 1024;

/// Scratch space for the headers of one head. It is not initialised first, since a typical head uses a tenth of it.
#[derive(Debug)]
pub(crate) struct HeaderStorage<'b>([MaybeUninit<httparse::Header<'b>>; MAX_HEADERS]);

impl HeaderStorage<'_> {
    pub(crate) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MAX_HEADERS])
    }
}

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("it is not HTTP/1.1: {0}")]
    Syntax(httparse::Error),
    #[error("it has more than {MAX_HEADERS} lines or is longer than {} KiB", MAX_HEAD_BYTES / 1024)]
    TooLarge,
    #[error("{0}")]
    Ambiguous(&'static str),
}

/// What the headers state about the message and this hop.
#[derive(Clone, Copy, Debug, Default)]
struct HopByHopHeaders {
    length: Option<u64>,
    /// The body is chunked.
    chunked: bool,
    /// It has a transfer coding other than chunked.
    other_coding: bool,
    close: bool,
    keep_alive: bool,
    upgrade: bool,
    /// `Connection` names further hop-by-hop headers.
    names_lines: bool,
}

impl HopByHopHeaders {
    fn read(lines: &[httparse::Header<'_>]) -> Result<Self, HeadError> {
        let mut hop = Self::default();
        for line in lines {
            match line.name.len() {
                10 if contains(line.name, "connection") => hop.read_connection(line.value),
                14 if contains(line.name, "content-length") => {
                    let length =
                        digits(line.value).ok_or(HeadError::Ambiguous("its Content-Length is not a number"))?;
                    if hop.length.is_some_and(|other| other != length) {
                        return Err(HeadError::Ambiguous("it has two different Content-Length lines"));
                    }
                    hop.length = Some(length);
                }
                17 if contains(line.name, "transfer-encoding") => {
                    if hop.chunked || hop.other_coding {
                        return Err(HeadError::Ambiguous("it has two Transfer-Encoding lines"));
                    }
                    let is_chunked = |coding: &&[u8]| coding.eq_ignore_ascii_case(b"chunked");
                    // Only the last coding determines the end of the body, and chunked must not occur twice.
                    hop.chunked = tokens(line.value).last().is_some_and(|last| is_chunked(&last))
                        && tokens(line.value).filter(is_chunked).count() == 1;
                    hop.other_coding = !line.value.eq_ignore_ascii_case(b"chunked");
                }
                _ => {}
            }
        }
        if hop.length.is_some() && (hop.chunked || hop.other_coding) {
            return Err(HeadError::Ambiguous("it has both Content-Length and Transfer-Encoding"));
        }
        Ok(hop)
    }

    fn read_connection(&mut self, value: &[u8]) {
        for token in tokens(value) {
            if token.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if token.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade = true;
            } else {
                self.names_lines = true;
            }
        }
    }

    /// Whether the header is hop-by-hop. `Transfer-Encoding` and `Trailer` are too, but they are forwarded with the raw body.
    fn owns(&self, line: &httparse::Header<'_>, lines: &[httparse::Header<'_>]) -> bool {
        let name = line.name;
        match name.len() {
            2 if contains(name, "te") => true,
            7 if contains(name, "upgrade") => !self.upgrade,
            10 if contains(name, "connection") || contains(name, "keep-alive") => true,
            16 if contains(name, "proxy-connection") => true,
            18 if contains(name, "proxy-authenticate") => true,
            19 if contains(name, "proxy-authorization") => true,
            _ => self.names_lines && named_by_connection(name, lines),
        }
    }
}

fn named_by_connection(name: &str, lines: &[httparse::Header<'_>]) -> bool {
    // These describe the message itself, so `Connection` must not remove them.
    if ["host", "content-length", "transfer-encoding", "content-type", "authorization"]
        .iter()
        .any(|kept| contains(name, kept))
    {
        return false;
    }
    let connection = lines.iter().filter(|line| contains(line.name, "connection"));
    connection.flat_map(|line| tokens(line.value)).any(|token| token.eq_ignore_ascii_case(name.as_bytes()))
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

pub(crate) fn contains(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Sets the `Content-Length` of a complete head, in place.
pub(crate) fn set_content_length(head: &mut Vec<u8>, length: usize) {
    if let Some(before) = content_length_range(head) {
        head.splice(before, length.to_string().into_bytes());
    }
}

/// The range of the `Content-Length` value in a complete head.
pub(crate) fn content_length_range(head: &[u8]) -> Option<Range<usize>> {
    let line = find_line(head, "content-length:")?;
    let is_digit = |at: &usize| head[*at].is_ascii_digit();
    let start = line.clone().find(is_digit)?;
    Some(start..(start..line.end).find(|at| !is_digit(at))?)
}

/// Removes the `Content-Encoding` of a complete head whose body was decoded.
pub(crate) fn remove_content_encoding(head: &mut Vec<u8>) {
    if let Some(line) = find_line(head, "content-encoding:") {
        head.drain(line);
    }
}

/// The range of the first line with this prefix.
fn find_line(head: &[u8], name: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if line.get(..name.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(name.as_bytes())) {
            return Some(at..at + line.len());
        }
        at += line.len();
    }
    None
}

/// Copies the lines of a head that `keep` selects, byte for byte.
fn copy_lines<'v>(
    raw: &[u8],
    lines: &[httparse::Header<'_>],
    out: &mut Vec<u8>,
    mut keep: impl FnMut(usize) -> HeaderAction<'v>,
) {
    let end_of_lines = raw.len() - 2;
    let start = |index: usize| match lines.get(index) {
        Some(line) => line.name.as_ptr() as usize - raw.as_ptr() as usize,
        None => end_of_lines,
    };
    let mut run = start(0);
    for index in 0..lines.len() {
        let instead = match keep(index) {
            HeaderAction::Yes => continue,
            HeaderAction::No => None,
            HeaderAction::Value(value) => Some(value),
        };
        out.extend_from_slice(&raw[run..start(index)]);
        if let Some(value) = instead {
            out.extend_from_slice(lines[index].name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        run = start(index + 1);
    }
    out.extend_from_slice(&raw[run..end_of_lines]);
}

/// What to do with a line.
enum HeaderAction<'v> {
    Yes,
    No,
    /// Keep its name and replace its value.
    Value(&'v [u8]),
}

#[cfg(test)]
mod tests;
