//! Review tasks as the parts that run them see them.

use std::path::{Path, PathBuf};

use belay_config::Config;
use belay_core::Subject;
use belay_core::task::WorkspaceMode;
use belay_core::wait::Awaited;
use belay_drive::limits::AccountId;
use belay_drive::workspace::Workspace;
use belay_fs::repository::Repository;
use belay_ipc::views::ReviewSummaryView;
use belay_review::Task;
use belay_review::task::{BuildStart, Phase, Step};
use belay_tasks::task_dir::{write_artifact, write_json};
use belay_tasks::{Names, Performer, StepContext, StepEnd, agent};

use crate::error::RunnerError;
use crate::task_dir::{OpenTask, TaskView};
use crate::{perform, read};

/// How review tasks are called.
pub(crate) const NAMES: Names =
    Names { dir: "reviews", prefix: "r-", noun: "review task", subject: |id| Subject::review(id) };

/// Performs the steps of review tasks.
#[derive(Debug)]
pub(crate) struct Reviews;

impl Performer for Reviews {
    type Machine = Task;
    type Summary = ReviewSummaryView;

    const NAMES: Names = NAMES;

    fn workers(&self, config: &Config) -> u32 {
        config.review.workers
    }

    fn queue_depth(&self, config: &Config) -> u32 {
        config.review.queue_depth
    }

    fn perform(&self, step: &StepContext<Task>) -> StepEnd<Task> {
        perform::perform(step)
    }

    fn recover(&self, step: &StepContext<Task>) -> StepEnd<Task> {
        perform::recover(step)
    }

    fn account(&self, step: &StepContext<Task>) -> Option<AccountId> {
        let name = match &step.run.step {
            Step::Build { .. } => &step.task.spec.builder.agent,
            Step::Review { reviewer, .. } => reviewer,
            Step::Prepare | Step::Gate { .. } => return None,
        };
        Some(agent::account(step, name))
    }

    /// The directory that the builder changes, if it is the person's own. A task that has begun keeps it between its steps,
    /// too: its work is half done. One that waits for the directory itself holds nothing, or two would wait for each other.
    fn occupies(&self, task: &Task) -> Option<PathBuf> {
        let waits = matches!(task.waiting(), Some(Awaited::Lock { .. }));
        if task.spec.workspace != WorkspaceMode::InPlace || matches!(task.phase, Phase::Queued) || waits {
            return None;
        }
        let dir = Path::new(&task.spec.project_dir);
        // Snapshots see the whole repository.
        let root = || Repository::find(dir).map_or_else(|| dir.to_owned(), |repository| repository.root);
        (!task.phase.is_final()).then(root)
    }

    fn summary(task: TaskView<'_>) -> ReviewSummaryView {
        read::summary(task)
    }

    fn has_ended(summary: &ReviewSummaryView) -> bool {
        summary.phase.has_ended()
    }

    fn write_derived(&self, open: &OpenTask, summary: &ReviewSummaryView) {
        let artifacts = &open.filed.artifacts;
        let mut written = Ok(());
        if artifacts != open.dir.path() {
            written = write_json(&artifacts.join("meta.json"), summary);
        }
        let ledger = serde_json::to_vec_pretty(&open.machine().ledger).unwrap_or_default();
        written = written.and_then(|()| write_artifact(artifacts, "ledger.json", &ledger));
        if let Err(error) = written {
            tracing::warn!(task = open.dir.id(), %error, "cannot write the artifacts of a review task");
        }
    }
}

pub(crate) fn workspace(open: &OpenTask) -> Result<Option<Workspace>, RunnerError> {
    Ok(open.dir.read_json("workspace.json")?)
}

/// The tree of the last finished build that was not reverted.
pub(crate) fn built_tree(task: &Task) -> Option<String> {
    let rounds = &task.rounds;
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
