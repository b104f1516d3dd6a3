//! What a person decides about a task, and what it costs.

use super::*;

#[test]
fn the_round_cap_is_enforced_and_a_person_may_raise_it() {
    let mut runner = Runner::new(TaskSpec { rounds: 2, ..spec(&["codex"], &[]) });
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["panics on empty input"]), built("b")]);
    runner.step(issues(&["I-1 panics on empty input", "returns the wrong error"]));
    assert_eq!(runner.task.phase, Phase::NeedsAttention { why: Attention::RoundsUsed { rounds: 2 } });
    runner.decide(Decision::Resume { rounds: Some(3), budget: None });
    assert_eq!(runner.step(built("c")), "the build of round 3");
}

#[test]
fn waiving_the_last_issue_leads_to_a_final_review() {
    let mut runner = Runner::new(TaskSpec { rounds: 1, ..spec(&["codex"], &[]) });
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["not fast enough"])]);
    runner.decide(Decision::Waive { issue: IssueId(1), why: "fast enough for us".to_owned() });
    runner.decide(Decision::Resume { rounds: None, budget: None });
    // The reviewer insists; a person's word outranks it.
    assert_eq!(runner.step(issues(&["not fast enough"])), "the final review of round 1 by codex");
    assert!(matches!(runner.task.phase, Phase::Done { .. }), "{:?}", runner.task.phase);
}

#[test]
fn a_person_ends_a_loop_or_sends_it_back() {
    let mut runner = Runner::new(TaskSpec { rounds: 1, ..spec(&["codex"], &[]) });
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["not fast enough"])]);
    runner.decide(Decision::Answer { answer: Answer::Fix { text: "use a hash map".to_owned() } });
    assert_eq!(runner.step(built("b")), "the build of round 2");
    runner.steps([done(), done()]);
    assert!(matches!(runner.task.phase, Phase::Done { by: DoneBy::Reviewers { .. } }), "{:?}", runner.task.phase);
    assert!(runner.task.ledger.open().is_empty(), "the person's issue was confirmed as fixed");

    let mut runner = Runner::new(spec(&["codex"], &[]));
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["not fast enough"])]);
    runner.decide(Decision::Answer { answer: Answer::Done });
    assert_eq!(runner.task.phase, Phase::Done { by: DoneBy::Person { name: "operator".to_owned() } });
}

#[test]
fn a_late_result_of_a_cancelled_attempt_only_costs() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    runner.step(StepOutcome::Prepared);
    let Next::Start(first) = runner.task.next(at(9)) else { panic!() };
    runner.record(&Record::Started { step: first.step.clone(), attempt: first.attempt });
    runner.decide(Decision::Cancel);
    runner.decide(Decision::Resume { rounds: None, budget: None });
    let Next::Start(second) = runner.task.next(at(9)) else { panic!() };
    runner.record(&Record::Started { step: second.step.clone(), attempt: second.attempt });
    let spend = Spend { micros: 7, ..Spend::default() };
    let late = Record::Finished { step: first.step, attempt: first.attempt, outcome: built("x"), spend };
    assert_eq!(runner.task.apply(at(9), &late), Ok(()));
    assert_eq!(runner.task.total_spent().micros, 7);
    assert_eq!(runner.task.running().map(|running| running.attempt), Some(second.attempt), "the second one still runs");
    assert!(
        matches!(runner.task.apply(at(9), &late), Err(RecordError::Step(StepError::NotRunning(_)))),
        "it is counted once"
    );
}

#[test]
fn what_a_step_cost_counts_after_it_was_cancelled() {
    let mut runner = Runner::new(spec(&["codex"], &[]));
    runner.step(StepOutcome::Prepared);
    let Next::Start(run) = runner.task.next(at(9)) else { panic!() };
    runner.record(&Record::Started { step: run.step.clone(), attempt: run.attempt });
    runner.decide(Decision::Cancel);
    let spend = Spend { micros: 7, ..Spend::default() };
    runner.record(&Record::Interrupted { step: run.step, attempt: run.attempt, spend });
    assert_eq!(runner.task.total_spent().micros, 7);
    assert!(matches!(runner.task.phase, Phase::Cancelled { .. }));
}

#[test]
fn a_person_may_give_up_on_a_task_that_needs_attention_and_resume_it_later() {
    let mut runner = Runner::new(TaskSpec { rounds: 1, ..spec(&["codex"], &[]) });
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["panics on empty input"])]);
    assert!(matches!(runner.task.phase, Phase::NeedsAttention { .. }));
    runner.decide(Decision::Cancel);
    assert_eq!(runner.task.phase, Phase::Cancelled { by: "operator".to_owned() });
    let again = Record::Decided { by: "operator".to_owned(), decision: Decision::Cancel };
    assert_eq!(runner.task.apply(at(9), &again), Err(RecordError::Ended));
    runner.decide(Decision::Resume { rounds: Some(2), budget: None });
    assert_eq!(runner.step(built("b")), "the build of round 2");
}

#[test]
fn more_money_does_not_lift_the_limit_of_tokens() {
    let budget = Budget { cost_micros: Some(10), tokens: Some(500) };
    let mut runner = Runner::new(TaskSpec { budget, ..spec(&["codex"], &[]) });
    runner.decide(Decision::Cancel);
    runner.decide(Decision::Resume { rounds: None, budget: Some(Budget { cost_micros: Some(50), tokens: None }) });
    assert_eq!(runner.task.spec.budget, Budget { cost_micros: Some(50), tokens: Some(500) });
}

#[test]
fn a_person_who_sends_work_back_early_loses_no_verdict() {
    let mut runner = Runner::new(spec(&["codex", "gemini"], &[]));
    let refused = StepOutcome::Failed(StepFailure::Refused { why: "log in".to_owned() });
    runner.steps([StepOutcome::Prepared, built("a"), issues(&["leaks a handle"]), refused]);
    runner.decide(Decision::Answer { answer: Answer::Fix { text: "use a hash map".to_owned() } });
    let open: Vec<&str> = runner.task.ledger.open().iter().map(|issue| issue.claim.as_str()).collect();
    assert_eq!(open, ["use a hash map", "leaks a handle"]);
    let mut queued = Runner::new(spec(&["codex"], &[]));
    queued.decide(Decision::Cancel);
    queued.decide(Decision::Answer { answer: Answer::Fix { text: "start after all".to_owned() } });
    assert_eq!(queued.step(StepOutcome::Prepared), "the preparation", "there is no workspace yet");
}

#[test]
fn only_the_result_of_an_ended_task_lands_and_landing_moves_nothing() {
    let landed = || {
        let fact = Fact::Landed { by: "ada".to_owned(), message: "merged as 7c1f5a2b90".to_owned(), commit: None };
        Record::Observed { fact }
    };
    let mut runner = Runner::new(TaskSpec { rounds: 1, ..spec(&["codex"], &[]) });
    runner.steps([StepOutcome::Prepared, built("a")]);
    assert_eq!(runner.task.apply(at(9), &landed()), Err(RecordError::NotEnded));
    runner.step(issues(&["panics on empty input"]));
    let ended = runner.task.clone();
    runner.record(&landed());
    runner.record(&Record::Observed { fact: Fact::Archived { by: "ada".to_owned() } });
    assert_eq!(runner.task, ended);
    let json = serde_json::to_string(&landed()).unwrap();
    let expected = r#"{"record":"observed","fact":{"fact":"landed","by":"ada","message":"merged as 7c1f5a2b90"}}"#;
    assert_eq!(json, expected);
}

#[test]
fn resuming_needs_money() {
    let budget = Budget { cost_micros: Some(10), tokens: None };
    let mut runner = Runner::new(TaskSpec { budget, ..spec(&["codex"], &[]) });
    runner.step(StepOutcome::Prepared);
    let Next::Start(run) = runner.task.next(at(9)) else { panic!() };
    runner.record(&Record::Started { step: run.step.clone(), attempt: run.attempt });
    let spend = Spend { micros: 12, ..Spend::default() };
    runner.record(&Record::Finished { step: run.step, attempt: run.attempt, outcome: built("a"), spend });
    assert_eq!(runner.task.phase, Phase::NeedsAttention { why: Attention::BudgetUsed });
    let resume =
        |budget| Record::Decided { by: "operator".to_owned(), decision: Decision::Resume { rounds: None, budget } };
    assert_eq!(runner.task.apply(at(9), &resume(None)), Err(RecordError::NoBudget));
    let more = Some(Budget { cost_micros: Some(50), tokens: None });
    assert_eq!(runner.task.apply(at(9), &resume(more)), Ok(()));
}
