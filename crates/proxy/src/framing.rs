//! Finds the end of a message body.
//!
//! The relay forwards the raw bytes of a body, including chunk sizes and trailers, and never rewrites them. A [`BodyFramer`]
//! parses them as they pass: it finds the end and yields the payload for inspection. It is strict, because Belay and the
//! peer must agree on the last byte.

/// The framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    Empty,
    /// A body of this length.
    Length(u64),
    /// Chunks, then trailers.
    Chunked,
    /// The body ends when the connection closes (responses only).
    UntilClose,
}

/// The body violates its framing; the connection cannot be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chunked body is malformed: {0}")]
pub struct FramingError(&'static str);

/// Parses the raw bytes of one body. `Copy`, so that a piece can be parsed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyFramer(State);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    Length(u64),
    UntilClose,
    Size {
        value: u64,
        digits: u8,
    },
    Extension {
        value: u64,
    },
    SizeLf {
        value: u64,
    },
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// At the start of a trailer line or of the final empty line.
    Trailer,
    TrailerLine,
    TrailerLf,
    EndLf,
}

impl BodyFramer {
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Empty | Framing::Length(0) => State::Done,
            Framing::Length(n) => State::Length(n),
            Framing::Chunked => State::Size { value: 0, digits: 0 },
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// Whether the end of the body has been reached.
    pub fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// Whether the end of the connection is a valid end of this body.
    pub fn ends_at_close(&self) -> bool {
        matches!(self.0, State::Done | State::UntilClose)
    }

    /// Announced payload bytes that have not arrived: of the current chunk, or of the body if its length is known.
    pub fn remaining_in_chunk(&self) -> u64 {
        match self.0 {
            State::Length(left) | State::Data { left } => left,
            _ => 0,
        }
    }

    /// The raw bytes that make `last` the final payload of this body at the current position. `None` if no valid end is
    /// possible: with fewer bytes than announced, or with more if the length of the body is known.
    pub fn final_chunk(&self, last: &[u8]) -> Option<Vec<u8>> {
        const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
        let mut out = Vec::with_capacity(last.len() + 64);
        let mut rest = last;
        match self.0 {
            State::UntilClose => return Some(last.to_vec()),
            State::Length(left) => return (left == last.len() as u64).then(|| last.to_vec()),
            State::Data { left } => {
                let (inside, outside) = last.split_at_checked(usize::try_from(left).ok()?)?;
                out.extend_from_slice(inside);
                out.extend_from_slice(b"\r\n");
                rest = outside;
            }
            State::DataCr => out.extend_from_slice(b"\r\n"),
            State::DataLf => out.push(b'\n'),
            State::Size { digits: 0, .. } => {}
            _ => return None,
        }
        if !rest.is_empty() {
            out.extend_from_slice(format!("{:x}\r\n", rest.len()).as_bytes());
            out.extend_from_slice(rest);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(LAST_CHUNK);
        Some(out)
    }

    /// Parses `raw` up to the end of the body and passes on each piece of payload. Returns how many bytes belong to the body.
    pub fn advance<'a>(&mut self, raw: &'a [u8], mut payload: impl FnMut(&'a [u8])) -> Result<usize, FramingError> {
        let mut at = 0;
        while at < raw.len() {
            self.0 = match self.0 {
                State::Done => break,
                State::UntilClose => {
                    payload(&raw[at..]);
                    at = raw.len();
                    State::UntilClose
                }
                State::Length(left) => {
                    let taken = take(raw, at, left);
                    payload(&raw[at..at + taken]);
                    at += taken;
                    match left - taken as u64 {
                        0 => State::Done,
                        left => State::Length(left),
                    }
                }
                State::Data { left } => {
                    let taken = take(raw, at, left);
                    payload(&raw[at..at + taken]);
                    at += taken;
                    match left - taken as u64 {
                        0 => State::DataCr,
                        left => State::Data { left },
                    }
                }
                State::TrailerLine => match raw[at..].iter().position(|byte| *byte == b'\r' || *byte == b'\n') {
                    Some(offset) if raw[at + offset] == b'\r' => {
                        at += offset + 1;
                        State::TrailerLf
                    }
                    Some(_) => return Err(FramingError("a trailer line ends without a carriage return")),
                    None => {
                        at = raw.len();
                        State::TrailerLine
                    }
                },
                state => {
                    at += 1;
                    state.step(raw[at - 1])?
                }
            };
        }
        Ok(at)
    }
}

fn take(raw: &[u8], at: usize, left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(raw.len() - at)
}

impl State {
    /// Parses one byte of the chunk framing.
    fn step(self, byte: u8) -> Result<Self, FramingError> {
        Ok(match (self, byte) {
            (Self::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == 15 {
                    return Err(FramingError("a chunk size is beyond all measure"));
                }
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                Self::Size { value: value * 16 + u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { digits: 0, .. }, _) => return Err(FramingError("a chunk size is missing")),
            (Self::Size { value, .. } | Self::Extension { value }, b'\r') => Self::SizeLf { value },
            (Self::Size { value, .. }, b';' | b' ' | b'\t') => Self::Extension { value },
            (Self::Size { .. }, _) => return Err(FramingError("a chunk size is not a hexadecimal number")),
            (Self::Extension { .. }, b'\n') => return Err(FramingError("a chunk size ends without a carriage return")),
            (Self::Extension { value }, _) => Self::Extension { value },
            (Self::SizeLf { value: 0 }, b'\n') => Self::Trailer,
            (Self::SizeLf { value }, b'\n') => Self::Data { left: value },
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::Size { value: 0, digits: 0 },
            (Self::Trailer, b'\r') => Self::EndLf,
            (Self::Trailer, b'\n') => return Err(FramingError("the last line ends without a carriage return")),
            (Self::Trailer, _) => Self::TrailerLine,
            (Self::TrailerLf, b'\n') => Self::Trailer,
            (Self::EndLf, b'\n') => Self::Done,
            (Self::DataCr | Self::DataLf, _) => return Err(FramingError("a chunk is longer than its size")),
            _ => return Err(FramingError("a line ends without a line feed")),
        })
    }
}

#[cfg(test)]
mod tests;
