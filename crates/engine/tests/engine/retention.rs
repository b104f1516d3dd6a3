//! Pruning through the engine.

use std::time::Duration;

use belay_store::Retention;

use crate::fixtures::{TestClock, TestDir, key, prompt};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_clock_jump_deletes_nothing() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    engine.observe(prompt("newest", "b")).unwrap();
    let mut is_retained = |clock: &TestClock, wait: Duration| {
        clock.advance(wait);
        engine.prune(&Retention::default()).unwrap();
        dir.store().session(&key("s")).unwrap().is_some()
    };
    assert!(is_retained(&clock, Duration::ZERO));
    clock.jump(i64::try_from((400 * DAY).as_millis()).unwrap());
    assert!(is_retained(&clock, Duration::ZERO), "after a jump of 400 days");
    assert!(is_retained(&clock, Duration::from_secs(60)));
    clock.jump(-i64::try_from((400 * DAY).as_millis()).unwrap());
    assert!(is_retained(&clock, Duration::ZERO), "after the clock was corrected");
    // After a long downtime the clock is right, and is trusted after the grace period.
    assert!(is_retained(&clock, 120 * DAY));
    assert!(is_retained(&clock, Duration::from_secs(3599)));
    assert!(!is_retained(&clock, Duration::from_secs(2)));
}

#[test]
fn a_pruned_session_can_be_recreated() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    engine.observe(prompt("newest", "b")).unwrap();
    engine.prune(&Retention::default()).unwrap();
    for _ in 0..20 {
        clock.advance(5 * DAY);
        engine.prune(&Retention::default()).unwrap();
    }
    assert!(dir.store().session(&key("s")).unwrap().is_none());
    // The engine's cached copy is stale and must not be used.
    assert_eq!(engine.observe(prompt("s", "c")).unwrap().seq, Some(1));
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().counters.events, 1);
}
