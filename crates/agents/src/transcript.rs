//! Reading session files: one interface for the transcript formats of all agents.
//!
//! A [`TranscriptFormat`] recognises its files and reads them. Most formats consist of lines and only provide a
//! [`LineParser`]; [`read_lines`] splits the file, enforces limits and counts damage. A parser emits events through a
//! [`TranscriptEventBuilder`], which adds session and id.

mod bounded_text;
mod event_builder;
pub(crate) mod fork_ids;
mod json_array_reader;
mod line_reader;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use belay_core::{Event, SessionKey, Timestamp};
use serde::Deserialize;

use crate::lenient_json::is_valid_json;
use crate::quota::ReportedQuota;
pub(crate) use bounded_text::append_line;
pub use event_builder::{RecordPosition, TranscriptEventBuilder};
pub use json_array_reader::read_items;
pub use line_reader::{MAX_LINE, read_lines};

/// Receives the events of a session file.
pub trait Sink {
    /// Receives one event, in file order.
    fn event(&mut self, event: Event);

    /// Reports that this many more bytes have been read.
    fn progress(&mut self, _bytes: u64) {}
}

impl<F: FnMut(Event)> Sink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// A format of session files.
pub trait TranscriptFormat: Sync + fmt::Debug {
    /// Id of the agent that writes the format.
    fn agent(&self) -> &'static str;

    /// Whether a file has this format, from its path and first bytes.
    fn recognises(&self, path: &Path, head: &[u8]) -> bool;

    /// The session of a file until its records name another.
    fn session(&self, path: &Path) -> SessionKey {
        SessionKey::new(self.agent(), file_stem(path))
    }

    /// The parser for a file of lines; `None` for other formats, which implement [`TranscriptFormat::read`].
    fn line_parser(&self, _path: &Path) -> Option<Box<dyn LineParser + Send>> {
        None
    }

    /// Hashes of ids near the start of a file. A copy of another file (a fork, a resumed session, a checkpoint) shares some
    /// of them.
    fn fork_ids(&self, path: &Path, head: &[u8]) -> Vec<u64> {
        let mut marks = fork_ids::of_session_field(self.agent(), head);
        marks.extend(fork_ids::of_name(self.agent(), path));
        marks
    }

    /// The quotas that the end of a file reports last, and when.
    fn quotas(&self, _tail: &str) -> Option<(Timestamp, Vec<ReportedQuota>)> {
        None
    }

    /// Passes the file's events to `sink`. Damaged records are counted; only an unreadable file is an error.
    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let Some(mut parser) = self.line_parser(path) else {
            return Err(ReadError::io(path, io::ErrorKind::Unsupported.into()));
        };
        let mut builder = TranscriptEventBuilder::new(self.session(path), sink);
        read_lines(path, &mut *parser, &mut builder)
    }
}

/// Parses the lines of one file and holds the state between them.
pub trait LineParser {
    /// Parses one line, without its line break.
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError>;

    /// Handles the end of the file.
    fn end(&mut self, _teller: &mut TranscriptEventBuilder<'_>) {}
}

/// Why a line was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineError {
    /// Truncated or damaged.
    Malformed,
    /// Longer than [`MAX_LINE`].
    TooLong,
    /// Binary data.
    Binary,
    /// Valid but of an unknown type. Formats gain types over time.
    Unknown,
}

impl LineError {
    /// Classifies a line that does not deserialize into the expected type.
    pub(crate) fn classify(line: &str) -> Self {
        if is_valid_json(line) { Self::Unknown } else { Self::Malformed }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "damaged or truncated",
            Self::TooLong => "too long",
            Self::Binary => "binary data",
            Self::Unknown => "of an unknown type",
        })
    }
}

/// Counts of what was read and what was skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Bytes read.
    pub bytes: u64,
    /// Lines, rows or messages read.
    pub lines: u64,
    /// Damaged or truncated lines.
    pub broken: u64,
    /// Lines longer than [`MAX_LINE`].
    pub too_long: u64,
    /// Lines with binary data.
    pub binary: u64,
    /// Valid lines of an unknown type.
    pub unknown: u64,
    /// Line number and error of the first few damaged lines.
    pub errors: Vec<(u64, LineError)>,
}

impl ReadStats {
    /// Maximum number of listed errors.
    const MAX_LISTED_ERRORS: usize = 8;

    /// Number of lines lost to damage.
    pub fn damaged_lines(&self) -> u64 {
        self.broken + self.too_long + self.binary
    }

    pub(crate) fn record_error(&mut self, error: LineError) {
        match error {
            LineError::Malformed => self.broken += 1,
            LineError::TooLong => self.too_long += 1,
            LineError::Binary => self.binary += 1,
            LineError::Unknown => {
                self.unknown += 1;
                return;
            }
        }
        if self.errors.len() < Self::MAX_LISTED_ERRORS {
            self.errors.push((self.lines, error));
        }
    }

    /// Adds the counts of another file, without its listed errors.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.broken += other.broken;
        self.too_long += other.too_long;
        self.binary += other.binary;
        self.unknown += other.unknown;
    }
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An I/O error.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A database error.
    #[error("cannot read the database {}", .path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
}

impl ReadError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// Number of bytes from which a format is recognised. A first prompt may be longer than a few kilobytes.
pub const HEAD_BYTES: usize = 96 * 1024;

/// The format of a file, from its path and content; `None` if it is unknown.
pub fn detect_format(path: &Path) -> Result<Option<&'static dyn TranscriptFormat>, ReadError> {
    use std::io::Read;
    let fail = |source| ReadError::io(path, source);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let file = belay_fs::open_regular(path, belay_fs::Links::Follow).map_err(fail)?;
    file.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(fail)?;
    Ok(all_formats().find(|format| format.recognises(path, &head)))
}

/// The first non-blank line in the head of a file.
pub(crate) fn first_line(head: &[u8]) -> Cow<'_, str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    String::from_utf8_lossy(first.unwrap_or_default())
}

/// Deserializes a line. Valid JSON of another type is unknown, not malformed.
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, LineError> {
    serde_json::from_str(line).map_err(|_| LineError::classify(line))
}

/// The file name without its extension: the default session id.
pub(crate) fn file_stem(path: &Path) -> Cow<'_, str> {
    path.file_stem().unwrap_or_default().to_string_lossy()
}

/// All formats.
pub fn all_formats() -> impl Iterator<Item = &'static dyn TranscriptFormat> {
    let own = crate::registry::AGENTS.iter().flat_map(|agent| agent.transcript_formats().iter().copied());
    own.chain([
        &crate::event_log_format::EventLogFormat as &dyn TranscriptFormat,
        &crate::tool_call_format::ToolCallFormat,
    ])
}

#[cfg(test)]
mod tests;
