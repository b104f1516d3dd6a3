//! Views of tasks, from their files: the resident process, the CLI and the dashboard show the same.

mod sentences;
mod view;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use belay_core::task::WorkspaceMode;
use belay_core::{Excerpt, Timestamp};
use belay_ipc::ReviewsRequest;
use belay_ipc::views::{
    NewestDecisionView, ReviewAttention, ReviewDecisionKind, ReviewPhase, ReviewSummaryView, ReviewsView,
};
use belay_review::Task;
use belay_review::task::{Answer, Attention, Decision, Phase, Record};

pub(crate) use sentences::{missing_approval, named};
pub use view::view;

use crate::error::RunnerError;
use crate::progress::RunOutput;
use crate::runner::pause_file;
use crate::task_dir::{ArchiveRecord, FiledTask, JournalEntry, LandRecord, TaskDir};

/// Tasks that a list shows if the caller does not say.
const DEFAULT_LIMIT: usize = 50;

/// The directories of all tasks.
pub fn task_dirs(root: &Path) -> Vec<TaskDir> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("r-")).collect();
    names.sort();
    let dirs = names.iter().map(|name| TaskDir::new(root, name));
    dirs.filter(|dir| dir.path().join("task.json").exists()).collect()
}

/// When a summary was last written, for a process that follows the tasks without the one that runs them.
pub fn newest_change(root: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.path().join("meta.json").metadata().ok()?.modified().ok()).max()
}

/// Summaries that were read before, so that a list of many tasks reads only those that changed.
#[derive(Debug, Default)]
pub struct SummaryCache(HashMap<String, (FileVersion, ReviewSummaryView)>);

/// Two versions of a file can be written within one tick of the file system's clock, but are never the same inode.
type FileVersion = (SystemTime, u64);

impl SummaryCache {
    fn summary(&mut self, dir: &TaskDir) -> Option<ReviewSummaryView> {
        let metadata = dir.path().join("meta.json").metadata().ok();
        let changed = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.ino())));
        match (self.0.get(dir.id()), changed) {
            (Some((known, summary)), Some(changed)) if *known == changed => Some(summary.clone()),
            _ => {
                let summary = read_summary(dir)?;
                if let Some(changed) = changed {
                    self.0.insert(dir.id().to_owned(), (changed, summary.clone()));
                }
                Some(summary)
            }
        }
    }
}

/// Tasks, newest first; without what only the resident process knows.
pub fn list(root: &Path, request: &ReviewsRequest) -> ReviewsView {
    list_cached(root, request, &mut SummaryCache::default())
}

/// The same as [`list`], for a process that lists often.
pub fn list_cached(root: &Path, request: &ReviewsRequest, cache: &mut SummaryCache) -> ReviewsView {
    let mut tasks: Vec<ReviewSummaryView> = task_dirs(root).iter().filter_map(|dir| cache.summary(dir)).collect();
    tasks.sort_by(|a, b| (b.filed_at, &b.id).cmp(&(a.filed_at, &a.id)));
    let count = |wanted: &dyn Fn(&ReviewSummaryView) -> bool| {
        u32::try_from(tasks.iter().filter(|task| wanted(task)).count()).unwrap_or(u32::MAX)
    };
    let queued = count(&|task| task.phase == ReviewPhase::Queued);
    let running = count(&|task| !task.phase.has_ended() && task.phase != ReviewPhase::Queued && task.waiting.is_none());
    tasks.retain(|task| !request.active || !task.phase.has_ended());
    let total = tasks.len() as u64;
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
    let tasks = tasks.into_iter().skip(request.offset).take(limit).collect();
    ReviewsView { paused: pause_file(root).exists(), workers: 0, queue_depth: 0, running, queued, tasks, total }
}

/// The summary as it was last written, or from the journal if a crash prevented that.
fn read_summary(dir: &TaskDir) -> Option<ReviewSummaryView> {
    dir.read_summary().or_else(|| {
        let (filed, task, journal) = dir.replay().ok()?;
        Some(summary(dir, &filed, &task, &journal))
    })
}

/// The task with this id, or with the only id that begins like this.
pub fn resolve(root: &Path, name: &str) -> Result<TaskDir, RunnerError> {
    let dirs = task_dirs(root);
    if let Some(dir) = dirs.iter().find(|dir| dir.id() == name) {
        return Ok(dir.clone());
    }
    let matches_name = |dir: &&TaskDir| {
        !name.is_empty() && (dir.id().starts_with(name) || dir.id().trim_start_matches("r-").starts_with(name))
    };
    let found: Vec<&TaskDir> = dirs.iter().filter(matches_name).collect();
    match found[..] {
        [] => Err(RunnerError::NotFound(name.to_owned())),
        [dir] => Ok(dir.clone()),
        _ => Err(RunnerError::Ambiguous {
            name: name.to_owned(),
            matches: found.iter().map(|dir| dir.id().to_owned()).collect(),
        }),
    }
}

/// The step that runs, by the number of its attempt, and everything that its agent has said so far.
pub fn output(dir: &TaskDir) -> Option<(u32, Vec<String>)> {
    let (_, task, _) = dir.replay().ok()?;
    let attempt = task.running()?.attempt;
    let output = RunOutput::read(&dir.run_file(attempt, "jsonl")).ok()?;
    Some((attempt, output.lines))
}

/// The summary of a task.
pub(crate) fn summary(dir: &TaskDir, filed: &FiledTask, task: &Task, journal: &[JournalEntry]) -> ReviewSummaryView {
    let spec = &task.spec;
    let spent = task.total_spent();
    let in_place = spec.workspace == WorkspaceMode::InPlace;
    let landed: Option<LandRecord> = dir.read_json("landed.json").ok().flatten();
    let archived: Option<ArchiveRecord> = dir.read_json("archived.json").ok().flatten();
    let decided = newest_decision(journal, landed.as_ref(), archived.as_ref());
    ReviewSummaryView {
        id: dir.id().to_owned(),
        title: Excerpt::new(&spec.title).as_str().to_owned(),
        project_dir: spec.project_dir.clone(),
        phase: phase(&task.phase),
        // Errors of agents and commands may hold secrets.
        status: Excerpt::new(&sentences::status(task)).as_str().to_owned(),
        attention: attention(&task.phase),
        waiting: task.waiting().cloned(),
        since: task.since,
        filed_at: filed.at,
        round: task.current_round().map_or(0, |round| round.number),
        max_rounds: spec.rounds,
        builder: spec.builder.agent.clone(),
        reviewers: spec.reviewers.iter().map(|role| role.agent.clone()).collect(),
        open_issues: u32::try_from(task.ledger.open().len()).unwrap_or(u32::MAX),
        tokens: spent.tokens,
        cost_micros: spent.micros,
        budget_micros: spec.budget.cost_micros,
        budget_tokens: spec.budget.tokens,
        landed: (in_place && matches!(task.phase, Phase::Done { .. })) || landed.is_some(),
        // A task that went on afterwards has another result.
        archived: archived.is_some_and(|archived| archived.at >= task.since),
        decided,
    }
}

/// What a person did last, in the journal or with the result.
fn newest_decision(
    journal: &[JournalEntry],
    landed: Option<&LandRecord>,
    archived: Option<&ArchiveRecord>,
) -> Option<NewestDecisionView> {
    let view = |at: Timestamp, by: &str, kind| NewestDecisionView { at, by: by.to_owned(), kind };
    let decided = journal.iter().rev().find_map(|entry| {
        let Record::Decided { by, decision } = &entry.record else { return None };
        let kind = match decision {
            Decision::Cancel => ReviewDecisionKind::Cancelled,
            Decision::Resume { .. } => ReviewDecisionKind::Resumed,
            Decision::Waive { .. } => ReviewDecisionKind::Waived,
            Decision::Answer { answer: Answer::Done } => ReviewDecisionKind::Accepted,
            Decision::Answer { answer: Answer::Fix { .. } } => ReviewDecisionKind::SentBack,
        };
        Some(view(entry.at, by, kind))
    });
    let landed = landed.map(|landed| view(landed.at, &landed.by, ReviewDecisionKind::Landed));
    let archived = archived.map(|archived| view(archived.at, &archived.by, ReviewDecisionKind::Archived));
    [decided, landed, archived].into_iter().flatten().max_by_key(|decision| decision.at)
}

fn attention(phase: &Phase) -> Option<ReviewAttention> {
    let Phase::NeedsAttention { why } = phase else { return None };
    Some(match why {
        Attention::RoundsUsed { .. } => ReviewAttention::RoundsUsed,
        Attention::BudgetUsed => ReviewAttention::BudgetUsed,
        Attention::BlockedOnHuman { .. } => ReviewAttention::BlockedOnHuman,
        Attention::Dispute { .. } => ReviewAttention::Dispute,
        Attention::Reseeding => ReviewAttention::Reseeding,
        Attention::GateStuck { .. } => ReviewAttention::GateStuck,
        Attention::NoVerdict { .. } => ReviewAttention::NoVerdict,
        Attention::TreeChanged { .. } => ReviewAttention::TreeChanged,
        Attention::InstructionsChanged { .. } => ReviewAttention::InstructionsChanged,
        Attention::Refused { .. } => ReviewAttention::Refused,
    })
}

fn phase(phase: &Phase) -> ReviewPhase {
    match phase {
        Phase::Queued => ReviewPhase::Queued,
        Phase::Preparing => ReviewPhase::Preparing,
        Phase::Building { .. } => ReviewPhase::Building,
        Phase::Gating { .. } => ReviewPhase::Gating,
        Phase::Reviewing { .. } => ReviewPhase::Reviewing,
        Phase::Done { .. } => ReviewPhase::Done,
        Phase::NeedsAttention { .. } => ReviewPhase::NeedsAttention,
        Phase::Cancelled { .. } => ReviewPhase::Cancelled,
        Phase::Failed { .. } => ReviewPhase::Failed,
    }
}
