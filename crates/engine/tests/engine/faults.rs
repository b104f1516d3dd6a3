//! Store failures: decisions continue, and nothing is corrupted.

use std::time::Duration;

use belay_core::event::OperatorDecision;
use belay_core::{Event, SessionState, Verdict};
use belay_engine::{Engine, EngineOptions, HeldFile};
use belay_store::{Access, EventQuery, StoreError, StoreUrl};

use crate::fixtures::{TestClock, TestDir, call, failure, key, prompt};

const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Holds the write lock until the connection is dropped.
fn lock(dir: &TestDir) -> rusqlite::Connection {
    let other = dir.sqlite();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

fn recorded_ids(dir: &TestDir, session: &str) -> Vec<String> {
    let query = EventQuery { session: Some(key(session)), limit: usize::MAX, ..EventQuery::default() };
    dir.store().events(&query).unwrap().iter().map(|row| row.event().unwrap().id).collect()
}

#[test]
fn decisions_continue_in_memory_and_are_written_later() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();

    let locked = lock(&dir);
    let answer = engine.observe(prompt("s", "b")).unwrap();
    assert_eq!((answer.decision.verdict, answer.committed), (Verdict::Go, false));
    let health = engine.health();
    assert!(!health.is_healthy());
    let fault = health.fault.unwrap();
    assert!(fault.problem.contains("locked"), "{fault:?}");
    assert!(!fault.hint.is_empty());
    // An operator's decision takes effect at once, even without the store.
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let held = engine.observe(call("s", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    assert!(engine.observe(call("s", 1)).unwrap().decision.duplicate);
    assert_eq!(engine.health().spooled, 3);
    assert_eq!(recorded_ids(&dir, "s"), ["a"]);

    drop(locked);
    clock.advance(RETRY_DELAY);
    let answer = engine.observe(call("s", 2)).unwrap();
    assert!(answer.committed && matches!(answer.decision.verdict, Verdict::Hold { .. }), "{answer:?}");
    assert!(engine.health().is_healthy());
    let written = recorded_ids(&dir, "s");
    assert_eq!(
        (written.len(), &written[..2], &written[3..]),
        (5, &["a".into(), "b".into()][..], &["c1".into(), "c2".into()][..])
    );
    assert!(dir.store().session(&key("s")).unwrap().unwrap().state.is_paused());
}

#[test]
fn a_stored_pause_holds_while_the_store_is_not_writable() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    let mut other = dir.engine();
    engine.observe(prompt("s", "a")).unwrap();
    other.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let locked = lock(&dir);
    let held = engine.observe(call("s", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "known only to the store: {held:?}");
    drop(locked);
    // A decision written by the other engine also applies to the one in fallback.
    let lift = OperatorDecision::RESUME;
    other.decide(&key("s"), lift, "", None).unwrap();
    let answer = engine.observe(call("s", 2)).unwrap();
    assert_eq!((answer.decision.verdict, answer.committed), (Verdict::Go, false));
}

#[test]
fn retries_back_off() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    let locked = lock(&dir);
    for n in 0..100 {
        engine.observe(call("s", n)).unwrap();
        clock.advance(Duration::from_millis(100));
    }
    let tries = engine.metrics().faults;
    assert!((3..=8).contains(&tries), "{tries} in ten seconds");
    drop(locked);
    clock.advance(RETRY_DELAY);
    assert!(engine.recover().is_healthy(), "without an event");
    assert_eq!(recorded_ids(&dir, "s").len(), 101);
}

#[test]
fn the_spool_is_bounded_and_a_kill_survives_dropped_events() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let options = EngineOptions { spool: 3, clock: Box::new(clock.clone()), ..EngineOptions::default() };
    let mut engine = Engine::new(dir.store(), options);
    let locked = lock(&dir);
    for n in 0..10 {
        engine.observe(call("s", n)).unwrap();
    }
    engine.decide(&key("s"), OperatorDecision::Kill, "", None).unwrap();
    let health = engine.health();
    assert_eq!((health.spooled, health.dropped), (4, 7), "an operator's decision is always spooled");
    drop(locked);
    let health = engine.flush();
    assert!(health.is_healthy());
    assert_eq!((health.dropped, engine.health().dropped), (7, 7), "they stay counted");
    assert_eq!(recorded_ids(&dir, "s").len(), 4);
    assert!(matches!(dir.store().session(&key("s")).unwrap().unwrap().state, SessionState::Killed { .. }));
}

#[test]
fn a_pause_decided_in_memory_survives_dropped_evidence() {
    let dir = TestDir::new();
    let options = EngineOptions { spool: 3, clock: Box::new(TestClock::default()), ..EngineOptions::default() };
    let mut engine = Engine::new(dir.store(), options);
    let locked = lock(&dir);
    let held = (0..200).any(|n| {
        let asked = engine.observe(call("s", n)).unwrap();
        engine.observe(failure("s", n)).unwrap();
        matches!(asked.decision.verdict, Verdict::Hold { .. })
    });
    assert!(held && engine.health().dropped > 0);
    drop(locked);
    assert!(engine.flush().is_healthy());
    assert!(dir.store().session(&key("s")).unwrap().unwrap().state.is_paused());
    let notes = dir.store().notes(&key("s"), 10).unwrap();
    assert!(notes[0].text.contains("some events were not recorded"), "{notes:?}");
}

#[test]
fn one_bad_row_does_not_affect_other_sessions() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe_batch(vec![prompt("good", "a"), prompt("bad", "a")]);
    dir.sqlite().execute("UPDATE sessions SET descendants_json = '?' WHERE native_id = 'bad'", []).unwrap();
    let bad = Event { parent: Some(key("parent")), ..prompt("bad", "b") };
    let answers = dir.engine().observe_batch(vec![prompt("good", "b"), bad, prompt("new", "b")]);
    let committed: Vec<bool> = answers.into_iter().map(|answer| answer.unwrap().committed).collect();
    assert_eq!(committed, [true, false, true]);
    assert_eq!(recorded_ids(&dir, "good"), ["a", "b"]);
}

#[test]
fn an_unreadable_state_does_not_release_a_held_session() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    for session in ["paused", "killed", "archived", "free"] {
        engine.observe(prompt(session, "a")).unwrap();
    }
    engine.decide(&key("paused"), OperatorDecision::Pause, "", None).unwrap();
    engine.decide(&key("killed"), OperatorDecision::Kill, "", None).unwrap();
    engine.decide(&key("archived"), OperatorDecision::Pause, "", None).unwrap();
    engine.decide(&key("archived"), OperatorDecision::Archive, "", None).unwrap();
    dir.sqlite().execute("UPDATE sessions SET state_json = '?'", []).unwrap();
    let mut engine = dir.engine();
    let mut verdict = |session| engine.observe(call(session, 1)).unwrap().decision.verdict;
    assert!(matches!(verdict("paused"), Verdict::Hold { incident, .. } if !incident.is_empty()));
    assert!(matches!(verdict("killed"), Verdict::Stop { .. }));
    assert!(matches!(verdict("archived"), Verdict::Hold { .. }));
    assert_eq!(verdict("free"), Verdict::Go);
    let held = dir.store().held_sessions(10).unwrap();
    assert_eq!(held.len(), 3, "{held:?}");
    assert!(dir.store().check().unwrap()[0].contains("4 sessions have an unreadable state"));
    let lift = OperatorDecision::RESUME;
    engine.decide(&key("paused"), lift, "", None).unwrap();
    assert_eq!(engine.observe(call("paused", 2)).unwrap().decision.verdict, Verdict::Go);
}

#[test]
fn held_sessions_are_known_without_the_store() {
    let dir = TestDir::new();
    let options = || EngineOptions {
        clock: Box::new(TestClock::default()),
        held_file: Some(HeldFile::new(dir.0.path().join("held.json"))),
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(dir.store(), options());
    for session in ["paused", "killed", "resumed", "free"] {
        engine.observe(prompt(session, "a")).unwrap();
    }
    engine.decide(&key("paused"), OperatorDecision::Pause, "", None).unwrap();
    engine.decide(&key("killed"), OperatorDecision::Kill, "", None).unwrap();
    engine.decide(&key("resumed"), OperatorDecision::Pause, "", None).unwrap();
    let lift = OperatorDecision::RESUME;
    engine.decide(&key("resumed"), lift, "", None).unwrap();
    drop(engine);
    std::fs::write(dir.file(), "these are not the bytes of a database").unwrap();
    let path = dir.file();
    let opener = Box::new(move |access| belay_store::open(&StoreUrl::local(&path), access));
    let mut engine = Engine::open(opener, options());
    assert!(engine.session(&key("paused")).unwrap().unwrap().state.is_paused());
    assert!(engine.session(&key("free")).unwrap().is_none());
    let mut verdict = |event| engine.observe(event).unwrap().decision.verdict;
    assert!(matches!(verdict(call("paused", 1)), Verdict::Hold { .. }));
    assert!(matches!(verdict(call("killed", 1)), Verdict::Stop { .. }));
    assert_eq!(verdict(call("resumed", 1)), Verdict::Go);
    assert_eq!(verdict(call("free", 1)), Verdict::Go);
    let child = Event { parent: Some(key("paused")), ..call("child", 1) };
    assert!(matches!(verdict(child), Verdict::Hold { .. }), "a sub-agent of a paused session");
}

/// Three held sessions and two that are not, in a store that is then gone.
fn with_held_file(dir: &TestDir) -> impl Fn() -> Engine + use<> {
    let (file, held) = (dir.file(), dir.0.path().join("held.json"));
    let open = move || {
        let options = EngineOptions {
            clock: Box::new(TestClock::default()),
            held_file: Some(HeldFile::new(&held)),
            ..EngineOptions::default()
        };
        Engine::new(belay_store::open(&StoreUrl::local(&file), Access::Write).unwrap(), options)
    };
    let mut engine = open();
    for session in ["paused", "killed", "quiet", "resumed", "free"] {
        engine.observe(prompt(session, "a")).unwrap();
    }
    for session in ["paused", "quiet", "resumed"] {
        engine.decide(&key(session), OperatorDecision::Pause, "", None).unwrap();
    }
    engine.decide(&key("killed"), OperatorDecision::Kill, "", None).unwrap();
    engine.decide(&key("resumed"), lift(), "", None).unwrap();
    open
}

fn lift() -> OperatorDecision {
    OperatorDecision::RESUME
}

fn assert_still_held(engine: &mut Engine) {
    let mut verdict = |event| engine.observe(event).unwrap().decision.verdict;
    assert!(matches!(verdict(call("paused", 1)), Verdict::Hold { .. }));
    assert!(matches!(verdict(call("killed", 1)), Verdict::Stop { .. }));
    assert_eq!(verdict(call("resumed", 1)), Verdict::Go);
    assert_eq!(verdict(call("free", 1)), Verdict::Go);
}

#[test]
fn a_deleted_store_takes_its_held_sessions_in() {
    let dir = TestDir::new();
    let open = with_held_file(&dir);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", dir.file().display()));
    }
    let mut engine = open();
    engine.sync_held_file();
    let held = |dir: &TestDir| dir.store().held_sessions(10).unwrap().len();
    assert_eq!(held(&dir), 3, "before any of them does something");
    assert_still_held(&mut engine);
    let incidents = dir.store().incidents(&belay_store::IncidentQuery::default()).unwrap();
    assert!(incidents.iter().any(|incident| incident.sentence.contains("taken from held.json")), "{incidents:?}");
    // Once only: the person decides as before.
    engine.decide(&key("paused"), lift(), "", None).unwrap();
    drop(engine);
    let mut engine = open();
    assert_eq!(engine.observe(call("paused", 2)).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(held(&dir), 2);
    // A person may delete a held session.
    engine.delete_sessions(&[key("quiet")]).unwrap();
    drop(engine);
    assert_eq!(open().observe(call("quiet", 1)).unwrap().decision.verdict, Verdict::Go);
}

#[test]
fn a_store_that_is_emptied_while_it_is_open_does_not_release_a_session() {
    let dir = TestDir::new();
    let open = with_held_file(&dir);
    let mut engine = open();
    for session in ["paused", "killed"] {
        engine.observe(call(session, 0)).unwrap();
    }
    let tables = "DELETE FROM sessions; DELETE FROM events; DELETE FROM snapshots;";
    dir.sqlite().execute_batch(tables).unwrap();
    // Another hold replaces the file, and a sub-agent creates a row of its parent.
    engine.observe(prompt("new", "a")).unwrap();
    engine.decide(&key("new"), OperatorDecision::Pause, "", None).unwrap();
    let child = Event { parent: Some(key("quiet")), ..prompt("child", "a") };
    engine.observe(child).unwrap();
    assert_still_held(&mut engine);
    assert!(matches!(engine.observe(call("child", 1)).unwrap().decision.verdict, Verdict::Hold { .. }));
    assert!(matches!(engine.observe(call("quiet", 1)).unwrap().decision.verdict, Verdict::Hold { .. }));
}

#[test]
fn an_engine_starts_without_its_store_and_opens_it_later() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let file = dir.file();
    std::fs::create_dir(&file).unwrap();
    let path = file.clone();
    let opener = Box::new(move |_| belay_store::open(&StoreUrl::local(&path), Access::Write));
    let mut engine = Engine::open(opener, EngineOptions { clock: Box::new(clock.clone()), ..EngineOptions::default() });
    assert!(!engine.health().is_healthy());
    assert!(engine.store().is_none());
    assert!(!engine.observe(prompt("s", "a")).unwrap().committed);
    std::fs::remove_dir(&file).unwrap();
    clock.advance(RETRY_DELAY);
    assert_eq!(engine.observe(prompt("s", "b")).unwrap().seq, Some(2));
    assert_eq!(recorded_ids(&dir, "s"), ["a", "b"]);
}

#[test]
fn a_damaged_store_is_not_written() {
    let dir = TestDir::new();
    std::fs::write(dir.file(), "these are not the bytes of a database").unwrap();
    let refused = belay_store::open(&StoreUrl::local(dir.file()), Access::Write).err().unwrap();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    assert_eq!(std::fs::read(dir.file()).unwrap(), b"these are not the bytes of a database");
}
