mod decisions;

use belay_core::task::{GateResult, Journalled as _, Machine as _, StepError, StepFailure, WorkspaceMode};
use proptest::prelude::*;

use super::*;
use crate::convergence::Policy;
use crate::verdict::{RaisedIssue, Verdict, VerdictStatus};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn role(agent: &str) -> Role {
    Role { agent: agent.to_owned(), model: None }
}

fn spec(reviewers: &[&str], gates: &[&str]) -> TaskSpec {
    TaskSpec {
        title: "Add a cache".to_owned(),
        prompt: "Add a cache to the client.".to_owned(),
        project_dir: "/project".to_owned(),
        builder: role("claude-code"),
        reviewers: reviewers.iter().map(|agent| role(agent)).collect(),
        arbiter: None,
        quorum: None,
        gates: gates.iter().map(|gate| (*gate).to_owned()).collect(),
        rounds: 4,
        round_timeout_secs: 1800,
        budget: Budget::default(),
        workspace: WorkspaceMode::Worktree,
        policy: Policy::default(),
    }
}

/// A review that leaves the tree of the build as it is; see [`Runner::step`].
fn reviewed(verdict: Verdict) -> StepOutcome {
    StepOutcome::Reviewed { verdict, tree: UNCHANGED.to_owned() }
}

const UNCHANGED: &str = "as built";

fn done() -> StepOutcome {
    reviewed(Verdict { status: VerdictStatus::Done, issues: Vec::new(), unparsed: false })
}

fn issues(claims: &[&str]) -> StepOutcome {
    let raised = claims.iter().map(|claim| RaisedIssue { claim: (*claim).to_owned(), ..RaisedIssue::default() });
    let issues = raised.collect();
    reviewed(Verdict { status: VerdictStatus::IssuesFound, issues, unparsed: false })
}

fn built(tree: &str) -> StepOutcome {
    StepOutcome::Built(Built { tree: tree.to_owned(), changed: true, ..Built::default() })
}

fn gated(tree: &str, passed: bool) -> StepOutcome {
    let summary = if passed { "passed" } else { "1 of 3 failed" };
    StepOutcome::Gated(GateResult {
        command: "cargo test".to_owned(),
        tree: tree.to_owned(),
        passed,
        summary: summary.to_owned(),
    })
}

/// The outcome, with the tree of the task's build.
fn on_tree_of(task: &Task, outcome: StepOutcome) -> StepOutcome {
    match outcome {
        StepOutcome::Reviewed { verdict, tree } if tree == UNCHANGED => {
            let built = task.current_round().and_then(|round| round.built.as_ref());
            StepOutcome::Reviewed { verdict, tree: built.map_or(tree, |built| built.tree.clone()) }
        }
        other => other,
    }
}

/// Runs a task on virtual time, one outcome per step.
struct Runner {
    task: Task,
    now: i64,
}

impl Runner {
    fn new(spec: TaskSpec) -> Self {
        Self { task: Task::new(spec, at(0)).unwrap(), now: 0 }
    }

    fn record(&mut self, record: &Record) {
        self.now += 1;
        self.task.apply(at(self.now), record).unwrap();
    }

    /// Runs the next step, and returns what it was.
    fn step(&mut self, outcome: StepOutcome) -> String {
        let Next::Start(run) = self.task.next(at(self.now)) else { panic!("{:?}", self.task.next(at(self.now))) };
        let (step, attempt) = (run.step, run.attempt);
        self.record(&Record::Started { step: step.clone(), attempt });
        let outcome = on_tree_of(&self.task, outcome);
        self.record(&Record::Finished { step: step.clone(), attempt, outcome, spend: Spend::default() });
        step.to_string()
    }

    fn steps(&mut self, outcomes: impl IntoIterator<Item = StepOutcome>) -> Vec<String> {
        outcomes.into_iter().map(|outcome| self.step(outcome)).collect()
    }

    fn decide(&mut self, decision: Decision) {
        self.record(&Record::Decided { by: "operator".to_owned(), decision });
    }
}

#[test]
fn two_rounds_with_a_gate_end_after_a_full_review_by_everyone() {
    let mut runner = Runner::new(spec(&["codex", "gemini"], &["cargo test"]));
    let steps = runner.steps([
        StepOutcome::Prepared,
        built("a"),
        gated("a", true),
        issues(&["panics on empty input"]),
        done(),
        built("b"),
        gated("b", true),
        done(),
        done(),
        done(),
        done(),
    ]);
    assert_eq!(
        steps,
        [
            "the preparation",
            "the build of round 1",
            "gate 1 of round 1",
            "the review of round 1 by codex",
            "the review of round 1 by gemini",
            "the build of round 2",
            "gate 1 of round 2",
            "the review of round 2 by codex",
            "the review of round 2 by gemini",
            "the final review of round 2 by codex",
            "the final review of round 2 by gemini",
        ]
    );
    let names = vec!["codex".to_owned(), "gemini".to_owned()];
    assert_eq!(runner.task.phase, Phase::Done { by: DoneBy::Reviewers { names } });
    assert_eq!(runner.task.next(at(99)), Next::Ended);
}

#[test]
fn a_red_gate_goes_back_to_the_builder_without_a_review() {
    let mut runner = Runner::new(spec(&["codex"], &["cargo test"]));
    let steps =
        runner.steps([StepOutcome::Prepared, built("a"), gated("a", false), built("b"), gated("b", true), done()]);
    assert_eq!(steps[3], "the build of round 2");
    assert!(matches!(runner.task.phase, Phase::Done { .. }), "{:?}", runner.task.phase);
}

#[test]
fn a_gate_counts_only_for_the_tree_it_ran_on() {
    let mut runner = Runner::new(spec(&[], &["cargo test"]));
    runner.steps([StepOutcome::Prepared, built("a"), gated("other", true)]);
    assert!(!runner.task.phase.is_final(), "{:?}", runner.task.phase);
    runner.steps([built("b"), gated("b", true)]);
    assert_eq!(runner.task.phase, Phase::Done { by: DoneBy::Gates });
}

#[test]
fn an_unreadable_verdict_is_asked_for_once_and_then_counts_as_issues() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    runner.steps([StepOutcome::Prepared, built("a")]);
    let unparsed = || StepOutcome::Unparsed {
        error: "no status".to_owned(),
        output: "LGTM!".to_owned(),
        session: Some("s1".to_owned()),
    };
    runner.step(unparsed());
    let Next::Start(run) = runner.task.next(at(50)) else { panic!() };
    assert!(runner.task.asks_for_format());
    assert_eq!(run.session.as_deref(), Some("s1"), "the same session is asked");
    runner.step(unparsed());
    let open = runner.task.ledger.open();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].claim, "LGTM!");
    assert_eq!(runner.task.phase, Phase::Reviewing { round: 1 }, "the next round has not started yet");
    assert_eq!(runner.step(built("b")), "the build of round 2");
}

#[test]
fn a_reviewer_without_a_verdict_leaves_the_round_incomplete() {
    let crash = || StepOutcome::Failed(StepFailure::Crashed { why: "signal 9".to_owned() });
    let mut runner = Runner::new(spec(&["codex", "gemini"], &[]));
    runner.steps([StepOutcome::Prepared, built("a"), done(), crash(), crash()]);
    let why = Attention::NoVerdict { reviewer: "gemini".to_owned(), why: "signal 9".to_owned() };
    assert_eq!(runner.task.phase, Phase::NeedsAttention { why });
    // A person can try again; the verdict of the other reviewer stands.
    runner.decide(Decision::Resume { rounds: None, budget: None });
    assert_eq!(runner.step(done()), "the review of round 1 by gemini");
    assert!(matches!(runner.task.phase, Phase::Done { .. }));
}

#[test]
fn a_quorum_does_without_a_missing_verdict_but_not_against_an_issue() {
    let crash = || StepOutcome::Failed(StepFailure::Crashed { why: "signal 9".to_owned() });
    let quorum = || TaskSpec { quorum: Some(1), ..spec(&["codex", "gemini"], &[]) };
    let mut runner = Runner::new(quorum());
    runner.steps([StepOutcome::Prepared, built("a"), done(), crash(), crash()]);
    assert_eq!(runner.task.phase, Phase::Done { by: DoneBy::Reviewers { names: vec!["codex".to_owned()] } });
    let mut runner = Runner::new(quorum());
    runner.steps([StepOutcome::Prepared, built("a"), done(), issues(&["leaks a handle"])]);
    assert!(!runner.task.phase.is_final(), "any veto blocks");
}

#[test]
fn a_round_that_times_out_twice_fails() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    runner.steps([StepOutcome::Prepared, StepOutcome::Failed(StepFailure::TimedOut)]);
    assert_eq!(runner.step(StepOutcome::Failed(StepFailure::TimedOut)), "the build of round 1", "tried once more");
    assert_eq!(runner.task.phase, Phase::Failed { why: "the build of round 1: timed out".to_owned() });
}

#[test]
fn a_limit_waits_and_does_not_count_as_a_failure() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    let limited = || {
        StepOutcome::Failed(StepFailure::Limited { account: "anthropic".to_owned(), until: at(5000), session: None })
    };
    runner.steps([StepOutcome::Prepared, limited()]);
    assert_eq!(runner.task.next(at(4999)), Next::WaitUntil(at(5000)));
    runner.now = 5000;
    runner.step(limited());
    runner.now = 9000;
    assert_eq!(runner.step(built("a")), "the build of round 1");
    assert_eq!(runner.task.waiting(), None);
}

#[test]
fn a_pause_of_belay_waits_for_a_person_and_continues_the_session() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    let paused = StepOutcome::Failed(StepFailure::Paused {
        session: "claude-code:1".to_owned(),
        reason: "81 equal edits".to_owned(),
    });
    runner.steps([StepOutcome::Prepared, paused]);
    assert_eq!(runner.task.next(at(1_000_000)), Next::WaitForRecord);
    runner.record(&Record::WaitEnded);
    let Next::Start(run) = runner.task.next(at(1_000_001)) else { panic!() };
    assert_eq!((run.session.as_deref(), run.failures), (Some("claude-code:1"), 0));
}

#[test]
fn a_session_that_has_not_reviewed_is_never_asked_to_repeat_its_verdict() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    let unparsed =
        StepOutcome::Unparsed { error: "e".to_owned(), output: "LGTM".to_owned(), session: Some("s".to_owned()) };
    runner.steps([StepOutcome::Prepared, built("a"), unparsed, StepOutcome::Failed(StepFailure::TimedOut)]);
    let Next::Start(run) = runner.task.next(at(99)) else { panic!() };
    assert!(
        !runner.task.asks_for_format() && run.session.is_none(),
        "the session is gone, so that the work is reviewed again"
    );
}

#[test]
fn an_approval_counts_only_for_the_tree_that_was_built() {
    let mut runner = Runner::new(spec(&["codex"], &["cargo test"]));
    runner.steps([StepOutcome::Prepared, built("a"), gated("a", true)]);
    let verdict = Verdict { status: VerdictStatus::Done, issues: Vec::new(), unparsed: false };
    runner.step(StepOutcome::Reviewed { verdict, tree: "edited".to_owned() });
    let why = Attention::TreeChanged { reviewer: "codex".to_owned() };
    assert_eq!(runner.task.phase, Phase::NeedsAttention { why });
}

#[test]
fn a_task_that_nothing_could_end_is_refused() {
    assert_eq!(Task::new(spec(&[], &[]), at(0)), Err(SpecError::NothingDecides));
    assert_eq!(Task::new(TaskSpec { prompt: " ".to_owned(), ..spec(&["a"], &[]) }, at(0)), Err(SpecError::NoPrompt));
    assert_eq!(Task::new(TaskSpec { rounds: 0, ..spec(&["a"], &[]) }, at(0)), Err(SpecError::NoRounds));
    let twice = Task::new(spec(&["a", "a"], &[]), at(0));
    assert_eq!(twice, Err(SpecError::DuplicateReviewer("a".to_owned())));
    let quorum = Task::new(TaskSpec { quorum: Some(2), ..spec(&["a"], &[]) }, at(0));
    assert_eq!(quorum, Err(SpecError::Quorum { quorum: 2, reviewers: 1 }));
}

/// What a step of a random run ends with.
fn outcome(step: &Step, choice: u8, tree: &str, now: i64) -> StepOutcome {
    let claims = ["panics on empty input", "leaks a handle", "the lock is taken twice", "wrong error code"];
    match (step, choice % 16) {
        (Step::Build { .. } | Step::Review { .. }, 0) => {
            StepOutcome::Failed(StepFailure::Limited { account: "a".to_owned(), until: at(now + 100), session: None })
        }
        (Step::Build { .. } | Step::Review { .. }, 1) => {
            StepOutcome::Failed(StepFailure::Paused { session: "s".to_owned(), reason: "loop".to_owned() })
        }
        (_, 2) => StepOutcome::Failed(StepFailure::TimedOut),
        (_, 3) => StepOutcome::Failed(StepFailure::Crashed { why: "signal 9".to_owned() }),
        (Step::Prepare, _) => StepOutcome::Prepared,
        (Step::Build { .. }, choice) => StepOutcome::Built(Built {
            tree: tree.to_owned(),
            changed: choice % 3 != 0,
            contents: [("src/a.rs".to_owned(), format!("{}", choice % 5))].into(),
            ..Built::default()
        }),
        (Step::Gate { .. }, choice) => gated(tree, choice % 4 != 0),
        (Step::Review { .. }, 4) => {
            StepOutcome::Unparsed { error: "e".to_owned(), output: "fine".to_owned(), session: None }
        }
        (Step::Review { .. }, choice) if choice % 2 == 0 => issues(&claims[..usize::from(choice / 4).max(1)]),
        (Step::Review { .. }, _) => done(),
    }
}

proptest! {
    /// Any sequence of outcomes and crashes: one step at a time, no finished step again, no approval without a verdict,
    /// spending at most one step above the budget, and an end within the caps.
    #[test]
    fn a_task_keeps_its_promises(
        choices in prop::collection::vec((any::<u8>(), any::<bool>()), 1..200),
        reviewers in 1_usize..3,
        gates in 0_usize..2,
        with_arbiter: bool,
        in_place: bool,
    ) {
        const STEP_COST: u64 = 10;
        let mut spec = spec(&["codex", "gemini"][..reviewers], &["cargo test"][..gates]);
        spec.arbiter = with_arbiter.then(|| role("opencode"));
        spec.budget = Budget { cost_micros: Some(300), tokens: None };
        if in_place {
            spec.workspace = WorkspaceMode::InPlace;
        }
        let mut task = Task::new(spec.clone(), at(0)).unwrap();
        let mut journal: Vec<(Timestamp, Record)> = Vec::new();
        let (mut now, mut finished, mut tree) = (0, Vec::<Step>::new(), "base".to_owned());
        for (index, (choice, dies)) in choices.iter().enumerate() {
            now += 1;
            let mut records = Vec::new();
            match task.next(at(now)) {
                Next::Ended => break,
                Next::WaitUntil(until) => { now = until.millis(); continue; }
                Next::WaitForRecord => records.push(Record::WaitEnded),
                Next::Await(step) => prop_assert!(false, "{step} runs forever"),
                Next::Start(run) => {
                    prop_assert!(!finished.contains(&run.step), "{} runs twice", run.step);
                    let attempt = run.attempt;
                    records.push(Record::Started { step: run.step.clone(), attempt });
                    if *dies {
                        records.push(Record::Interrupted { step: run.step, attempt, spend: Spend::default() });
                    } else {
                        if matches!(run.step, Step::Build { .. }) {
                            tree = format!("tree {index}");
                        }
                        let outcome = on_tree_of(&task, outcome(&run.step, *choice, &tree, now));
                        let is_result = matches!(outcome, StepOutcome::Prepared | StepOutcome::Built(_)
                            | StepOutcome::Gated(_) | StepOutcome::Reviewed { .. });
                        if is_result {
                            finished.push(run.step.clone());
                        }
                        let spend = Spend { micros: STEP_COST, ..Spend::default() };
                        records.push(Record::Finished { step: run.step, attempt, outcome, spend });
                    }
                }
            }
            for record in records {
                if let Record::Started { step, .. } = &record {
                    // Nothing starts while a step runs, and nothing but the next step starts.
                    let mut twice = task.clone();
                    twice.apply(at(now), &record).unwrap();
                    prop_assert!(twice.apply(at(now), &record).is_err(), "{step} started twice");
                }
                task.apply(at(now), &record).unwrap();
                journal.push((at(now), record));
            }
            prop_assert!(task.total_spent().micros <= 300 + STEP_COST);
            let rounds = u32::try_from(task.rounds.len()).unwrap();
            prop_assert!(rounds <= spec.rounds);
        }
        if let Phase::Done { by } = &task.phase {
            match by {
                DoneBy::Reviewers { names } => {
                    let last = task.rounds.last().unwrap();
                    for name in names {
                        prop_assert!(last.reviews.iter().any(|review| review.reviewer == *name && !review.verdict.unparsed));
                    }
                    prop_assert!(last.gates.len() == gates && last.gates.iter().all(|gate| gate.passed));
                    prop_assert!(task.ledger.open().is_empty());
                }
                other => prop_assert!(false, "ended by {other:?}"),
            }
        }
        // A crash loses nothing: the journal gives the same task, also through its stored form.
        let mut replayed = Task::new(spec, at(0)).unwrap();
        for (when, record) in &journal {
            let stored = serde_json::to_string(record).unwrap();
            replayed.apply(*when, &serde_json::from_str(&stored).unwrap()).unwrap();
        }
        prop_assert_eq!(&replayed, &task);
        let stored: Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        prop_assert_eq!(stored, task);
    }
}
