//! Views of tasks, from their files: the resident process, the CLI and the dashboard show the same.

mod sentences;
mod view;

use std::path::Path;

use belay_core::task::WorkspaceMode;
use belay_core::{Excerpt, Timestamp};
use belay_ipc::ReviewsRequest;
use belay_ipc::views::{
    NewestDecisionView, ReviewAttention, ReviewDecisionKind, ReviewPhase, ReviewSummaryView, ReviewsView,
};
use belay_review::Task;
use belay_review::task::{Answer, Attention, Decision, Fact, Phase, Record};
use belay_tasks::agent_output::RunOutput;
use belay_tasks::list::{self, SummaryCache};
use belay_tasks::{TaskDir, pause_file};

pub use belay_tasks::list::newest_change;
pub(crate) use sentences::{missing_approval, named};
pub use view::view;

use crate::error::RunnerError;
use crate::reviews::{NAMES, Reviews};
use crate::task_dir::{JournalEntry, ResultFile, TaskView};

/// Tasks that a list shows if the caller does not say.
const DEFAULT_LIMIT: usize = 50;

/// The directories of all tasks.
pub fn task_dirs(root: &Path) -> Vec<TaskDir> {
    list::task_dirs(root, &NAMES)
}

/// Tasks, newest first; without what only the resident process knows.
pub fn list(root: &Path, request: &ReviewsRequest) -> ReviewsView {
    let tasks = list::summaries::<Reviews>(root, &mut SummaryCache::default());
    view_of(tasks, pause_file(root).exists(), request)
}

pub(crate) fn view_of(mut tasks: Vec<ReviewSummaryView>, paused: bool, request: &ReviewsRequest) -> ReviewsView {
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
    ReviewsView { paused, workers: 0, queue_depth: 0, running, queued, tasks, total }
}

/// The task with this id, or with the only id that begins like this.
pub fn resolve(root: &Path, name: &str) -> Result<TaskDir, RunnerError> {
    Ok(list::resolve(root, &NAMES, name)?)
}

/// The step that runs, by the number of its attempt, and everything that its agent has said so far.
pub fn output(dir: &TaskDir) -> Option<(u32, Vec<String>)> {
    let attempt = dir.replay::<Task>().ok()?.machine.running()?.attempt;
    let output = RunOutput::read(&dir.run_file(attempt, "jsonl")).ok()?;
    Some((attempt, output.lines))
}

/// The summary of a task.
pub(crate) fn summary(TaskView { dir, filed, machine: task, entries: journal }: TaskView<'_>) -> ReviewSummaryView {
    let spec = &task.spec;
    let spent = task.total_spent();
    let in_place = spec.workspace == WorkspaceMode::InPlace;
    let result = ResultFate::new(dir, journal);
    let decided = newest_decision(journal, &result);
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
        landed: (in_place && matches!(task.phase, Phase::Done { .. })) || result.landed.is_some(),
        // A task that went on afterwards has another result.
        archived: result.archived.is_some_and(|(at, _)| at >= task.since),
        decided,
    }
}

/// When a result landed or was archived last, and by whom.
struct ResultFate {
    landed: Option<(Timestamp, String)>,
    archived: Option<(Timestamp, String)>,
}

impl ResultFate {
    /// From the journal; earlier versions wrote files.
    fn new(dir: &TaskDir, journal: &[JournalEntry]) -> Self {
        let mut fate = Self { landed: None, archived: None };
        for entry in journal {
            match &entry.record {
                Record::Observed { fact: Fact::Landed { by, .. } } => fate.landed = Some((entry.at, by.clone())),
                Record::Observed { fact: Fact::Archived { by } } => fate.archived = Some((entry.at, by.clone())),
                _ => {}
            }
        }
        let file = |name| {
            let record: Option<ResultFile> = dir.read_json(name).ok().flatten();
            record.map(|record| (record.at, record.by))
        };
        fate.landed = fate.landed.or_else(|| file("landed.json"));
        fate.archived = fate.archived.or_else(|| file("archived.json"));
        fate
    }
}

/// What a person did last, with the task or with its result.
fn newest_decision(journal: &[JournalEntry], result: &ResultFate) -> Option<NewestDecisionView> {
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
    let landed = result.landed.as_ref().map(|(at, by)| view(*at, by, ReviewDecisionKind::Landed));
    let archived = result.archived.as_ref().map(|(at, by)| view(*at, by, ReviewDecisionKind::Archived));
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
