//! Response heads.

use super::{
    Framing, HeadError, HeaderAction, HeaderStorage, HopByHopHeaders, MAX_HEAD_BYTES, contains, copy_lines, tokens,
};

use crate::inspect::is_limit_header;

/// Maximum number of headers that report limits; providers send about a dozen.
const MAX_LIMIT_HEADERS: usize = 32;

/// A response head, borrowed from the input.
#[derive(Debug)]
pub(crate) struct ResponseHead<'b, 'l> {
    raw: &'b [u8],
    pub(crate) status: u16,
    minor: u8,
    lines: &'l [httparse::Header<'b>],
    hop: HopByHopHeaders,
}

impl<'b, 'l> ResponseHead<'b, 'l> {
    /// Parses a head; `None` while it is incomplete.
    pub(crate) fn parse(bytes: &'b [u8], room: &'l mut HeaderStorage<'b>) -> Result<Option<Self>, HeadError> {
        let mut response = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        let len = match parser.parse_response_with_uninit_headers(&mut response, bytes, &mut room.0) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD_BYTES => return Err(HeadError::TooLarge),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
            Err(error) => return Err(HeadError::Syntax(error)),
        };
        let (Some(status), Some(minor)) = (response.code, response.version) else { return Ok(None) };
        let lines: &'l [httparse::Header<'b>] = response.headers;
        let raw = &bytes[..len];
        if !raw.ends_with(b"\r\n") {
            return Err(HeadError::Ambiguous("its last line ends without a carriage return"));
        }
        Ok(Some(Self { raw, status, minor, lines, hop: HopByHopHeaders::read(lines)? }))
    }

    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether this is an interim (1xx) response.
    pub(crate) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// The framing of the body, which depends on the request method.
    pub(crate) fn framing(&self, asked_with: &str) -> Framing {
        if asked_with == "HEAD" || self.status < 200 || self.status == 204 || self.status == 304 {
            return Framing::Empty;
        }
        match self.hop.length {
            _ if self.hop.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        }
    }

    /// Whether the connection can be reused.
    pub(crate) fn keep_alive(&self) -> bool {
        self.minor == 1 && !self.hop.close
    }

    /// Whether the end of the body is unambiguous. Implementations disagree on transfer codings other than chunked.
    pub(crate) fn has_unambiguous_length(&self) -> bool {
        !self.hop.other_coding
    }

    /// The content and transfer codings of the body, in the order they were applied.
    pub(crate) fn content_encoding(&self) -> Option<String> {
        let of = |name: &'static str| self.lines.iter().filter(move |line| contains(line.name, name));
        let codings = of("content-encoding").chain(of("transfer-encoding")).flat_map(|line| tokens(line.value));
        let codings: Vec<_> = codings
            .filter(|coding| !coding.eq_ignore_ascii_case(b"identity"))
            .filter(|coding| !(self.hop.chunked && coding.eq_ignore_ascii_case(b"chunked")))
            .map(String::from_utf8_lossy)
            .collect();
        (!codings.is_empty()).then(|| codings.join(", "))
    }

    /// The value of the first header with this name, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'b str> {
        let line = self.lines.iter().find(|line| contains(line.name, name))?;
        std::str::from_utf8(line.value).ok()
    }

    /// The headers that report limits of the account.
    pub(crate) fn limit_headers(&self) -> Vec<(String, String)> {
        let lines = self.lines.iter().filter(|line| is_limit_header(line.name));
        let text = |line: &httparse::Header<'_>| {
            Some((line.name.to_owned(), std::str::from_utf8(line.value).ok()?.to_owned()))
        };
        lines.filter_map(text).take(MAX_LIMIT_HEADERS).collect()
    }

    /// Appends the head as sent to the client. `close` announces that this is the last response.
    pub(crate) fn write_rewritten(&self, close: bool, out: &mut Vec<u8>) {
        let first_line = self
            .lines
            .first()
            .map_or(self.raw.len() - 2, |line| line.name.as_ptr() as usize - self.raw.as_ptr() as usize);
        out.reserve(self.raw.len() + 24);
        out.extend_from_slice(&self.raw[..first_line]);
        copy_lines(self.raw, self.lines, out, |index| {
            if self.hop.owns(&self.lines[index], self.lines) { HeaderAction::No } else { HeaderAction::Yes }
        });
        if self.status == 101 {
            out.extend_from_slice(b"connection: upgrade\r\n");
        } else if close {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}
