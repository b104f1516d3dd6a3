//! Convergence on sequences of reviewer outputs, beside the loop that only counts rounds.
//!
//! `sequences.toml` holds what a reviewer answers and what the builder changes, round by round. The reviewer does not
//! react to the ledger: it repeats itself, finds something new in every round, or asks for what nobody can do, as real
//! ones did. The table shows where each loop ends and how many issues the builder was asked to handle.

use std::fmt::Write as _;

use belay_core::Timestamp;
use belay_core::session::Budget;
use belay_core::task::{Journalled as _, Machine as _, Spend, WorkspaceMode};
use belay_review::convergence::Policy;
use belay_review::diff::ChangedLines;
use belay_review::task::{
    Attention, Built, DoneBy, Next, Phase, Record, ReviewKind, Role, Step, StepOutcome, Task, TaskSpec,
};
use belay_review::verdict::{Verdict, VerdictStatus};
use serde::Deserialize;

#[derive(Deserialize)]
struct Sequences {
    sequence: Vec<Sequence>,
}

#[derive(Deserialize)]
struct Sequence {
    name: String,
    /// A repeats, B reseeding, C out of reach, D dispute, or `-` for loops that converge by themselves.
    cause: String,
    /// The reviewer's output by round. The last one is repeated.
    reviews: Vec<String>,
    /// What the builder changes by round, as `file:first-last` or `file:first-last=content`. The last one is repeated.
    edits: Vec<Vec<String>>,
    /// The reviewer's output in the final review; that of the round by default.
    last: Option<String>,
    /// The output of a third reviewer.
    arbiter: Option<String>,
    /// How Belay's loop ends.
    end: String,
}

/// Rounds that both loops may take.
const ROUNDS: u32 = 10;

fn nth<T>(items: &[T], round: u32) -> &T {
    let index = usize::try_from(round).unwrap() - 1;
    items.get(index).or(items.last()).expect("a sequence has at least one entry")
}

/// The loop that Belay replaces: it ends at the reviewer's word or at the cap.
fn naive(sequence: &Sequence) -> (u32, usize, &'static str) {
    let mut handled = 0;
    for round in 1..=ROUNDS {
        let verdict = Verdict::parse(nth::<String>(&sequence.reviews, round));
        match verdict {
            Ok(Verdict { status: VerdictStatus::Done, .. }) => return (round, handled, "done"),
            Ok(verdict) => handled += verdict.issues.len().max(1),
            Err(_) => handled += 1,
        }
    }
    (ROUNDS, handled, "round cap")
}

fn tree(round: u32) -> String {
    format!("tree {round}")
}

fn built(sequence: &Sequence, round: u32) -> Built {
    let edits = nth(&sequence.edits, round);
    let (mut diff, mut contents) = (String::new(), Vec::new());
    for edit in edits {
        let (place, content) = edit.split_once('=').unwrap_or((edit, ""));
        let (file, lines) = place.split_once(':').expect("an edit names lines");
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
        let len = last - first + 1;
        writeln!(diff, "--- a/{file}\n+++ b/{file}\n@@ -{first},{len} +{first},{len} @@").unwrap();
        diff.push_str(&"-old\n".repeat(len as usize));
        diff.push_str(&"+new\n".repeat(len as usize));
        // Content that is not named is new in every round.
        let content = if content.is_empty() { format!("round {round}") } else { content.to_owned() };
        contents.push((file.to_owned(), content));
    }
    Built {
        tree: tree(round),
        changed: !edits.is_empty(),
        lines: Some(ChangedLines::parse(&diff)),
        contents: contents.into_iter().collect(),
        objections: Vec::new(),
    }
}

fn review(sequence: &Sequence, round: u32, kind: ReviewKind) -> StepOutcome {
    let output = match kind {
        ReviewKind::Arbitration => sequence.arbiter.as_ref().expect("only a sequence with an arbiter asks it"),
        ReviewKind::Final => sequence.last.as_ref().unwrap_or_else(|| nth(&sequence.reviews, round)),
        ReviewKind::Full | ReviewKind::Delta => nth(&sequence.reviews, round),
    };
    match Verdict::parse(output) {
        Ok(verdict) => StepOutcome::Reviewed { verdict, tree: tree(round) },
        Err(error) => StepOutcome::Unparsed { error: error.to_string(), output: output.clone(), session: None },
    }
}

fn run(sequence: &Sequence) -> Task {
    let role = |agent: &str| Role { agent: agent.to_owned(), model: None };
    let spec = TaskSpec {
        title: sequence.name.clone(),
        prompt: "Build it.".to_owned(),
        project_dir: "/project".to_owned(),
        builder: role("claude-code"),
        reviewers: vec![role("codex")],
        arbiter: sequence.arbiter.as_ref().map(|_| role("gemini")),
        quorum: None,
        gates: Vec::new(),
        rounds: ROUNDS,
        round_timeout_secs: 1800,
        budget: Budget::default(),
        workspace: WorkspaceMode::Worktree,
        policy: Policy::default(),
    };
    let mut now = 0;
    let mut task = Task::new(spec, Timestamp::from_millis(now)).unwrap();
    while let Next::Start(run) = task.next(Timestamp::from_millis(now)) {
        now += 1;
        let outcome = match &run.step {
            Step::Prepare => StepOutcome::Prepared,
            Step::Build { round } => StepOutcome::Built(built(sequence, *round)),
            Step::Review { round, kind, .. } => review(sequence, *round, *kind),
            Step::Gate { .. } => unreachable!("the tasks have no gates"),
        };
        let (step, attempt) = (run.step, run.attempt);
        task.apply(Timestamp::from_millis(now), &Record::Started { step: step.clone(), attempt }).unwrap();
        let finished = Record::Finished { step, attempt, outcome, spend: Spend::default() };
        task.apply(Timestamp::from_millis(now), &finished).unwrap();
    }
    task
}

fn end(task: &Task) -> String {
    match &task.phase {
        Phase::Done { by: DoneBy::Reviewers { .. } } => match task.ledger.follow_ups().count() {
            0 => "done".to_owned(),
            count => format!("done, {count} follow-up{}", if count == 1 { "" } else { "s" }),
        },
        Phase::NeedsAttention { why: Attention::Dispute { how } } => {
            format!("person: {}", serde_json::to_value(how).unwrap().as_str().unwrap().replace('_', " "))
        }
        Phase::NeedsAttention { why: Attention::BlockedOnHuman { action, .. } } => format!("person: {action}"),
        Phase::NeedsAttention { why: Attention::Reseeding } => "person: reseeding".to_owned(),
        Phase::NeedsAttention { why: Attention::RoundsUsed { .. } } => "round cap".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn loops_end_for_a_reason_and_earlier_than_by_counting() {
    let sequences: Sequences = toml::from_str(include_str!("sequences.toml")).unwrap();
    assert!(sequences.sequence.len() >= 20);
    let mut table = format!(
        "{:<50} {:^5} | {:>6} {:>7} {:<9} | {:>6} {:>7}  end\n",
        "sequence", "cause", "rounds", "issues", "end", "rounds", "issues"
    );
    let (mut naive_rounds, mut rounds, mut naive_issues, mut issues) = (0, 0, 0, 0);
    for sequence in &sequences.sequence {
        let (before, handled, naive_end) = naive(sequence);
        let task = run(sequence);
        let end = end(&task);
        assert_eq!(end, sequence.end, "{}\n{:#?}", sequence.name, task.ledger);
        let taken = u32::try_from(task.rounds.len()).unwrap();
        let asked = task.ledger.issues().len() - task.ledger.follow_ups().count();
        assert!(taken <= before, "{}: {taken} rounds instead of {before}", sequence.name);
        writeln!(
            table,
            "{:<50} {:^5} | {before:>6} {handled:>7} {naive_end:<9} | {taken:>6} {asked:>7}  {end}",
            sequence.name, sequence.cause
        )
        .unwrap();
        naive_rounds += before;
        rounds += taken;
        naive_issues += handled;
        issues += asked;
    }
    writeln!(
        table,
        "{:<50} {:^5} | {naive_rounds:>6} {naive_issues:>7} {:<9} | {rounds:>6} {issues:>7}",
        "total", "", ""
    )
    .unwrap();
    insta::assert_snapshot!(table);
}
