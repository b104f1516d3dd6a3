//! A restored session equals the original, regardless of writers, batch sizes and rules.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{OperatorDecision, Waiting};
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Event, Rules, Session, SessionState};
use belay_engine::{Engine, EngineOptions, RulesScope};
use belay_store::EventQuery;
use proptest::prelude::*;

use crate::fixtures::{START, TestDir, call, event, key, prompt, result, started};

/// An arbitrary event.
fn arbitrary_event(n: u64) -> impl Strategy<Value = Event> {
    let operator = |decision| {
        let by = belay_core::event::Operator { decision, note: "n".into(), by: None, caller: None };
        Body::Operator(by)
    };
    (0u8..9, 0..n).prop_map(move |(kind, n)| {
        let id = format!("e{n}");
        match kind {
            0 => prompt("s", &id),
            1 | 2 => call("s", n),
            3 | 4 => result("s", n),
            5 => started("s", &id, "/p"),
            6 => event("s", &id, Body::Waiting(Waiting::default())),
            7 => event("s", &id, operator(OperatorDecision::Pause)),
            _ => {
                let lift = OperatorDecision::RESUME;
                event("s", &id, operator(lift))
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_engines_produce_the_same_session_as_one_replay(
        batches in prop::collection::vec((0usize..3, prop::collection::vec(arbitrary_event(300), 1..40)), 1..12),
    ) {
        let dir = TestDir::new();
        let mut engines = [dir.engine(), dir.engine(), dir.engine()];
        let mut expected = Session::new(key("s"));
        let mut recorded = HashSet::new();
        for (which, events) in batches {
            for event in &events {
                // The store's index also finds events that have left the session's ring.
                let seen = !recorded.insert(event.identity_text());
                if !seen {
                    expected.apply(event, &Rules::default());
                }
                let answer = engines[which].observe(event.clone()).unwrap();
                prop_assert_eq!(answer.decision.duplicate, seen);
            }
            let again = engines[(which + 1) % 3].observe_batch(events);
            prop_assert!(again.iter().all(|answer| answer.as_ref().unwrap().decision.duplicate));
        }
        prop_assert_eq!(&dir.engine().session(&key("s")).unwrap().unwrap(), &expected);
        let row = dir.store().session(&key("s")).unwrap().unwrap();
        prop_assert_eq!(row.version, expected.counters.events);
        prop_assert_eq!(row.state, expected.state);
        prop_assert_eq!(row.details.counters, expected.counters);
    }
}

/// Records 200 events and returns the session.
fn seed(dir: &TestDir) -> Session {
    let mut engine = dir.engine();
    engine.observe_batch((0..100).flat_map(|n| [call("s", n), result("s", n)]).collect());
    engine.session(&key("s")).unwrap().unwrap()
}

#[test]
fn a_load_replays_a_short_tail() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    for n in 0..100 {
        let mut call = call("s", n);
        call.at = call.at + Duration::from_secs(n);
        engine.observe(call).unwrap();
    }
    let stored = dir.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(stored.snapshot.unwrap().seq, 64);
    assert_eq!(stored.tail.len(), 36);
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let stored = dir.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(stored.snapshot.unwrap().seq, 101, "a state change writes a snapshot");
    assert_eq!(dir.sqlite().query_row("SELECT count(*) FROM snapshots", [], |row| row.get(0)), Ok(2));
}

#[test]
fn a_burst_of_events_writes_few_snapshots() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    for n in 0..1100 {
        engine.observe_batch(vec![call("s", n), result("s", n)]);
    }
    assert_eq!(engine.metrics().snapshots, 1);
    let stored = dir.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!((stored.snapshot.unwrap().seq, stored.tail.len()), (2048, 152));
}

#[test]
fn an_unusable_snapshot_is_replaced_by_a_replay() {
    let dir = TestDir::new();
    let before = seed(&dir);
    for damage in ["format = format + 1", "data = '{\"key\":'", "data = '{}'"] {
        dir.sqlite().execute(&format!("UPDATE snapshots SET {damage}"), []).unwrap();
        let mut engine = dir.engine();
        assert_eq!(engine.session(&key("s")).unwrap().unwrap(), before, "{damage}");
        assert!(engine.observe(call("s", 0)).unwrap().decision.duplicate);
    }
}

#[test]
fn an_unreadable_event_is_skipped() {
    let dir = TestDir::new();
    seed(&dir);
    dir.engine().observe(prompt("s", "alone")).unwrap();
    let sqlite = dir.sqlite();
    sqlite.execute("DELETE FROM snapshots", []).unwrap();
    sqlite.execute("UPDATE events SET json = '{' WHERE seq = 201", []).unwrap();
    let session = dir.engine().session(&key("s")).unwrap().unwrap();
    assert_eq!(session.counters.events, 200);
    assert_eq!(dir.engine().observe(prompt("s", "next")).unwrap().seq, Some(202));
}

#[test]
fn the_state_in_the_row_overrides_a_replay() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(prompt("s", "a")).unwrap();
    engine.decide(&key("s"), OperatorDecision::Pause, "enough", None).unwrap();
    // Change the log so that a replay gives an active session.
    let sqlite = dir.sqlite();
    sqlite.execute("DELETE FROM snapshots", []).unwrap();
    sqlite.execute("UPDATE events SET json = replace(json, '\"pause\"', '\"note\"')", []).unwrap();
    let session = dir.engine().session(&key("s")).unwrap().unwrap();
    assert!(session.state.is_paused(), "{:?}", session.state);
    assert_eq!(session.incident.unwrap().sentence, "A person paused this session: enough.");
}

#[test]
fn events_record_the_digest_of_their_rules() {
    let dir = TestDir::new();
    let strict = Arc::new(Rules::default());
    let mut dry = Rules::default();
    dry.dry_run = true;
    let dry = Arc::new(dry);
    let (for_p, otherwise) = (Arc::clone(&dry), Arc::clone(&strict));
    let rules = move |scope: RulesScope<'_>| {
        if scope.project == Some("/p") { Arc::clone(&for_p) } else { Arc::clone(&otherwise) }
    };
    let mut engine = Engine::new(dir.store(), EngineOptions { rules: Box::new(rules), ..EngineOptions::default() });
    engine.observe(started("s", "a", "/p")).unwrap();
    engine.observe(prompt("s", "b")).unwrap();
    engine.observe(prompt("t", "c")).unwrap();
    let rows = dir.store().events(&EventQuery::default()).unwrap();
    let digests: Vec<_> = rows.iter().map(|row| row.rules).collect();
    assert_eq!(digests, [dry.digest(), dry.digest(), strict.digest()]);
    let stored = dir.store().rules(dry.digest()).unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Rules>(&stored).unwrap(), *dry);
    assert_eq!(dir.store().session(&key("t")).unwrap().unwrap().state, SessionState::Active);
    assert!(rows.iter().all(|row| row.at.millis() == START));
}
