//! The files of a review task, beside those that every task has ([`belay_tasks::task_dir`]).
//!
//! | file | contents |
//! |---|---|
//! | `workspace.json` | where the builder works |
//! | `landed.json`, `archived.json` | what became of the result, in tasks of earlier versions |
//! | `NN-*.md`, `NN.diff`, `ledger.json` | artifacts; `review.artifacts_dir` moves them |

use std::io;
use std::path::Path;

use belay_core::Timestamp;
use belay_fs::Links;
use belay_ipc::views::ArtifactView;
use belay_review::Task;
use belay_review::task::TaskSpec;
use serde::Deserialize;

pub use belay_tasks::TaskDir;
pub(crate) use belay_tasks::task_dir::write_artifact;

use crate::error::RunnerError;

/// A line of a review task's journal.
pub type JournalEntry = belay_tasks::Entry<belay_review::task::Record>;
/// A review task as filed.
pub type FiledTask = belay_tasks::Filed<TaskSpec>;
pub(crate) type OpenTask = belay_tasks::OpenTask<Task>;
pub(crate) type TaskView<'t> = belay_tasks::TaskView<'t, Task>;

/// A larger artifact is not read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Who landed or archived a result, and when.
#[derive(Debug, Deserialize)]
pub(crate) struct ResultFile {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
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
