//! A task with its journal open: the only way to change one.

use std::path::{Path, PathBuf};

use belay_clock::now;
use belay_core::task::{Journalled as _, WorkspaceMode};
use belay_drive::workspace::Workspace;
use belay_fs::repository::Repository;
use belay_ipc::views::ReviewSummaryView;
use belay_review::Task;
use belay_review::task::{BuildStart, Record};

use crate::error::RunnerError;
use crate::read;
use crate::task_dir::{FiledTask, Journal, JournalEntry, TaskDir, write_artifact, write_json};

/// A task that can be changed.
#[derive(Debug)]
pub(crate) struct OpenTask {
    pub(crate) dir: TaskDir,
    pub(crate) filed: FiledTask,
    pub(crate) task: Task,
    pub(crate) entries: Vec<JournalEntry>,
    journal: Journal,
}

impl OpenTask {
    pub(crate) fn open(dir: TaskDir) -> Result<Self, RunnerError> {
        let journal = dir.open_journal()?;
        let (filed, task, entries) = dir.replay()?;
        Ok(Self { dir, filed, task, entries, journal })
    }

    /// Applies a record and writes it. If either fails, the task is what it was.
    pub(crate) fn record(&mut self, record: Record) -> Result<(), RunnerError> {
        let mut changed = self.task.clone();
        let entry = JournalEntry { at: now(), record };
        changed.apply(entry.at, &entry.record)?;
        self.journal.append(&entry)?;
        self.task = changed;
        self.entries.push(entry);
        self.write_derived();
        Ok(())
    }

    pub(crate) fn summary(&self) -> ReviewSummaryView {
        read::summary(&self.dir, &self.filed, &self.task, &self.entries)
    }

    /// Writes what can be derived from the journal. A failure costs a list its freshness and nothing else.
    pub(crate) fn write_derived(&self) {
        let summary = self.summary();
        let mut written = self.dir.write_json("meta.json", &summary);
        if self.filed.artifacts != self.dir.path() {
            written = written.and_then(|()| write_json(&self.filed.artifacts.join("meta.json"), &summary));
        }
        let ledger = serde_json::to_vec_pretty(&self.task.ledger).unwrap_or_default();
        written = written.and_then(|()| write_artifact(&self.filed.artifacts, "ledger.json", &ledger));
        if let Err(error) = written {
            tracing::warn!(task = self.dir.id(), %error, "cannot write the summary of a review task");
        }
    }

    pub(crate) fn workspace(&self) -> Result<Option<Workspace>, RunnerError> {
        self.dir.read_json("workspace.json")
    }

    /// The tree of the last finished build that was not reverted.
    pub(crate) fn built_tree(&self) -> Option<String> {
        let rounds = &self.task.rounds;
        let reverted: Vec<u32> = rounds
            .iter()
            .filter_map(|round| match round.start {
                BuildStart::Reverted { fix_of } if round.built.is_none() => Some(fix_of),
                _ => None,
            })
            .collect();
        let kept = rounds.iter().rev().filter(|round| !reverted.contains(&round.number));
        kept.filter_map(|round| round.built.as_ref()).map(|built| built.tree.clone()).next()
    }

    /// The directory that the builder changes, if it is the person's own: only one task may use it at a time. Snapshots see
    /// the whole repository.
    pub(crate) fn exclusive_dir(&self) -> Option<PathBuf> {
        let project_dir = Path::new(&self.task.spec.project_dir);
        let root =
            || Repository::find(project_dir).map_or_else(|| project_dir.to_owned(), |repository| repository.root);
        (self.task.spec.workspace == WorkspaceMode::InPlace).then(root)
    }
}
