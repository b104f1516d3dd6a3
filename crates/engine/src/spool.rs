//! Events that a hook process could not write, as files below the state directory.
//!
//! A hook process exits after its decision, so events that wait in its memory for a locked store would be lost. It saves
//! them as one file instead, which is complete or absent. The resident process, or the next hook that can write, records
//! the events, oldest file first, and deletes a file after the commit. If it is killed in between, the file is read again:
//! events keep their identity, so each counts once.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::{Body, Event, Source};
use belay_fs::{Dir, FileMode};

use crate::access::EngineAccess;
use crate::engine::new_id;
use crate::error::ObserveError;

/// Bounds of the directory. Processes that save at the same time may exceed them by their own files.
const MAX_FILES: usize = 4096;
const MAX_BYTES: u64 = 16 << 20;

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A temporary file of this age was left behind by a process that was killed.
const STALE_AFTER: Duration = Duration::from_secs(60);

const SAVED: &str = "json";
const DAMAGED: &str = "damaged";

/// The directory of saved events.
#[derive(Clone, Debug)]
pub struct SpoolDir(PathBuf);

/// Why events were not saved.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("{} is full ({files} files, {bytes} bytes)", path.display())]
    Full { path: PathBuf, files: usize, bytes: u64 },
    #[error("{bytes} bytes of events are more than the {MAX_FILE_BYTES} of a file")]
    TooLarge { bytes: usize },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// What the directory holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolContent {
    /// Files that wait to be recorded.
    pub waiting: usize,
    /// Names of files that were set aside because they cannot be recorded.
    pub damaged: Vec<String>,
    pub bytes: u64,
}

/// What [`SpoolDir::take_in`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenIn {
    /// Files that were recorded and deleted.
    pub files: usize,
    pub events: usize,
    /// Files that were set aside.
    pub damaged: usize,
}

impl SpoolDir {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Saves events in one file, which survives a power cut. A full directory takes no more.
    pub fn save(&self, events: &[Event]) -> Result<(), SpoolError> {
        let Some(first) = events.first() else { return Ok(()) };
        let io_error = |source| SpoolError::Io { path: self.0.clone(), source };
        let json = serde_json::to_vec(events).map_err(|error| io_error(error.into()))?;
        if json.len() as u64 > MAX_FILE_BYTES {
            return Err(SpoolError::TooLarge { bytes: json.len() });
        }
        self.create().map_err(io_error)?;
        let dir = self.open().map_err(io_error)?;
        let (mut files, mut bytes) = (0, 0);
        for entry in std::fs::read_dir(&self.0).map_err(io_error)?.flatten() {
            files += 1;
            bytes += entry.metadata().map_or(0, |found| found.len());
        }
        if files >= MAX_FILES || bytes + json.len() as u64 > MAX_BYTES {
            return Err(SpoolError::Full { path: self.0.clone(), files, bytes });
        }
        // Sorted by the time of the first event.
        let name = format!("{}.{SAVED}", new_id(first.at));
        dir.replace_file(name.as_ref(), &json, FileMode::Private).map_err(io_error)
    }

    /// What waits here.
    pub fn content(&self) -> io::Result<SpoolContent> {
        let mut content = SpoolContent::default();
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(content),
            entries => entries?,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            content.bytes += entry.metadata().map_or(0, |found| found.len());
            match Path::new(&name).extension().and_then(OsStr::to_str) {
                Some(SAVED) => content.waiting += 1,
                Some(DAMAGED) => content.damaged.push(name.to_string_lossy().into_owned()),
                _ => {}
            }
        }
        content.damaged.sort();
        Ok(content)
    }

    /// Records saved events, oldest first, from at most `max_files` files, and deletes each file after its commit. Stops
    /// if the store cannot be written. A file that can never be recorded is set aside.
    pub fn take_in(&self, engine: &dyn EngineAccess, max_files: usize) -> io::Result<TakenIn> {
        let mut taken = TakenIn::default();
        let names = self.waiting()?;
        if names.is_empty() {
            return Ok(taken);
        }
        let dir = self.open()?;
        for name in names.into_iter().take(max_files) {
            if !is_writable(engine) {
                break;
            }
            let read = dir.read_regular(&name.to_string_lossy(), MAX_FILE_BYTES);
            let recorded = match read {
                Ok(json) => record(engine, &json),
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(Failure::Damaged(error.to_string())),
            };
            match recorded {
                Ok(events) => {
                    taken.files += 1;
                    taken.events += events;
                    remove(&dir, &name)?;
                }
                Err(Failure::NotNow) => break,
                Err(Failure::Damaged(problem)) => {
                    tracing::warn!(file = %self.0.join(&name).display(), problem, "saved events cannot be recorded");
                    let aside = Path::new(&name).with_extension(DAMAGED);
                    dir.rename_file(&name, aside.as_os_str())?;
                    taken.damaged += 1;
                }
            }
        }
        Ok(taken)
    }

    /// Names of the files that wait, oldest first. Removes what killed processes left behind.
    fn waiting(&self) -> io::Result<Vec<OsString>> {
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                let modified = entry.metadata().and_then(|found| found.modified());
                if modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= STALE_AFTER)) {
                    remove(&self.open()?, &name)?;
                }
            } else if Path::new(&name).extension() == Some(SAVED.as_ref()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn create(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }

    /// Opens the directory unless it is a link.
    fn open(&self) -> io::Result<Dir> {
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the directory has no name");
        let name = self.0.file_name().ok_or_else(no_name)?;
        Dir::open_below(self.0.parent().unwrap_or(Path::new("")), Path::new(name))
    }
}

enum Failure {
    /// The store cannot be written now.
    NotNow,
    Damaged(String),
}

/// Records the events of a file in one commit; returns how many.
fn record(engine: &dyn EngineAccess, json: &[u8]) -> Result<usize, Failure> {
    let events: Vec<Event> = serde_json::from_slice(json).map_err(|error| Failure::Damaged(error.to_string()))?;
    if let Some(event) = events.iter().find(|event| !may_save(event)) {
        return Err(Failure::Damaged(format!("no hook records an event of kind `{}`", event.body.kind())));
    }
    let count = events.len();
    for result in engine.observe(events) {
        match result {
            Ok(outcome) if outcome.committed => {}
            Ok(_) if is_writable(engine) => return Err(Failure::Damaged("an event was rejected; see the log".into())),
            Ok(_) | Err(ObserveError::Busy) => return Err(Failure::NotNow),
            Err(error) => return Err(Failure::Damaged(error.to_string())),
        }
    }
    Ok(count)
}

/// Whether a hook records such an event: neither a person's decision nor what Belay alone derives.
pub(crate) fn may_save(event: &Event) -> bool {
    let is_derived = matches!(
        event.body,
        Body::Operator(_) | Body::SubAgentsSpent(_) | Body::SharedSpent(_) | Body::ApprovalEnded(_) | Body::Tick
    );
    matches!(event.source, Source::Hook | Source::Transcript) && !is_derived
}

fn is_writable(engine: &dyn EngineAccess) -> bool {
    engine.query(|engine| engine.health().is_healthy()) == Some(true)
}

fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
    match dir.remove_file(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
