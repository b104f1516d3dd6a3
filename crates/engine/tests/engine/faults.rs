//! The store fails: decisions go on, and nothing is corrupted.

use std::time::Duration;

use belay_core::event::OperatorDecision;
use belay_core::{SessionState, Verdict};
use belay_engine::{Engine, EngineOptions};
use belay_store::{Access, EventQuery, StoreError, StoreUrl};

use crate::common::{Folder, TestClock, call, failure, key, prompt};

const SOON: Duration = Duration::from_secs(10);

/// Somebody holds the write lock.
fn lock(folder: &Folder) -> rusqlite::Connection {
    let other = folder.sqlite();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

fn kept(folder: &Folder, session: &str) -> Vec<String> {
    let query = EventQuery { session: Some(key(session)), limit: usize::MAX, ..EventQuery::default() };
    folder.store().events(&query).unwrap().iter().map(|row| row.event().unwrap().id).collect()
}

#[test]
fn decisions_go_on_in_memory_and_are_written_later() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();

    let locked = lock(&folder);
    let answer = engine.observe(prompt("s", "b")).unwrap();
    assert_eq!((answer.decision.verdict, answer.committed), (Verdict::Go, false));
    let health = engine.health();
    assert!(!health.is_healthy());
    let fault = health.fault.unwrap();
    assert!(fault.problem.contains("locked"), "{fault:?}");
    assert!(!fault.hint.is_empty());
    // A person's decision holds at once, also without a store.
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let held = engine.observe(call("s", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    assert!(engine.observe(call("s", 1)).unwrap().decision.duplicate);
    assert_eq!(engine.health().spooled, 3);
    assert_eq!(kept(&folder, "s"), ["a"]);

    drop(locked);
    clock.pass(SOON);
    let answer = engine.observe(call("s", 2)).unwrap();
    assert!(answer.committed && matches!(answer.decision.verdict, Verdict::Hold { .. }), "{answer:?}");
    assert!(engine.health().is_healthy());
    let written = kept(&folder, "s");
    assert_eq!(
        (written.len(), &written[..2], &written[3..]),
        (5, &["a".into(), "b".into()][..], &["c1".into(), "c2".into()][..])
    );
    assert!(folder.store().session(&key("s")).unwrap().unwrap().state.is_paused());
}

#[test]
fn a_pause_in_the_store_holds_even_when_it_cannot_be_written() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    let mut other = folder.engine();
    engine.observe(prompt("s", "a")).unwrap();
    other.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let locked = lock(&folder);
    let held = engine.observe(call("s", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "known only to the store: {held:?}");
    drop(locked);
    // The other engine can write; what it decides counts for the one in trouble too.
    let lift = OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false };
    other.decide(&key("s"), lift, "", None).unwrap();
    let answer = engine.observe(call("s", 2)).unwrap();
    assert_eq!((answer.decision.verdict, answer.committed), (Verdict::Go, false));
}

#[test]
fn a_broken_store_is_not_tried_at_every_event() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    let locked = lock(&folder);
    for n in 0..100 {
        engine.observe(call("s", n)).unwrap();
        clock.pass(Duration::from_millis(100));
    }
    let tries = engine.metrics().faults;
    assert!((3..=8).contains(&tries), "{tries} in ten seconds");
    drop(locked);
    clock.pass(SOON);
    assert!(engine.recover().is_healthy(), "also without an event");
    assert_eq!(kept(&folder, "s").len(), 101);
}

#[test]
fn what_waits_in_memory_is_bounded_and_a_pause_outlives_lost_evidence() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let options = EngineOptions { spool: 3, clock: Box::new(clock.clone()), ..EngineOptions::default() };
    let mut engine = Engine::new(folder.store(), options);
    let locked = lock(&folder);
    for n in 0..10 {
        engine.observe(call("s", n)).unwrap();
    }
    engine.decide(&key("s"), OperatorDecision::Kill, "", None).unwrap();
    let health = engine.health();
    assert_eq!((health.spooled, health.dropped), (4, 7), "a person's decision always finds room");
    drop(locked);
    assert!(engine.flush().is_healthy());
    assert_eq!(kept(&folder, "s").len(), 4);
    assert!(matches!(folder.store().session(&key("s")).unwrap().unwrap().state, SessionState::Killed { .. }));
}

#[test]
fn a_pause_found_in_memory_outlives_the_evidence_that_found_no_room() {
    let folder = Folder::new();
    let options = EngineOptions { spool: 3, clock: Box::new(TestClock::default()), ..EngineOptions::default() };
    let mut engine = Engine::new(folder.store(), options);
    let locked = lock(&folder);
    let held = (0..200).any(|n| {
        let asked = engine.observe(call("s", n)).unwrap();
        engine.observe(failure("s", n)).unwrap();
        matches!(asked.decision.verdict, Verdict::Hold { .. })
    });
    assert!(held && engine.health().dropped > 0);
    drop(locked);
    assert!(engine.flush().is_healthy());
    assert!(folder.store().session(&key("s")).unwrap().unwrap().state.is_paused());
    let notes = folder.store().notes(&key("s"), 10).unwrap();
    assert!(notes[0].text.contains("not all events were kept"), "{notes:?}");
}

#[test]
fn one_bad_row_does_not_stop_the_others() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe_batch(vec![prompt("good", "a"), prompt("bad", "a")]);
    folder.sqlite().execute("UPDATE sessions SET state_json = '?' WHERE native_id = 'bad'", []).unwrap();
    let answers = folder.engine().observe_batch(vec![prompt("good", "b"), prompt("bad", "b"), prompt("new", "b")]);
    let committed: Vec<bool> = answers.into_iter().map(|answer| answer.unwrap().committed).collect();
    assert_eq!(committed, [true, false, true]);
    assert_eq!(kept(&folder, "good"), ["a", "b"]);
}

#[test]
fn an_engine_starts_without_its_store_and_finds_it_later() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let file = folder.file();
    std::fs::create_dir(&file).unwrap();
    let path = file.clone();
    let opener = Box::new(move |_| belay_store::open(&StoreUrl::local(&path), Access::Write));
    let mut engine = Engine::open(opener, EngineOptions { clock: Box::new(clock.clone()), ..EngineOptions::default() });
    assert!(!engine.health().is_healthy());
    assert!(engine.store().is_none());
    assert!(!engine.observe(prompt("s", "a")).unwrap().committed);
    std::fs::remove_dir(&file).unwrap();
    clock.pass(SOON);
    assert_eq!(engine.observe(prompt("s", "b")).unwrap().seq, Some(2));
    assert_eq!(kept(&folder, "s"), ["a", "b"]);
}

#[test]
fn a_damaged_store_is_left_alone() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "these are not the bytes of a database").unwrap();
    let refused = belay_store::open(&StoreUrl::local(folder.file()), Access::Write).err().unwrap();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), b"these are not the bytes of a database");
}
