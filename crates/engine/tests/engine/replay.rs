//! What is loaded is what was: whoever wrote it, in whatever portions, under whatever rules.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{OperatorDecision, Waiting};
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Event, Rules, Session, SessionState};
use belay_engine::{Engine, EngineOptions};
use belay_store::EventQuery;
use proptest::prelude::*;

use crate::common::{Folder, START, call, event, key, prompt, result, started};

/// Something that happens.
fn happening(n: u64) -> impl Strategy<Value = Event> {
    let operator = |decision| {
        let by = belay_core::event::Operator { decision, note: "n".into(), by: None };
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
                let lift =
                    OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false };
                event("s", &id, operator(lift))
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_engines_in_any_portions_make_the_session_one_replay_makes(
        portions in prop::collection::vec((0usize..3, prop::collection::vec(happening(300), 1..40)), 1..12),
    ) {
        let folder = Folder::new();
        let mut engines = [folder.engine(), folder.engine(), folder.engine()];
        let mut alone = Session::new(key("s"));
        let mut told = HashSet::new();
        for (which, events) in portions {
            for event in &events {
                // However long ago: what the session's ring has forgotten, the store's index still knows.
                let seen = !told.insert(event.identity_text());
                if !seen {
                    alone.apply(event, &Rules::default());
                }
                let answer = engines[which].observe(event.clone()).unwrap();
                prop_assert_eq!(answer.decision.duplicate, seen);
            }
            let again = engines[(which + 1) % 3].observe_batch(events);
            prop_assert!(again.iter().all(|answer| answer.as_ref().unwrap().decision.duplicate));
        }
        prop_assert_eq!(&folder.engine().session(&key("s")).unwrap().unwrap(), &alone);
        let row = folder.store().session(&key("s")).unwrap().unwrap();
        prop_assert_eq!(row.version, alone.counters.events);
        prop_assert_eq!(row.state, alone.state);
        prop_assert_eq!(row.details.counters, alone.counters);
    }
}

/// Two hundred events, and the session they make.
fn filled(folder: &Folder) -> Session {
    let mut engine = folder.engine();
    engine.observe_batch((0..100).flat_map(|n| [call("s", n), result("s", n)]).collect());
    engine.session(&key("s")).unwrap().unwrap()
}

#[test]
fn a_load_replays_a_short_tail() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    for n in 0..100 {
        let mut call = call("s", n);
        call.at = call.at + Duration::from_secs(n);
        engine.observe(call).unwrap();
    }
    let stored = folder.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(stored.snapshot.unwrap().seq, 64);
    assert_eq!(stored.tail.len(), 36);
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let stored = folder.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(stored.snapshot.unwrap().seq, 101, "a change of state is a reason");
    assert_eq!(folder.sqlite().query_row("SELECT count(*) FROM snapshots", [], |row| row.get(0)), Ok(2));
}

#[test]
fn a_busy_moment_has_few_snapshots_and_its_tail_is_short_enough() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    for n in 0..1100 {
        engine.observe_batch(vec![call("s", n), result("s", n)]);
    }
    assert_eq!(engine.metrics().snapshots, 1);
    let stored = folder.store().load(&key("s"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!((stored.snapshot.unwrap().seq, stored.tail.len()), (2048, 152));
}

#[test]
fn without_a_usable_snapshot_the_log_gives_the_session() {
    let folder = Folder::new();
    let before = filled(&folder);
    for damage in ["format = format + 1", "data = '{\"key\":'", "data = '{}'"] {
        folder.sqlite().execute(&format!("UPDATE snapshots SET {damage}"), []).unwrap();
        let mut engine = folder.engine();
        assert_eq!(engine.session(&key("s")).unwrap().unwrap(), before, "{damage}");
        assert!(engine.observe(call("s", 0)).unwrap().decision.duplicate);
    }
}

#[test]
fn an_event_that_cannot_be_read_does_not_stop_the_others() {
    let folder = Folder::new();
    filled(&folder);
    folder.engine().observe(prompt("s", "alone")).unwrap();
    let sqlite = folder.sqlite();
    sqlite.execute("DELETE FROM snapshots", []).unwrap();
    sqlite.execute("UPDATE events SET json = '{' WHERE seq = 201", []).unwrap();
    let session = folder.engine().session(&key("s")).unwrap().unwrap();
    assert_eq!(session.counters.events, 200);
    assert_eq!(folder.engine().observe(prompt("s", "next")).unwrap().seq, Some(202));
}

#[test]
fn the_row_is_the_authority_on_the_state() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(prompt("s", "a")).unwrap();
    engine.decide(&key("s"), OperatorDecision::Pause, "enough", None).unwrap();
    // As if other rules would have decided otherwise: a replay of this log alone gives an active session.
    let sqlite = folder.sqlite();
    sqlite.execute("DELETE FROM snapshots", []).unwrap();
    sqlite.execute("UPDATE events SET json = replace(json, '\"pause\"', '\"note\"')", []).unwrap();
    let session = folder.engine().session(&key("s")).unwrap().unwrap();
    assert!(session.state.is_paused(), "{:?}", session.state);
    assert_eq!(session.incident.unwrap().sentence, "A person paused this session: enough.");
}

#[test]
fn events_remember_the_rules_they_were_applied_under() {
    let folder = Folder::new();
    let strict = Arc::new(Rules::default());
    let mut dry = Rules::default();
    dry.dry_run = true;
    let dry = Arc::new(dry);
    let (for_p, otherwise) = (Arc::clone(&dry), Arc::clone(&strict));
    let rules = move |project: Option<&str>| {
        if project == Some("/p") { Arc::clone(&for_p) } else { Arc::clone(&otherwise) }
    };
    let mut engine = Engine::new(folder.store(), EngineOptions { rules: Box::new(rules), ..EngineOptions::default() });
    engine.observe(started("s", "a", "/p")).unwrap();
    engine.observe(prompt("s", "b")).unwrap();
    engine.observe(prompt("t", "c")).unwrap();
    let rows = folder.store().events(&EventQuery::default()).unwrap();
    let digests: Vec<_> = rows.iter().map(|row| row.rules).collect();
    assert_eq!(digests, [dry.digest(), dry.digest(), strict.digest()]);
    let kept = folder.store().rules(dry.digest()).unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Rules>(&kept).unwrap(), *dry);
    assert_eq!(folder.store().session(&key("t")).unwrap().unwrap().state, SessionState::Active);
    assert!(rows.iter().all(|row| row.at.millis() == START));
}
