//! The files of a task.
//!
//! | file | contents |
//! |---|---|
//! | `task.json` | the task as filed; written last, so that a directory without it is not a task |
//! | `journal.jsonl` | one record per line |
//! | `env` | the environment of the shell that filed the task |
//! | `meta.json` | the summary, for lists |
//! | `runs/N.json`, `N.jsonl`, `N.stderr` | the process of attempt N and what it printed |
//! | `runs/N.marker` | kept open by every process of attempt N; gone when it has ended |

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use belay_core::Timestamp;
use belay_core::task::Machine;
use belay_fs::{FileMode, Links};
use belay_process::ProcessMarker;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::TaskError;
use crate::journal::{Entries, Entry, Journal};

/// A larger file of a task is not read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A task as filed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filed<S> {
    pub at: Timestamp,
    pub by: String,
    pub spec: S,
    /// Directory of the artifacts, fixed when the task was filed.
    pub artifacts: PathBuf,
}

/// A task as its files say.
#[derive(Clone, Debug)]
pub struct Replayed<M: Machine> {
    pub filed: Filed<M::Spec>,
    pub machine: M,
    pub entries: Entries<M>,
}

/// A task and its records, open or only read.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'t, M: Machine> {
    pub dir: &'t TaskDir,
    pub filed: &'t Filed<M::Spec>,
    pub machine: &'t M,
    pub entries: &'t [Entry<M::Record>],
}

/// The directory of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDir {
    id: String,
    path: PathBuf,
}

impl TaskDir {
    /// `root` is the directory of all tasks of a driver.
    pub fn new(root: &Path, id: &str) -> Self {
        Self { id: id.to_owned(), path: root.join(id) }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory, readable only by the user. Fails if it exists.
    pub fn create(&self) -> Result<(), TaskError> {
        let root = self.path.parent().unwrap_or(&self.path);
        let created = create_private_dir(root)
            .and_then(|()| DirBuilder::new().mode(0o700).create(&self.path))
            .and_then(|()| create_private_dir(&self.path.join("runs")));
        created.map_err(|source| TaskError::Write { path: self.path.clone(), source })
    }

    /// Whether there is a task: its last file was written.
    pub fn is_task(&self) -> bool {
        self.path.join("task.json").exists()
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    pub fn read_filed<M: Machine>(&self) -> Result<Filed<M::Spec>, TaskError> {
        let not_found = || TaskError::NotFound { noun: "task", name: self.id.clone() };
        self.read_json("task.json")?.ok_or_else(not_found)
    }

    /// The records of the task, without a last line that was cut off by a crash.
    pub fn read_journal<M: Machine>(&self) -> Result<Entries<M>, TaskError> {
        Ok(Journal::<M>::read_entries(&self.journal())?)
    }

    /// The task: what was filed, and every record of its journal.
    pub fn replay<M: Machine>(&self) -> Result<Replayed<M>, TaskError> {
        let filed = self.read_filed::<M>()?;
        let (machine, entries) = Journal::read(&self.journal(), begin(&filed)?)?;
        Ok(Replayed { filed, machine, entries })
    }

    /// The summary as it was last written; `None` if a crash prevented that after the last record. An ended task that
    /// a person continues would be forgotten otherwise.
    pub fn read_summary<T: DeserializeOwned>(&self) -> Option<T> {
        let written = |name: &str| self.path.join(name).metadata().and_then(|metadata| metadata.modified()).ok();
        let summary = written("meta.json")?;
        if written("journal.jsonl").is_none_or(|record| summary > record) {
            self.read_json("meta.json").ok().flatten()
        } else {
            None
        }
    }

    /// The files of attempt `attempt`, by their extension.
    pub fn run_file(&self, attempt: u32, extension: &str) -> PathBuf {
        self.path.join("runs").join(format!("{attempt}.{extension}"))
    }

    /// Finds the processes of attempt `attempt`, which all keep its file open.
    pub fn marker(&self, attempt: u32) -> ProcessMarker {
        ProcessMarker::new(self.run_file(attempt, "marker"))
    }

    /// The marker files of attempts that have not ended, or whose end nobody saw.
    pub(crate) fn marker_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path.join("runs")).into_iter().flatten().flatten();
        let is_marker = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "marker");
        entries.map(|entry| entry.path()).filter(is_marker).collect()
    }

    /// A JSON file of the task; `None` if it does not exist.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, TaskError> {
        let path = self.path.join(name);
        let read = match belay_fs::read_regular(&path, Links::Refuse, MAX_FILE_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        };
        read.map(Some).map_err(|source| TaskError::Read { path, source })
    }

    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), TaskError> {
        write_json(&self.path.join(name), value)
    }
}

impl<M: Machine> Replayed<M> {
    pub fn view<'t>(&'t self, dir: &'t TaskDir) -> TaskView<'t, M> {
        TaskView { dir, filed: &self.filed, machine: &self.machine, entries: &self.entries }
    }
}

/// The task before its first record.
pub(crate) fn begin<M: Machine>(filed: &Filed<M::Spec>) -> Result<M, TaskError> {
    M::new(filed.spec.clone(), filed.at).map_err(|error| TaskError::Misfit(Box::new(error)))
}

pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TaskError> {
    let written = serde_json::to_vec_pretty(value)
        .map_err(io::Error::from)
        .and_then(|bytes| belay_fs::replace_file(path, &bytes, FileMode::Private));
    written.map_err(|source| TaskError::Write { path: path.to_owned(), source })
}

/// An artifact is written as a whole or not at all.
pub fn write_artifact(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), TaskError> {
    let path = dir.join(name);
    let written = create_private_dir(dir).and_then(|()| belay_fs::replace_file(&path, bytes, FileMode::Private));
    written.map_err(|source| TaskError::Write { path, source })
}

/// Creates a directory that only the user can read, and its parents.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
