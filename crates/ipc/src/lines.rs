//! Splitting a stream into lines, with a bound on the memory for one line.

use std::io::{self, Read};

/// A buffer that grew beyond this shrinks after its line.
pub const SHRINK_ABOVE_BYTES: usize = 64 * 1024;

/// A line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'b> {
    Complete(&'b [u8]),
    /// It was longer than the maximum and has been skipped.
    TooLong,
}

/// Splits a stream into lines; buffers at most one long line.
#[derive(Debug)]
pub struct LineReader {
    max: usize,
    buffer: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// Bytes before this have no line end.
    scanned: usize,
    skipping: bool,
    /// Line ends read so far.
    ends: u64,
}

impl LineReader {
    /// Lines of more than `max` bytes are skipped.
    pub fn new(max: usize) -> Self {
        Self { max, buffer: Vec::new(), start: 0, scanned: 0, skipping: false, ends: 0 }
    }

    /// The next line without its end; empty lines are skipped. `None` at the end of the stream; an incomplete last line
    /// is available from [`LineReader::partial_line`].
    pub fn next(&mut self, stream: &mut impl Read) -> io::Result<Option<Line<'_>>> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let (start, end) = (self.start, self.scanned + length);
                self.start = end + 1;
                self.ends += 1;
                self.scanned = self.start;
                match std::mem::take(&mut self.skipping) {
                    true => return Ok(Some(Line::TooLong)),
                    false if end > start => return Ok(Some(Line::Complete(&self.buffer[start..end]))),
                    false => continue,
                }
            }
            self.compact();
            let filled = self.buffer.len();
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

    /// Number of the last returned line, counted from 1, including empty lines.
    pub fn line_number(&self) -> u64 {
        self.ends
    }

    /// The bytes after the last line end.
    pub fn partial_line(&self) -> Line<'_> {
        match self.skipping || self.buffer.len() - self.start > self.max {
            true => Line::TooLong,
            false => Line::Complete(&self.buffer[self.start..]),
        }
    }

    /// Whether the buffer has another complete line.
    pub fn has_more(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer[self.scanned..]).is_some()
    }

    /// Releases the memory of lines that were returned.
    pub fn shrink(&mut self) {
        if self.start == self.buffer.len() {
            self.compact();
        }
    }

    fn compact(&mut self) {
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
        self.scanned = self.buffer.len();
    }
}

#[cfg(test)]
mod tests;
