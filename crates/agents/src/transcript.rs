//! Reading session files: one interface for every agent's way of writing them down.
//!
//! A [`Format`] recognises its files and reads them. Most formats are lines, so most of them are a
//! [`Dialect`] (what one line means) under [`read_lines`] (splitting, bounds, damage). The dialect
//! speaks through a [`Teller`], which knows whose events they are and mints their ids.

mod bound;
mod items;
mod lines;
pub(crate) mod marks;
mod teller;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use belay_core::Event;
use serde::Deserialize;

use crate::json::well_formed;
pub use items::read_items;
pub use lines::{MAX_LINE, read_lines};
pub use teller::{Mark, Teller};

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
pub trait Format: Sync + fmt::Debug {
    /// Id of the agent that writes it.
    fn agent(&self) -> &'static str;

    /// Whether a file is of this kind, told by its path and its first bytes.
    fn recognises(&self, path: &Path, head: &[u8]) -> bool;

    /// What a line means, for files that are read while they grow; `None` for what is no lines.
    fn lines(&self, _path: &Path) -> Option<Box<dyn Dialect + Send>> {
        None
    }

    /// Hashes of ids that stand at the beginning of a file. A file that copies another (a fork, a
    /// resumed session, a checkpoint) shares some with it.
    fn marks(&self, path: &Path, _head: &[u8]) -> Vec<u64> {
        marks::of_name(self.agent(), path).into_iter().collect()
    }

    /// Tells the file's events to `sink`. Only what keeps the file from being read at all is an
    /// error; damage inside it is counted.
    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError>;
}

/// What one line of a transcript means. State lives in the implementor, one per file.
pub trait Dialect {
    /// Takes one line in, without its line break.
    fn line(&mut self, line: &str, teller: &mut Teller<'_>) -> Result<(), Flaw>;

    /// The file ends here.
    fn end(&mut self, _teller: &mut Teller<'_>) {}
}

/// Why a line was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Not what the format says: cut off or damaged.
    Broken,
    /// Longer than [`MAX_LINE`].
    TooLong,
    /// Not text.
    Binary,
    /// Well formed, of a type we do not know. Expected: formats grow.
    Unknown,
}

impl Flaw {
    /// What is wrong with a line that should have been JSON of a known shape.
    pub(crate) fn of(line: &str) -> Self {
        if well_formed(line) { Self::Unknown } else { Self::Broken }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "damaged or cut off",
            Self::TooLong => "too long to be read",
            Self::Binary => "not text",
            Self::Unknown => "of an unknown type",
        })
    }
}

/// What was read, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
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
    pub places: Vec<(u64, Flaw)>,
}

impl Tally {
    /// How many places are named.
    const NAMED: usize = 8;

    /// Lines lost to damage.
    pub fn damaged(&self) -> u64 {
        self.broken + self.too_long + self.binary
    }

    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::Broken => self.broken += 1,
            Flaw::TooLong => self.too_long += 1,
            Flaw::Binary => self.binary += 1,
            Flaw::Unknown => {
                self.unknown += 1;
                return;
            }
        }
        if self.places.len() < Self::NAMED {
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

/// How many bytes of a file [`recognise`] looks at.
pub const HEAD_BYTES: usize = 16 * 1024;

/// The format of a file, told by its path and content; `None` when no reader knows it.
pub fn recognise(path: &Path) -> Result<Option<&'static dyn Format>, ReadError> {
    use std::io::Read;
    let fail = |source| ReadError::io(path, source);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    std::fs::File::open(path).map_err(fail)?.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(fail)?;
    Ok(formats().find(|format| format.recognises(path, &head)))
}

/// The first line of a file that is not blank, as far as its head goes.
pub(crate) fn first_line(head: &[u8]) -> Cow<'_, str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    String::from_utf8_lossy(first.unwrap_or_default())
}

/// What a line of JSON says. One of a shape we do not know is no damage.
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, Flaw> {
    serde_json::from_str(line).map_err(|_| Flaw::of(line))
}

/// The name of a file without its ending: the session's id, where nothing else tells it.
pub(crate) fn stem(path: &Path) -> Cow<'_, str> {
    path.file_stem().unwrap_or_default().to_string_lossy()
}

/// Every format there is.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    let own = crate::table::AGENTS.iter().flat_map(|agent| agent.formats.iter().copied());
    own.chain([&crate::event_lines::EventLines as &dyn Format, &crate::toolcalls::Toolcalls])
}

#[cfg(test)]
mod tests;
