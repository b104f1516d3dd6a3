//! Reading session files: one interface for every agent's way of writing them down.
//!
//! A [`TranscriptFormat`] recognises its files and reads them. Most formats are lines, so most of them are a
//! [`LineParser`] (what one line means) under [`read_lines`] (splitting, bounds, damage). The dialect
//! speaks through a [`TranscriptEventBuilder`], which knows whose events they are and mints their ids.

mod bounded_text;
mod event_builder;
pub(crate) mod fork_ids;
mod json_array_reader;
mod line_reader;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use belay_core::Event;
use serde::Deserialize;

use crate::lenient_json::is_valid_json;
pub use event_builder::{RecordPosition, TranscriptEventBuilder};
pub use json_array_reader::read_items;
pub use line_reader::{MAX_LINE, read_lines};

/// Where events go.
pub trait Sink {
    /// One thing that happened, in the order of the file.
    fn event(&mut self, event: Event);

    /// So many more bytes of the file have been read.
    fn progress(&mut self, _bytes: u64) {}
}

impl<F: FnMut(Event)> Sink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// How one kind of session file is recognised and read.
pub trait TranscriptFormat: Sync + fmt::Debug {
    /// Id of the agent that writes it.
    fn agent(&self) -> &'static str;

    /// Whether a file is of this kind, told by its path and its first bytes.
    fn recognises(&self, path: &Path, head: &[u8]) -> bool;

    /// What a line means, for files that are read while they grow; `None` for what is no lines.
    fn lines(&self, _path: &Path) -> Option<Box<dyn LineParser + Send>> {
        None
    }

    /// Hashes of ids that stand at the beginning of a file. A file that copies another (a fork, a
    /// resumed session, a checkpoint) shares some with it.
    fn fork_ids(&self, path: &Path, _head: &[u8]) -> Vec<u64> {
        fork_ids::of_name(self.agent(), path).into_iter().collect()
    }

    /// Tells the file's events to `sink`. Only what keeps the file from being read at all is an
    /// error; damage inside it is counted.
    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError>;
}

/// What one line of a transcript means. State lives in the implementor, one per file.
pub trait LineParser {
    /// Takes one line in, without its line break.
    fn line(&mut self, line: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError>;

    /// The file ends here.
    fn end(&mut self, _teller: &mut TranscriptEventBuilder<'_>) {}
}

/// Why a line was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineError {
    /// Not what the format says: cut off or damaged.
    Malformed,
    /// Longer than [`MAX_LINE`].
    TooLong,
    /// Not text.
    Binary,
    /// Well formed, of a type we do not know. Expected: formats grow.
    Unknown,
}

impl LineError {
    /// What is wrong with a line that should have been JSON of a known shape.
    pub(crate) fn classify(line: &str) -> Self {
        if is_valid_json(line) { Self::Unknown } else { Self::Malformed }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "damaged or cut off",
            Self::TooLong => "too long to be read",
            Self::Binary => "not text",
            Self::Unknown => "of an unknown type",
        })
    }
}

/// What was read, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Bytes read.
    pub bytes: u64,
    /// Lines (rows, messages) seen.
    pub lines: u64,
    /// Lines that are damaged or cut off.
    pub broken: u64,
    /// Lines longer than [`MAX_LINE`].
    pub too_long: u64,
    /// Lines that are not text.
    pub binary: u64,
    /// Lines of an unknown type; no fault.
    pub unknown: u64,
    /// The first few damaged places: line number and what is wrong.
    pub places: Vec<(u64, LineError)>,
}

impl ReadStats {
    /// How many places are named.
    const MAX_LISTED_ERRORS: usize = 8;

    /// Lines lost to damage.
    pub fn damaged_lines(&self) -> u64 {
        self.broken + self.too_long + self.binary
    }

    pub(crate) fn record_error(&mut self, flaw: LineError) {
        match flaw {
            LineError::Malformed => self.broken += 1,
            LineError::TooLong => self.too_long += 1,
            LineError::Binary => self.binary += 1,
            LineError::Unknown => {
                self.unknown += 1;
                return;
            }
        }
        if self.places.len() < Self::MAX_LISTED_ERRORS {
            self.places.push((self.lines, flaw));
        }
    }

    /// Adds the counts of another file; its places stay its own.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.broken += other.broken;
        self.too_long += other.too_long;
        self.binary += other.binary;
        self.unknown += other.unknown;
    }
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system says no.
    #[error("cannot read {}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a database, and that says no.
    #[error("cannot read the database {}", .path.display())]
    Database {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
}

impl ReadError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// How many bytes of a file [`detect_format`] looks at.
pub const HEAD_BYTES: usize = 16 * 1024;

/// The format of a file, told by its path and content; `None` when no reader knows it.
pub fn detect_format(path: &Path) -> Result<Option<&'static dyn TranscriptFormat>, ReadError> {
    use std::io::Read;
    let fail = |source| ReadError::io(path, source);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    std::fs::File::open(path).map_err(fail)?.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(fail)?;
    Ok(all_formats().find(|format| format.recognises(path, &head)))
}

/// The first line of a file that is not blank, as far as its head goes.
pub(crate) fn first_line(head: &[u8]) -> Cow<'_, str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    String::from_utf8_lossy(first.unwrap_or_default())
}

/// What a line of JSON says. One of a shape we do not know is no damage.
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, LineError> {
    serde_json::from_str(line).map_err(|_| LineError::classify(line))
}

/// The name of a file without its ending: the session's id, where nothing else tells it.
pub(crate) fn file_stem(path: &Path) -> Cow<'_, str> {
    path.file_stem().unwrap_or_default().to_string_lossy()
}

/// Every format there is.
pub fn all_formats() -> impl Iterator<Item = &'static dyn TranscriptFormat> {
    let own = crate::registry::AGENTS.iter().flat_map(|agent| agent.transcript_formats().iter().copied());
    own.chain([
        &crate::event_log_format::EventLogFormat as &dyn TranscriptFormat,
        &crate::tool_call_format::ToolCallFormat,
    ])
}

#[cfg(test)]
mod tests;
