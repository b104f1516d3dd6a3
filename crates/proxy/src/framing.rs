//! Where a message body ends.
//!
//! The relay forwards the raw bytes of a body, chunk sizes and trailers included, and never
//! writes them anew. A [`BodyFramer`] walks along: it finds the end, and shows the payload to whoever
//! inspects. It is strict, because what we take for the end and what the other side takes for the
//! end must be the same byte.

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    Empty,
    /// So many bytes follow.
    Length(u64),
    /// Chunks, then trailers.
    Chunked,
    /// Everything until the connection closes (answers only).
    UntilClose,
}

/// The body broke its own framing; the connection cannot be used any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chunked body is malformed: {0}")]
pub struct FramingError(&'static str);

/// Walks along the raw bytes of one body. `Copy`, so that a piece can be walked a second time.
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

    /// Whether the whole body has been walked.
    pub fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// Whether the connection's end is a proper end of this body.
    pub fn ends_at_close(&self) -> bool {
        matches!(self.0, State::Done | State::UntilClose)
    }

    /// How many payload bytes have been promised and not come: of the current chunk, or of the
    /// whole body where its length was announced.
    pub fn remaining_in_chunk(&self) -> u64 {
        match self.0 {
            State::Length(left) | State::Data { left } => left,
            _ => 0,
        }
    }

    /// The raw bytes that make `last` the last payload of this body, whatever it is in the middle of. `None` where a
    /// proper end is not possible here: with less than was promised, or more where the whole length was announced.
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

    /// Walks over `raw` up to the end of the body, shows each piece of payload, and tells how many
    /// bytes belong to the body.
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
    /// One byte of the marks around the chunks.
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
