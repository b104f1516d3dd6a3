//! What a task does, waits for, or why it ended, in one sentence.
//!
//! Paths and commands are in backticks, which the dashboard shows as code.

use belay_agents::display_name;
use belay_core::wait::Awaited;
use belay_core::{Excerpt, format};
use belay_review::Task;
use belay_review::convergence::Dispute;
use belay_review::task::{Attention, DoneBy, Phase, ReviewKind, Round, Running, Step};
use belay_review::verdict::VerdictStatus;

/// Open issues that a message lists.
const MAX_LISTED_ISSUES: usize = 10;

/// The state of a task as a sentence.
pub(crate) fn status(task: &Task) -> String {
    format::sentence(&clause(task))
}

fn clause(task: &Task) -> String {
    if let Some(waiting) = task.waiting() {
        return match waiting {
            Awaited::Limit { account, until } => format!("waits until {until}: usage limit of {account}"),
            Awaited::Lock { holder } => format!("waits for {holder}, which works in the same directory"),
            Awaited::Time { at } => format!("waits until {at}"),
            Awaited::File { path } => format!("waits for the file {path}"),
            Awaited::Command { command, .. } => format!("waits until `{command}` succeeds"),
            Awaited::Process { pid, .. } => format!("waits until process {pid} has exited"),
            Awaited::Pause { session, reason } => format!("`{session}` is paused: {}", reason.trim_end_matches('.')),
        };
    }
    match &task.phase {
        Phase::Queued => "waits for a worker".to_owned(),
        Phase::Preparing => "prepares the workspace".to_owned(),
        Phase::Building { round } => {
            format!("{} builds round {round}", display_name(&task.spec.builder.agent))
        }
        Phase::Gating { round } => format!("runs the gates of round {round}"),
        Phase::Reviewing { round } => match task.running() {
            Some(Running { step: Step::Review { reviewer, kind, .. }, .. }) => {
                let what = match kind {
                    ReviewKind::Final => "does the final review of round",
                    ReviewKind::Arbitration => "decides the dispute of round",
                    ReviewKind::Full | ReviewKind::Delta => "reviews round",
                };
                format!("{} {what} {round}", display_name(reviewer))
            }
            _ => format!("the review of round {round} is next"),
        },
        Phase::Done { by } => done(by, task),
        Phase::NeedsAttention { why } => attention(why, task),
        Phase::Cancelled { by } => format!("cancelled by {by}"),
        Phase::Failed { why } => format!("failed in {}", why.trim_end_matches('.')),
    }
}

/// What a result lacks to be approved: empty if reviewers, gates or a person have ended the task.
pub(crate) fn missing_approval(task: &Task) -> Vec<String> {
    if matches!(task.phase, Phase::Done { .. }) {
        return Vec::new();
    }
    let mut missing = vec![Excerpt::new(&clause(task)).as_str().to_owned()];
    let open = task.ledger.open();
    missing.extend(open.iter().take(MAX_LISTED_ISSUES).map(|issue| {
        let place = issue.place.as_ref().map_or_else(String::new, |place| format!(" {place}:"));
        let claim = issue.claim.lines().next().unwrap_or_default();
        format!("{} [{}]{place} {}", issue.id, issue.severity, Excerpt::new(claim).as_str())
    }));
    if open.len() > MAX_LISTED_ISSUES {
        missing.push(format!("{} more open issues", open.len() - MAX_LISTED_ISSUES));
    }
    let Some(round) = task.rounds.iter().rev().find(|round| round.built.is_some()) else { return missing };
    let failed = round.gates.iter().filter(|gate| !gate.passed);
    missing.extend(failed.map(|gate| format!("`{}` fails", Excerpt::new(&gate.command).as_str())));
    let approves = |agent: &String| {
        let mut reviews = round.reviews.iter().rev();
        reviews
            .find(|review| review.reviewer == *agent)
            .is_some_and(|review| review.verdict.status == VerdictStatus::Done)
    };
    let reviewers = task.spec.reviewers.iter().map(|role| &role.agent).filter(|agent| !approves(agent));
    missing.extend(reviewers.map(|agent| format!("{} has not approved it", display_name(agent))));
    missing
}

/// Agents in a sentence.
pub(crate) fn named(agents: &[String]) -> String {
    format::list_of(&agents.iter().map(|agent| display_name(agent)).collect::<Vec<_>>())
}

fn done(by: &DoneBy, task: &Task) -> String {
    let rounds = format::pluralize(task.rounds.len() as u64, "round");
    match by {
        DoneBy::Reviewers { names } => format!("approved by {} after {rounds}", named(names)),
        DoneBy::Gates => format!("all gates passed after {rounds}"),
        DoneBy::Person { name } => format!("accepted by {name} after {rounds}"),
    }
}

/// What keeps a task from being done: its open issues, or else the gate that fails.
fn unsolved(task: &Task) -> String {
    match task.current_round().and_then(Round::red_gate) {
        Some(gate) if task.ledger.open().is_empty() => format!("`{}` fails", gate.command),
        _ => "issues are open".to_owned(),
    }
}

pub(crate) fn attention(why: &Attention, task: &Task) -> String {
    match why {
        Attention::RoundsUsed { rounds: 1 } => format!("{} after the only round", unsolved(task)),
        Attention::RoundsUsed { rounds } => format!("{} after all {rounds} rounds", unsolved(task)),
        Attention::BudgetUsed => "the budget is used up".to_owned(),
        Attention::BlockedOnHuman { reviewer, action } => {
            format!("{} needs a person: {}", display_name(reviewer), action.trim_end_matches('.'))
        }
        Attention::Dispute { how } => match how {
            Dispute::Unchanged => format!("the builder no longer changes anything, and {}", unsolved(task)),
            Dispute::BackAndForth => "the builder changes the same files back and forth".to_owned(),
            Dispute::NoProgress => "several rounds closed no issue".to_owned(),
        },
        Attention::Reseeding => "fixes keep introducing new issues, even after one was reverted".to_owned(),
        Attention::GateStuck { gate } => format!("the gate fails in the same way every round: {gate}"),
        Attention::NoVerdict { reviewer, why } => {
            format!("{} gave no verdict: {}", display_name(reviewer), why.trim_end_matches('.'))
        }
        Attention::TreeChanged { reviewer } => format!("files changed during the review by {}", display_name(reviewer)),
        Attention::InstructionsChanged { reviewer, files } => format!(
            "the builder changed instruction files of {}: {}; review them, then resume to accept them, or ask for a fix",
            display_name(reviewer),
            files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
        ),
        Attention::Refused { role, why } => format!("the {role} cannot run without you: {}", why.trim_end_matches('.')),
    }
}

#[cfg(test)]
mod tests {
    use belay_core::Timestamp;
    use belay_core::session::Budget;
    use belay_core::task::{GateResult, Journalled as _, Machine as _, Next, Record, Spend, WorkspaceMode};
    use belay_review::convergence::Policy;
    use belay_review::task::{Built, Role, StepOutcome, TaskSpec};

    use super::*;

    #[test]
    fn a_gate_that_fails_is_named_if_no_issue_is_open() {
        let role = |agent: &str| Role { agent: agent.to_owned(), model: None };
        let spec = TaskSpec {
            title: "Add a cache".to_owned(),
            prompt: "Add a cache.".to_owned(),
            project_dir: "/project".to_owned(),
            builder: role("claude-code"),
            reviewers: vec![role("codex")],
            arbiter: None,
            quorum: None,
            gates: vec!["cargo test".to_owned()],
            rounds: 1,
            round_timeout_secs: 60,
            budget: Budget::default(),
            workspace: WorkspaceMode::Worktree,
            policy: Policy::default(),
        };
        let now = Timestamp::UNKNOWN;
        let mut task = Task::new(spec, now).unwrap();
        let tree = "a".to_owned();
        let gate =
            GateResult { command: "cargo test".to_owned(), tree: tree.clone(), passed: false, summary: String::new() };
        let built = Built { tree, changed: true, ..Built::default() };
        for outcome in [StepOutcome::Prepared, StepOutcome::Built(built), StepOutcome::Gated(gate)] {
            let Next::Start(run) = task.next(now) else { panic!("nothing to start") };
            let (step, attempt, spend) = (run.step.clone(), run.attempt, Spend::default());
            task.apply(now, &Record::Started { step: run.step, attempt }).unwrap();
            task.apply(now, &Record::Finished { step, attempt, outcome, spend }).unwrap();
        }
        assert_eq!(status(&task), "`cargo test` fails after the only round.");
    }
}
