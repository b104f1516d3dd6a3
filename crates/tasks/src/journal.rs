//! A state and the file of its records.
//!
//! The file has one JSON object per line: the time, and the record. It is the truth: opening it replays every record. A
//! record is applied to a copy of the state, appended and synced, and only then believed; if any of that fails, neither
//! the state nor the file has changed. A crash may cut off the last line. It was not acknowledged, and is dropped.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use belay_core::Timestamp;
use belay_core::task::Journalled;
use belay_fs::Links;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A larger journal is not read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A line of a journal: a record, and when it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<R> {
    pub at: Timestamp,
    #[serde(flatten)]
    pub record: R,
}

/// The records of a state, oldest first.
pub type Entries<S> = Vec<Entry<<S as Journalled>::Record>>;

/// A state whose journal is open: the only way to change it.
#[derive(Debug)]
pub struct Journal<S: Journalled> {
    file: File,
    path: PathBuf,
    state: S,
    entries: Vec<Entry<S::Record>>,
}

/// Why a journal cannot be read or written. Nothing was changed.
#[derive(Debug, Error)]
pub enum JournalError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Misfit(E),
    #[error("the journal {} is damaged at line {line}: {why}", path.display())]
    Damaged { path: PathBuf, line: usize, why: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

impl<S: Journalled> Journal<S> {
    /// Opens a journal, which is created if it does not exist. `initial`: the state before the first record.
    pub fn open(path: &Path, initial: S) -> Result<Self, JournalError<S::Error>> {
        let failed = |source| JournalError::Write { path: path.to_owned(), source };
        // Not followed if it is a link: it is in a directory of ours.
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        let bytes = read_bytes::<S>(path)?;
        let complete = complete_bytes(&bytes);
        if complete.len() < bytes.len() {
            file.set_len(complete.len() as u64).map_err(failed)?;
        }
        let entries = parse::<S>(path, complete)?;
        let state = replay(path, initial, &entries)?;
        Ok(Self { file, path: path.to_owned(), state, entries })
    }

    /// Reads a journal that another process may write. Nothing is changed.
    pub fn read(path: &Path, initial: S) -> Result<(S, Entries<S>), JournalError<S::Error>> {
        let entries = Self::read_entries(path)?;
        Ok((replay(path, initial, &entries)?, entries))
    }

    /// The records of a journal; none if it does not exist.
    pub fn read_entries(path: &Path) -> Result<Entries<S>, JournalError<S::Error>> {
        parse::<S>(path, complete_bytes(&read_bytes::<S>(path)?))
    }

    /// Returns once the record is on disk.
    pub fn record(&mut self, at: Timestamp, record: S::Record) -> Result<(), JournalError<S::Error>> {
        let mut changed = self.state.clone();
        changed.apply(at, &record).map_err(JournalError::Misfit)?;
        let entry = Entry { at, record };
        self.append(&entry).map_err(|source| JournalError::Write { path: self.path.clone(), source })?;
        self.state = changed;
        self.entries.push(entry);
        Ok(())
    }

    pub fn state(&self) -> &S {
        &self.state
    }

    /// All records, oldest first.
    pub fn entries(&self) -> &[Entry<S::Record>] {
        &self.entries
    }

    fn append(&mut self, entry: &Entry<S::Record>) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let length = self.file.metadata()?.len();
        if length.saturating_add(line.len() as u64) > MAX_BYTES {
            return Err(io::Error::other(format!("it would have more than the {MAX_BYTES} bytes that are read again")));
        }
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).inspect_err(|_| {
            // Half a line would damage the next one.
            let _ = self.file.set_len(length);
        })
    }
}

fn read_bytes<S: Journalled>(path: &Path) -> Result<Vec<u8>, JournalError<S::Error>> {
    match belay_fs::read_regular(path, Links::Refuse, MAX_BYTES) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(JournalError::Read { path: path.to_owned(), source }),
    }
}

/// Without a last line that a crash cut off, or that is being written.
fn complete_bytes(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

fn parse<S: Journalled>(path: &Path, bytes: &[u8]) -> Result<Entries<S>, JournalError<S::Error>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parsed = lines
        .enumerate()
        .map(|(index, line)| serde_json::from_slice(line).map_err(|error| damaged(path, index, &error)));
    parsed.collect()
}

fn replay<S: Journalled>(path: &Path, mut state: S, entries: &[Entry<S::Record>]) -> Result<S, JournalError<S::Error>> {
    for (index, entry) in entries.iter().enumerate() {
        state.apply(entry.at, &entry.record).map_err(|error| damaged(path, index, &error))?;
    }
    Ok(state)
}

fn damaged<E: std::error::Error>(path: &Path, index: usize, why: &dyn ToString) -> JournalError<E> {
    JournalError::Damaged { path: path.to_owned(), line: index + 1, why: why.to_string() }
}
