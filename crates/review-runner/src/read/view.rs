//! One task with everything that happened to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use belay_core::task::Spend;
use belay_core::{Excerpt, format};
use belay_drive::workspace::Workspace;
use belay_ipc::views::{
    self, BuiltView, GateView, ReviewDecisionView, ReviewIssueView, ReviewRoundView, ReviewView, ReviewerAnswer,
    ReviewerView, RoleSpendView, RunningStepView,
};
use belay_review::Task;
use belay_review::ledger::{FollowUp, Issue, IssueState};
use belay_review::task::{
    Answer, Attention, BuildStart, Decision, Phase, Record, Review, ReviewKind, Round, Step, role,
};
use belay_review::verdict::VerdictStatus;
use belay_tasks::agent_output::RunOutput;

use super::summary;
use crate::error::RunnerError;
use crate::task_dir::{self, FiledTask, JournalEntry, TaskDir};

/// Lines of live output that a view has.
const MAX_OUTPUT_LINES: usize = 60;
/// Longest text of a person or an agent in a view.
const MAX_TEXT_BYTES: usize = 4000;

/// Reads a task. Texts are redacted; the artifacts are not.
pub fn view(dir: &TaskDir) -> Result<ReviewView, RunnerError> {
    let replayed = dir.replay::<Task>()?;
    let (filed, task, journal) = (&replayed.filed, &replayed.machine, &replayed.entries);
    let workspace: Option<Workspace> = dir.read_json("workspace.json")?;
    let artifacts = task_dir::artifacts(&filed.artifacts);
    let costs = RoundCosts::new(task, journal);
    let has_diff = |round: u32| artifacts.iter().any(|artifact| artifact.name == format!("{round:02}.diff"));
    let rounds = task.rounds.iter().map(|round| round_view(filed, round, &costs, has_diff(round.number)));
    Ok(ReviewView {
        summary: summary(replayed.view(dir)),
        prompt: redacted(&task.spec.prompt),
        gates: task.spec.gates.iter().map(|gate| redacted(gate)).collect(),
        arbiter: task.spec.arbiter.as_ref().map(|role| role.agent.clone()),
        quorum: task.spec.quorum.unwrap_or_else(|| count(task.spec.reviewers.len())),
        workspace: task.spec.workspace,
        dir: workspace
            .filter(|workspace| workspace.dir().exists())
            .map(|workspace| workspace.dir().display().to_string()),
        artifacts_dir: filed.artifacts.display().to_string(),
        rounds: rounds.collect(),
        issues: task.ledger.issues().iter().map(issue_view).collect(),
        roles: costs.roles,
        running: running(dir, task),
        decisions: journal.iter().filter_map(decision_view).collect(),
        dispute: dispute(task),
        artifacts,
    })
}

fn redacted(text: &str) -> String {
    Excerpt::with_limit(text, MAX_TEXT_BYTES).as_str().to_owned()
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}

/// What rounds and roles cost, from the journal.
struct RoundCosts {
    rounds: BTreeMap<u32, Spend>,
    roles: Vec<RoleSpendView>,
}

impl RoundCosts {
    fn new(task: &Task, journal: &[JournalEntry]) -> Self {
        let mut costs = Self { rounds: BTreeMap::new(), roles: Vec::new() };
        for entry in journal {
            let (Record::Finished { step, spend, .. } | Record::Interrupted { step, spend, .. }) = &entry.record else {
                continue;
            };
            if let Some(round) = step.round() {
                let total = costs.rounds.entry(round).or_default();
                *total = total.plus(spend);
            }
            if matches!(step, Step::Prepare) {
                continue;
            }
            let name = role(step, &task.spec.builder.agent);
            let index = costs.roles.iter().position(|role| role.role == name).unwrap_or_else(|| {
                costs.roles.push(RoleSpendView { role: name, ..RoleSpendView::default() });
                costs.roles.len() - 1
            });
            let role = &mut costs.roles[index];
            role.runs += 1;
            role.millis = role.millis.saturating_add(spend.millis);
            role.tokens = role.tokens.saturating_add(spend.tokens);
            role.cost_micros = role.cost_micros.saturating_add(spend.micros);
        }
        costs
    }
}

fn round_view(filed: &FiledTask, round: &Round, costs: &RoundCosts, has_diff: bool) -> ReviewRoundView {
    let spend = costs.rounds.get(&round.number).copied().unwrap_or_default();
    let answered = round.reviews.iter().map(reviewer_view);
    let missing = round.no_verdict.iter().map(|(reviewer, why)| ReviewerView {
        reviewer: reviewer.clone(),
        kind: views::ReviewKind::Full,
        answer: ReviewerAnswer::NoVerdict,
        issues: 0,
        note: Some(redacted(why)),
    });
    ReviewRoundView {
        number: round.number,
        intervention: intervention(round),
        built: round.built.as_ref().map(|built| {
            let (added, removed) = line_counts(filed, round.number);
            BuiltView {
                tree: built.tree.clone(),
                changed: built.changed,
                files: count(built.contents.len()),
                added,
                removed,
            }
        }),
        gates: round
            .gates
            .iter()
            .map(|gate| GateView {
                command: redacted(&gate.command),
                passed: gate.passed,
                summary: redacted(&gate.summary),
            })
            .collect(),
        reviews: answered.chain(missing).collect(),
        open: round.facts.open,
        cost_micros: spend.micros,
        tokens: spend.tokens,
        millis: spend.millis,
        has_diff,
    }
}

/// Added and removed lines of a round's diff.
fn line_counts(filed: &FiledTask, round: u32) -> (u32, u32) {
    let diff = task_dir::read_artifact(&filed.artifacts, &format!("{round:02}.diff")).unwrap_or_default();
    let (mut added, mut removed) = (0_u32, 0_u32);
    for line in diff.split(|byte| *byte == b'\n') {
        match line {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => {}
            [b'+', ..] => added += 1,
            [b'-', ..] => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}

fn intervention(round: &Round) -> Option<String> {
    match &round.start {
        BuildStart::Continue if round.has_leftovers => Some("continues an attempt that stopped half-way".to_owned()),
        BuildStart::Continue => None,
        BuildStart::Reverted { fix_of } => {
            Some(format!("reverted the fix of round {fix_of} and asked for a failing test"))
        }
        BuildStart::Upheld { issues } => {
            let ids: Vec<String> = issues.iter().map(ToString::to_string).collect();
            Some(format!("the arbiter confirmed {}", ids.join(", ")))
        }
    }
}

fn reviewer_view(review: &Review) -> ReviewerView {
    let (answer, note) = match &review.verdict.status {
        _ if review.verdict.unparsed => (ReviewerAnswer::Unreadable, None),
        VerdictStatus::Done => (ReviewerAnswer::Done, None),
        VerdictStatus::IssuesFound => (ReviewerAnswer::IssuesFound, None),
        VerdictStatus::BlockedOnHuman { action } => (ReviewerAnswer::BlockedOnHuman, Some(redacted(action))),
    };
    ReviewerView {
        reviewer: review.reviewer.clone(),
        kind: kind(review.kind),
        answer,
        issues: count(review.verdict.issues.len()),
        note,
    }
}

fn kind(kind: ReviewKind) -> views::ReviewKind {
    match kind {
        ReviewKind::Full => views::ReviewKind::Full,
        ReviewKind::Delta => views::ReviewKind::Delta,
        ReviewKind::Final => views::ReviewKind::Final,
        ReviewKind::Arbitration => views::ReviewKind::Arbitration,
    }
}

fn issue_view(issue: &Issue) -> ReviewIssueView {
    let (closed_in, reason) = match &issue.state {
        IssueState::Open => (None, None),
        IssueState::Fixed { round, .. } => (Some(*round), None),
        IssueState::Rejected { reason, round } => (Some(*round), Some(redacted(reason))),
        IssueState::Waived { by, why } => (None, Some(format!("by {by}: {}", redacted(why)))),
        IssueState::FollowUp { why: FollowUp::NotIntroduced } => {
            (None, Some("existed before the first review".to_owned()))
        }
        IssueState::FollowUp { why: FollowUp::BelowFloor } => (None, Some("too minor for this round".to_owned())),
    };
    ReviewIssueView {
        id: issue.id.to_string(),
        severity: issue.severity.to_string(),
        place: issue.place.as_ref().map(ToString::to_string),
        claim: redacted(&issue.claim),
        evidence: issue.evidence.last().map(|evidence| redacted(evidence)),
        provenance: issue.provenance.to_string(),
        raised_by: issue.raised_by.clone(),
        raised_in: issue.raised_in,
        last_raised: issue.last_raised,
        state: issue.state.name().to_owned(),
        closed_in,
        state_reason: reason,
        objection: issue.objection.as_deref().map(redacted),
    }
}

fn running(dir: &TaskDir, task: &Task) -> Option<RunningStepView> {
    let running = task.running()?;
    let output = RunOutput::read_tail(&dir.run_file(running.attempt, "jsonl")).unwrap_or_default();
    let actor = match &running.step {
        Step::Prepare => "belay".to_owned(),
        Step::Build { .. } => task.spec.builder.agent.clone(),
        Step::Gate { gate, .. } => task.spec.gates.get(*gate).map(|gate| redacted(gate)).unwrap_or_default(),
        Step::Review { reviewer, .. } => reviewer.clone(),
    };
    let skipped = output.lines.len().saturating_sub(MAX_OUTPUT_LINES);
    Some(RunningStepView {
        step: running.step.to_string(),
        session: RunOutput::read_session(&dir.run_file(running.attempt, "jsonl")).map(|id| format!("{actor}:{id}")),
        actor,
        since: running.since,
        output: output.lines.into_iter().skip(skipped).collect(),
    })
}

fn decision_view(entry: &JournalEntry) -> Option<ReviewDecisionView> {
    let Record::Decided { by, decision } = &entry.record else { return None };
    let what = match decision {
        Decision::Cancel => "cancelled".to_owned(),
        Decision::Resume { rounds: None, budget: None } => "resumed".to_owned(),
        Decision::Resume { rounds, budget } => {
            let rounds = rounds.map(|rounds| format::pluralize(rounds.into(), "round"));
            let money = budget.and_then(|budget| budget.cost_micros).map(format::dollars);
            let tokens = budget.and_then(|budget| budget.tokens).map(format::tokens);
            let limits: Vec<String> = [rounds, money, tokens].into_iter().flatten().collect();
            format!("resumed with {}", format::list_of(&limits))
        }
        Decision::Waive { issue, why } => format!("waived {issue}: {}", redacted(why)),
        Decision::Answer { answer: Answer::Done } => "accepted the work".to_owned(),
        Decision::Answer { answer: Answer::Fix { text } } => format!("asked for a fix: {}", redacted(text)),
    };
    Some(ReviewDecisionView { at: entry.at, by: by.clone(), what })
}

/// One page for the person who decides: the open issues, what their reviewers say, and what the builder says.
fn dispute(task: &Task) -> Option<String> {
    let Phase::NeedsAttention {
        why: why @ (Attention::Dispute { .. } | Attention::Reseeding | Attention::RoundsUsed { .. }),
    } = &task.phase
    else {
        return None;
    };
    let open = task.ledger.open();
    let mut text = format!(
        "After {}: {}.\n",
        format::pluralize(task.rounds.len() as u64, "round"),
        super::sentences::attention(why, task)
    );
    for issue in open {
        let place = issue.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let _ = write!(text, "\n{} [{}]{place}\n", issue.id, issue.severity);
        let _ = writeln!(text, "  Raised by {}: {}", issue.raised_by.join(", "), redacted(&issue.claim));
        if let Some(evidence) = issue.evidence.last() {
            let _ = writeln!(text, "  Evidence: {}", redacted(evidence));
        }
        let builder = &task.spec.builder.agent;
        let objection = match &issue.objection {
            Some(objection) => format!("Objection of {builder}: {}", redacted(objection)),
            None => format!("{builder} did not object."),
        };
        let _ = writeln!(text, "  {objection}");
        let rounds = match (issue.raised_in, issue.last_raised) {
            (first, last) if first == last => format!("round {first}"),
            (first, last) => format!("rounds {first} to {last}"),
        };
        let _ = writeln!(text, "  Raised in {rounds}.");
    }
    text.push_str("\nWaive an issue, ask for a fix in your own words, or accept the work as it is.\n");
    Some(text)
}
