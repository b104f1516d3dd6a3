//! Cleaning up through the engine.

use std::time::Duration;

use belay_store::Retention;

use crate::common::{Folder, TestClock, key, prompt};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_clock_that_jumped_costs_nobody_their_history() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    engine.observe(prompt("newest", "b")).unwrap();
    let mut left = |clock: &TestClock, wait: Duration| {
        clock.pass(wait);
        engine.prune(&Retention::default()).unwrap();
        folder.store().session(&key("s")).unwrap().is_some()
    };
    assert!(left(&clock, Duration::ZERO));
    clock.jump(i64::try_from((400 * DAY).as_millis()).unwrap());
    assert!(left(&clock, Duration::ZERO), "a year in an instant");
    assert!(left(&clock, Duration::from_secs(60)));
    clock.jump(-i64::try_from((400 * DAY).as_millis()).unwrap());
    assert!(left(&clock, Duration::ZERO), "somebody set it right");
    // A holiday: the clock is right, and after a while it is believed.
    assert!(left(&clock, 120 * DAY));
    assert!(left(&clock, Duration::from_secs(3599)));
    assert!(!left(&clock, Duration::from_secs(2)));
}

#[test]
fn a_session_that_was_cleaned_up_may_come_back() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    engine.observe(prompt("newest", "b")).unwrap();
    engine.prune(&Retention::default()).unwrap();
    for _ in 0..20 {
        clock.pass(5 * DAY);
        engine.prune(&Retention::default()).unwrap();
    }
    assert!(folder.store().session(&key("s")).unwrap().is_none());
    // The engine still has it at hand, but does not trust its copy.
    assert_eq!(engine.observe(prompt("s", "c")).unwrap().seq, Some(1));
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().counters.events, 1);
}
