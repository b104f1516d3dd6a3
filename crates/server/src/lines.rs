//! Splitting a stream into lines, with a bound on how much of one is held.

use std::io::{self, Read};

/// A buffer that grew beyond this is given back after its line.
pub const SHRINK_ABOVE_BYTES: usize = 64 * 1024;

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'b> {
    Whole(&'b [u8]),
    /// It was longer than we take; it has been read past.
    TooLong,
}

/// Splits a stream into lines without ever holding more than one long line.
#[derive(Debug)]
pub struct LineReader {
    max: usize,
    buffer: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// How far we have looked for its end.
    looked: usize,
    skipping: bool,
    /// Line ends passed so far.
    ends: u64,
}

impl LineReader {
    /// Lines of more than `max` bytes are passed over.
    pub fn new(max: usize) -> Self {
        Self { max, buffer: Vec::new(), start: 0, looked: 0, skipping: false, ends: 0 }
    }

    /// The next line without its end; empty ones are passed over. `None` at the end of the stream; a
    /// last line without its end is not whole and is left in [`Lines::rest`].
    pub fn next(&mut self, stream: &mut impl Read) -> io::Result<Option<Line<'_>>> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.looked..]) {
                let (start, end) = (self.start, self.looked + length);
                self.start = end + 1;
                self.ends += 1;
                self.looked = self.start;
                match std::mem::take(&mut self.skipping) {
                    true => return Ok(Some(Line::TooLong)),
                    false if end > start => return Ok(Some(Line::Whole(&self.buffer[start..end]))),
                    false => continue,
                }
            }
            self.make_room();
            let filled = self.buffer.len();
            self.looked = filled;
            self.buffer.resize(filled + 16 * 1024, 0);
            let read = loop {
                match stream.read(&mut self.buffer[filled..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(None);
            }
        }
    }

    /// Number of the line that was given last, counted from 1, empty ones included.
    pub fn line_number(&self) -> u64 {
        self.ends
    }

    /// What came after the last line end.
    pub fn partial_line(&self) -> Line<'_> {
        match self.skipping || self.buffer.len() - self.start > self.max {
            true => Line::TooLong,
            false => Line::Whole(&self.buffer[self.start..]),
        }
    }

    /// Whether another whole line can be had without reading.
    pub fn has_more(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer[self.looked..]).is_some()
    }

    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.len() > self.max {
            self.skipping = true;
        }
        if self.skipping {
            self.buffer.clear();
        }
        if self.buffer.is_empty() {
            self.buffer.shrink_to(SHRINK_ABOVE_BYTES);
        }
    }
}

#[cfg(test)]
mod tests;
