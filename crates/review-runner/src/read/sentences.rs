//! What a task does, waits for, or why it ended, in one sentence.
//!
//! Paths and commands are in backticks, which the dashboard shows as code.

use belay_agents::display_name;
use belay_core::wait::Awaited;
use belay_core::{Excerpt, format};
use belay_review::Task;
use belay_review::convergence::Dispute;
use belay_review::task::{Attention, DoneBy, Phase, ReviewKind, Running, Step};
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
        Phase::NeedsAttention { why } => attention(why),
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

pub(crate) fn attention(why: &Attention) -> String {
    match why {
        Attention::RoundsUsed { rounds: 1 } => "issues are open after the only round".to_owned(),
        Attention::RoundsUsed { rounds } => format!("issues are open after all {rounds} rounds"),
        Attention::BudgetUsed => "the budget is used up".to_owned(),
        Attention::BlockedOnHuman { reviewer, action } => {
            format!("{} needs a person: {}", display_name(reviewer), action.trim_end_matches('.'))
        }
        Attention::Dispute { how } => match how {
            Dispute::Unchanged => "the builder no longer changes anything, and issues are open".to_owned(),
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
