use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::time::Timestamp;
use crate::wait::Awaited;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn limited(session: Option<&str>) -> StepFailure {
    StepFailure::Limited { account: "codex".to_owned(), until: at(50), session: session.map(str::to_owned) }
}

/// Starts the next step.
fn start(steps: &mut Steps<u8>) -> StepRun<u8> {
    let Next::Start(run) = steps.next(at(100)) else { panic!("{:?}", steps.next(at(100))) };
    steps.start(at(1), &run.step, run.attempt).unwrap();
    run
}

/// Starts the next step and ends it.
fn run(steps: &mut Steps<u8>) -> StepRun<u8> {
    let run = start(steps);
    assert_eq!(steps.end(&run.step, run.attempt), Ok(Counts::Result));
    run
}

#[test]
fn a_step_runs_until_its_end_and_only_the_next_one_starts() {
    let mut steps = Steps::new(Some(1));
    assert_eq!(steps.start(at(1), &2, 1), Err(StepError::OutOfOrder { expected: 1, found: 2 }));
    let first = start(&mut steps);
    assert_eq!(steps.next(at(9)), Next::Await(1));
    assert_eq!(steps.start(at(2), &1, 2), Err(StepError::Busy { running: 1, wanted: 1 }));
    assert_eq!(steps.wait(Awaited::Lock { holder: "x".to_owned() }), Err(StepError::CannotWait(1)));
    assert_eq!(steps.end(&1, first.attempt), Ok(Counts::Result));
    steps.go_to(2);
    assert_eq!(
        steps.start(at(3), &2, first.attempt),
        Err(StepError::OutOfOrder { expected: 2, found: 2 }),
        "a number again"
    );
    assert_eq!(run(&mut steps).attempt, 2);
    assert_eq!(steps.end(&2, 2), Err(StepError::NotRunning(2)), "it ended already");
}

#[test]
fn a_task_rests_until_a_record_moves_it() {
    let mut steps = Steps::new(None);
    assert_eq!(steps.next(at(0)), Next::WaitForRecord);
    assert_eq!(steps.start(at(0), &1, 1), Err(StepError::NoStep(1)));
    steps.go_to(1);
    run(&mut steps);
    steps.rest();
    assert_eq!(steps.next(at(0)), Next::WaitForRecord);
}

#[test]
fn a_limit_ends_by_itself_and_a_pause_or_lock_with_a_record() {
    let mut steps = Steps::new(Some(1));
    start(&mut steps);
    steps.end(&1, 1).unwrap();
    assert_eq!(steps.fail(&limited(Some("s"))), AfterFailure::Waits);
    assert_eq!(steps.next(at(49)), Next::WaitUntil(at(50)));
    let again = start(&mut steps);
    assert_eq!((again.session.as_deref(), again.failures), (Some("s"), 0), "a limit is no failure");
    assert_eq!(steps.waiting(), None);
    steps.end(&1, 2).unwrap();
    let pause = StepFailure::Paused { session: "p".to_owned(), reason: "loop".to_owned() };
    assert_eq!(steps.fail(&pause), AfterFailure::Waits);
    assert_eq!(steps.next(at(99)), Next::WaitForRecord);
    steps.end_wait();
    assert_eq!(start(&mut steps).session.as_deref(), Some("p"));
}

#[test]
fn a_step_that_fails_runs_once_more_in_a_new_session() {
    let mut steps = Steps::new(Some(1));
    steps.set_session(Some("s".to_owned()));
    run(&mut steps);
    assert_eq!(steps.fail(&StepFailure::TimedOut), AfterFailure::Retry);
    let second = run(&mut steps);
    assert_eq!((second.session, second.failures), (None, 1));
    let crashed = StepFailure::Crashed { why: "signal 9".to_owned() };
    assert_eq!(steps.fail(&crashed), AfterFailure::GiveUp("signal 9".to_owned()));
    steps.go_to(2);
    run(&mut steps);
    assert_eq!(steps.fail(&crashed), AfterFailure::Retry, "each step has its own attempts");
    steps.forgive();
    assert_eq!(steps.fail(&StepFailure::OverBudget), AfterFailure::NeedsPerson);
    assert_eq!(run(&mut steps).failures, 0, "a person decided");
}

#[test]
fn the_late_result_of_an_abandoned_step_counts_as_a_cost_and_once() {
    let mut steps = Steps::new(Some(1));
    start(&mut steps);
    assert_eq!(steps.abandon(), Some(1));
    assert_eq!(start(&mut steps).attempt, 2, "a person lets it run again before the first attempt has ended");
    assert_eq!(steps.end(&1, 1), Ok(Counts::CostOnly));
    assert_eq!(steps.running().map(|running| running.attempt), Some(2));
    assert_eq!(steps.end(&1, 1), Err(StepError::NotRunning(1)));
    assert_eq!(steps.end(&1, 2), Ok(Counts::Result));
}

/// What may happen to steps, sensible or not.
#[derive(Clone, Debug)]
enum Act {
    Start { step: u8, later: u32 },
    End { step: u8, back: u32 },
    Fail(StepFailure),
    Wait,
    EndWait,
    GoTo(u8),
    Rest,
    Abandon,
}

fn act() -> impl Strategy<Value = Act> {
    let failure = prop_oneof![
        Just(limited(None)),
        Just(StepFailure::TimedOut),
        Just(StepFailure::OverBudget),
        Just(StepFailure::Paused { session: "s".to_owned(), reason: "r".to_owned() }),
    ];
    prop_oneof![
        4 => (0_u8..3, 0_u32..3).prop_map(|(step, later)| Act::Start { step, later }),
        4 => (0_u8..3, 0_u32..3).prop_map(|(step, back)| Act::End { step, back }),
        1 => failure.prop_map(Act::Fail),
        1 => Just(Act::Wait),
        1 => Just(Act::EndWait),
        2 => (0_u8..3).prop_map(Act::GoTo),
        1 => Just(Act::Rest),
        1 => Just(Act::Abandon),
    ]
}

proptest! {
    /// Whatever records come: one step at a time, each attempt starts once and ends at most once, and a record that does
    /// not fit changes nothing.
    #[test]
    fn steps_keep_their_promises(acts in prop::collection::vec(act(), 1..80)) {
        let mut steps = Steps::new(Some(0_u8));
        let (mut started, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut newest = 0;
        for act in acts {
            let before = steps.clone();
            let fits = match act {
                Act::Start { step, later } => {
                    let attempt = (newest + later).saturating_sub(1);
                    let result = steps.start(at(1), &step, attempt);
                    if result.is_ok() {
                        prop_assert!(before.running().is_none(), "two steps at once");
                        prop_assert_eq!(before.position(), Some(&step));
                        prop_assert!(started.insert(attempt), "attempt {attempt} started twice");
                        newest = attempt;
                    }
                    result.is_ok()
                }
                Act::End { step, back } => {
                    let attempt = newest.saturating_sub(back);
                    let result = steps.end(&step, attempt);
                    if let Ok(counts) = &result {
                        prop_assert!(started.contains(&attempt) && ended.insert(attempt), "attempt {attempt} ended twice");
                        let was_running = before.running().is_some_and(|run| run.attempt == attempt);
                        prop_assert_eq!(*counts == Counts::Result, was_running);
                    }
                    result.is_ok()
                }
                Act::Wait => steps.wait(Awaited::Lock { holder: "x".to_owned() }).is_ok(),
                // A machine does these with a record that fits.
                act => {
                    match act {
                        Act::Fail(how) if before.running().is_none() => drop(steps.fail(&how)),
                        Act::EndWait => steps.end_wait(),
                        Act::GoTo(step) if before.running().is_none() => steps.go_to(step),
                        Act::Rest if before.running().is_none() => steps.rest(),
                        Act::Abandon => drop(steps.abandon()),
                        _ => {}
                    }
                    true
                }
            };
            if !fits {
                prop_assert_eq!(&steps, &before, "a misfit changed something");
            }
            if let Next::Start(run) = steps.next(at(100)) {
                prop_assert!(!started.contains(&run.attempt), "attempt {} would start again", run.attempt);
            }
        }
    }
}
