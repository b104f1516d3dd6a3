//! The files of a task.
//!
//! | file | contents |
//! |---|---|
//! | `task.json` | the task as filed; written last, so that a directory without it is not a task |
//! | `journal.jsonl` | one record per line |
//! | `env` | the environment of the shell that filed the task |
//! | `workspace.json` | where the builder works |
//! | `landed.json` | what became of the result |
//! | `archived.json` | who kept the result as a branch only |
//! | `meta.json` | the summary, for lists |
//! | `runs/N.json`, `N.jsonl`, `N.stderr` | the process of attempt N and what it printed |
//! | `runs/N.marker` | kept open by every process of attempt N; gone when it has ended |
//! | `NN-*.md`, `NN.diff`, `ledger.json` | artifacts; `review.artifacts_dir` moves them |

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use belay_core::Timestamp;
use belay_core::task::{Journalled as _, Spend};
use belay_fs::{FileMode, Links};
use belay_ipc::views::{ArtifactView, ReviewSummaryView};
use belay_review::Task;
use belay_review::task::{Record, TaskSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::RunnerError;

/// A larger file of a task is not read as a whole.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A task as filed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiledTask {
    pub at: Timestamp,
    pub by: String,
    pub spec: TaskSpec,
    /// Directory of the artifacts, fixed when the task was filed.
    pub artifacts: PathBuf,
}

/// A journal line: a record and when it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub at: Timestamp,
    #[serde(flatten)]
    pub record: Record,
}

/// The process of an agent step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunProcess {
    pub(crate) pid: u32,
    /// With the pid, identifies the process after a restart.
    pub(crate) start_time: Option<u64>,
    /// What the session that it continues has cost before.
    #[serde(default)]
    pub(crate) spent_before: Spend,
}

/// What became of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandRecord {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) commit: Option<String>,
}

/// Who kept the result as a branch only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchiveRecord {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
}

/// The directory of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDir {
    id: String,
    path: PathBuf,
}

impl TaskDir {
    /// `root` is the directory of all tasks.
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
    pub(crate) fn create(&self) -> io::Result<()> {
        let root = self.path.parent().unwrap_or(&self.path);
        create_private_dir(root)?;
        DirBuilder::new().mode(0o700).create(&self.path)?;
        create_private_dir(&self.path.join("runs"))
    }

    pub fn read_filed(&self) -> Result<FiledTask, RunnerError> {
        self.read_json("task.json")?.ok_or_else(|| RunnerError::NotFound(self.id.clone()))
    }

    /// The summary as it was last written; `None` if a crash prevented that after the last record. An ended task that
    /// a person continues would be forgotten otherwise.
    pub fn read_summary(&self) -> Option<ReviewSummaryView> {
        let written = |name: &str| self.path.join(name).metadata().and_then(|metadata| metadata.modified()).ok();
        let summary = written("meta.json")?;
        if written("journal.jsonl").is_none_or(|record| summary > record) {
            self.read_json("meta.json").ok().flatten()
        } else {
            None
        }
    }

    /// The journal, without a last line that was cut off by a crash.
    pub fn read_journal(&self) -> Result<Vec<JournalEntry>, RunnerError> {
        let path = self.path.join("journal.jsonl");
        let bytes = match belay_fs::read_regular(&path, Links::Refuse, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(RunnerError::Read { path, source }),
        };
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = bytes[..complete].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let damaged = |line: usize, error: &dyn ToString| RunnerError::Damaged {
            id: self.id.clone(),
            line: line + 1,
            why: error.to_string(),
        };
        lines
            .enumerate()
            .map(|(line, bytes)| serde_json::from_slice(bytes).map_err(|error| damaged(line, &error)))
            .collect()
    }

    /// The task: what was filed, and every record of its journal.
    pub fn replay(&self) -> Result<(FiledTask, Task, Vec<JournalEntry>), RunnerError> {
        let filed = self.read_filed()?;
        let journal = self.read_journal()?;
        let mut task = Task::new(filed.spec.clone(), filed.at)?;
        for (line, entry) in journal.iter().enumerate() {
            task.apply(entry.at, &entry.record).map_err(|error| RunnerError::Damaged {
                id: self.id.clone(),
                line: line + 1,
                why: error.to_string(),
            })?;
        }
        Ok((filed, task, journal))
    }

    /// Opens the journal for appending, without a last line that was cut off.
    pub(crate) fn open_journal(&self) -> Result<Journal, RunnerError> {
        let path = self.path.join("journal.jsonl");
        let opened =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path).and_then(|mut file| {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                if complete < bytes.len() {
                    file.set_len(complete as u64)?;
                }
                Ok(file)
            });
        let file = opened.map_err(|source| RunnerError::Write { path: path.clone(), source })?;
        Ok(Journal { file, path })
    }

    /// The files of attempt `attempt`, by their extension.
    pub(crate) fn run_file(&self, attempt: u32, extension: &str) -> PathBuf {
        self.path.join("runs").join(format!("{attempt}.{extension}"))
    }

    /// The file that every process of attempt `attempt` keeps open.
    pub(crate) fn marker(&self, attempt: u32) -> PathBuf {
        self.run_file(attempt, "marker")
    }

    /// The markers of attempts that have not ended, or whose end nobody saw.
    pub(crate) fn markers(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path.join("runs")).into_iter().flatten().flatten();
        let is_marker = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "marker");
        entries.map(|entry| entry.path()).filter(is_marker).collect()
    }

    /// A JSON file of the task; `None` if it does not exist.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RunnerError> {
        let path = self.path.join(name);
        let read = match belay_fs::read_regular(&path, Links::Refuse, MAX_FILE_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        };
        read.map(Some).map_err(|source| RunnerError::Read { path, source })
    }

    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunnerError> {
        write_json(&self.path.join(name), value)
    }
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunnerError> {
    let written = serde_json::to_vec_pretty(value)
        .map_err(io::Error::from)
        .and_then(|bytes| belay_fs::replace_file(path, &bytes, FileMode::Private));
    written.map_err(|source| RunnerError::Write { path: path.to_owned(), source })
}

/// An artifact is written as a whole or not at all.
pub(crate) fn write_artifact(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RunnerError> {
    let path = dir.join(name);
    let written = create_private_dir(dir).and_then(|()| belay_fs::replace_file(&path, bytes, FileMode::Private));
    written.map_err(|source| RunnerError::Write { path, source })
}

/// The artifacts in a directory, by name.
pub fn artifacts(dir: &Path) -> Vec<ArtifactView> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        is_artifact(&name).then_some(ArtifactView { name, bytes: metadata.len() })
    });
    let mut files: Vec<ArtifactView> = files.collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// Whether a file of the directory is an artifact. Everything else is internal.
pub fn is_artifact(name: &str) -> bool {
    let is_numbered = name.len() > 2 && name.bytes().take(2).all(|byte| byte.is_ascii_digit());
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_plain && (is_numbered || name == "ledger.json" || name == "meta.json")
}

/// Reads an artifact. The name may come from a request.
pub fn read_artifact(dir: &Path, name: &str) -> Result<Vec<u8>, RunnerError> {
    if !is_artifact(name) {
        return Err(RunnerError::NoArtifact(name.to_owned()));
    }
    let path = dir.join(name);
    belay_fs::read_regular(&path, Links::Refuse, MAX_FILE_BYTES).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RunnerError::NoArtifact(name.to_owned()),
        _ => RunnerError::Read { path, source },
    })
}

/// A journal that is open for appending.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Returns once the entry is on disk.
    pub(crate) fn append(&mut self, entry: &JournalEntry) -> Result<(), RunnerError> {
        let length = self.file.metadata().map(|metadata| metadata.len());
        let appended = serde_json::to_vec(entry).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)?;
            self.file.sync_data()
        });
        appended.map_err(|source| {
            // Half a line would damage the next one.
            if let Ok(length) = length {
                let _ = self.file.set_len(length);
            }
            RunnerError::Write { path: self.path.clone(), source }
        })
    }
}

/// Creates a directory that only the user can read, and its parents.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_artifact_is_not_a_missing_task() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["01.diff", "env"] {
            let error = read_artifact(dir.path(), name).unwrap_err();
            assert_eq!(error.to_string(), format!("the task has no file `{name}`"));
            assert_eq!(error.hint().as_deref(), Some("list them with `belay review artifacts ID`"));
        }
    }
}
