//! What an engine answers, and what it leaves in the store.

use std::sync::Barrier;
use std::time::Duration;

use crate::common::{Folder, START, TestClock, call, event, failure, key, prompt, result};
use belay_core::event::{OperatorDecision, Prompt};
use belay_core::session::MAX_RECENT;
use belay_core::{Body, Effect, SessionState, Timestamp, Verdict};
use belay_engine::{Engine, EngineError, EngineOptions};
use belay_store::{Access, EventQuery, IncidentQuery, SessionQuery, StoreError, StoreUrl};

#[test]
fn a_pause_by_one_engine_holds_in_another() {
    let folder = Folder::new();
    let (mut one, mut other) = (folder.engine(), folder.engine());
    assert_eq!(one.observe(prompt("s", "a")).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(other.observe(prompt("s", "b")).unwrap().seq, Some(2));

    let decided = one.decide(&key("s"), OperatorDecision::Pause, "looks odd", Some("me")).unwrap();
    assert!(decided.committed);

    // Even what changes nothing is answered by how things stand now, not by the copy at hand.
    for question in ["b", "c"] {
        let answer = other.observe(prompt("s", question)).unwrap();
        assert!(matches!(answer.decision.verdict, Verdict::Hold { .. }), "{answer:?}");
        assert_eq!(answer.decision.duplicate, question == "b");
    }
    let store = other.store().unwrap();
    assert_eq!(store.incidents(&IncidentQuery::default()).unwrap().len(), 1);
    assert_eq!(store.notes(&key("s"), 10).unwrap()[0].text, "looks odd");
    let page = store.sessions(&SessionQuery { states: vec!["paused".into()], ..Default::default() }).unwrap();
    assert_eq!(page.rows[0].version, 4);
    assert_eq!(store.outbox(None, 10).unwrap()[0].topic, "incident_opened");
}

#[test]
fn the_same_event_twice_counts_once_however_long_ago() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    assert!(!engine.observe(prompt("s", "first")).unwrap().decision.duplicate);
    assert!(engine.observe(prompt("s", "first")).unwrap().decision.duplicate);
    let many = (0..MAX_RECENT as u64 + 10).map(|n| call("s", n)).collect();
    engine.observe_batch(many);
    let again = engine.observe(prompt("s", "first")).unwrap();
    assert!(again.decision.duplicate && again.committed && again.seq.is_none(), "{again:?}");
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().counters.events, MAX_RECENT as u64 + 11);
    assert_eq!(engine.metrics().duplicates, 2);
}

/// Whether the session remembers the event, only the log does, or another engine wrote it.
#[test]
fn the_same_event_from_two_engines_counts_once_whatever_its_age() {
    let folder = Folder::new();
    let (mut one, mut other) = (folder.engine(), folder.engine());
    let many = MAX_RECENT as u64 + 512;
    for n in 0..many {
        let (first, second) = if n % 3 == 0 { (&mut other, &mut one) } else { (&mut one, &mut other) };
        assert!(!first.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
        assert!(second.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
    }
    for n in 0..many {
        assert!(one.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
    }
    assert_eq!(folder.engine().session(&key("s")).unwrap().unwrap().counters.events, many);
}

#[test]
fn facts_told_by_many_engines_at_the_same_time_count_once() {
    const ENGINES: usize = 6;
    let folder = Folder::new();
    let facts = 306;
    let start = Barrier::new(ENGINES);
    let patient = || belay_store::open(&StoreUrl::local(folder.file()), Access::Write).unwrap();
    let engines: Vec<_> = (0..ENGINES).map(|_| Engine::new(patient(), EngineOptions::default())).collect();
    let tell_all = |mut engine: Engine| -> u64 {
        start.wait();
        (0..facts).map(|n| u64::from(!engine.observe(call("s", n)).unwrap().decision.duplicate)).sum()
    };
    let new: Vec<u64> = std::thread::scope(|scope| {
        let telling: Vec<_> = engines.into_iter().map(|engine| scope.spawn(|| tell_all(engine))).collect();
        telling.into_iter().map(|engine| engine.join().unwrap()).collect()
    });
    assert_eq!(new.iter().sum::<u64>(), facts, "{new:?}");
    assert_eq!(folder.engine().session(&key("s")).unwrap().unwrap().counters.events, facts);
}

#[test]
fn a_question_asked_twice_is_answered_alike() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    engine.observe(prompt("s", "a")).unwrap();
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let asked = engine.observe(call("s", 1)).unwrap().decision.verdict;
    let again = folder.engine().observe(call("s", 1)).unwrap().decision;
    assert!(again.duplicate);
    assert_eq!(again.verdict, asked);
    // A result is no question: told twice, it is still just taken note of.
    let told = engine.observe(result("s", 1)).unwrap().decision;
    let told_again = engine.observe(result("s", 1)).unwrap().decision;
    assert_eq!((told.verdict, told_again.verdict), (Verdict::Go, Verdict::Go));
}

#[test]
fn a_batch_is_one_commit_and_each_event_has_its_answer() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    let nameless = event("", "x", Body::Prompt(Prompt::default()));
    let answers = engine.observe_batch(vec![prompt("a", "1"), nameless, prompt("b", "1"), prompt("a", "1")]);
    assert_eq!(answers[0].as_ref().unwrap().seq, Some(1));
    let refused = answers[1].as_ref().unwrap_err();
    assert_eq!(refused.to_string(), "session.id: must not be empty");
    assert_eq!(answers[2].as_ref().unwrap().seq, Some(1));
    assert!(answers[3].as_ref().unwrap().decision.duplicate);
    assert_eq!(engine.metrics().commits, 1);
    assert_eq!(folder.store().events(&EventQuery::default()).unwrap().len(), 2);
}

#[test]
fn a_decision_needs_a_session() {
    let folder = Folder::new();
    let missing = folder.engine().decide(&key("nobody"), OperatorDecision::Kill, "", None);
    assert!(matches!(missing, Err(EngineError::Store(StoreError::NotFound(_)))), "{missing:?}");
    assert!(folder.store().session(&key("nobody")).unwrap().is_none(), "nothing half-written");
}

#[test]
fn an_event_without_a_time_gets_ours_and_one_from_the_future_too() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    let mut timeless = prompt("s", "a");
    timeless.at = Timestamp::UNKNOWN;
    engine.observe(timeless).unwrap();
    let mut future = prompt("s", "b");
    future.at = Timestamp::from_millis(START) + Duration::from_secs(400 * 86_400);
    engine.observe(future).unwrap();
    let mut past = prompt("s", "c");
    past.at = Timestamp::from_millis(START - 5000);
    engine.observe(past).unwrap();
    let rows = engine.store().unwrap().events(&EventQuery::default()).unwrap();
    assert_eq!(rows.iter().map(|row| row.at.millis()).collect::<Vec<_>>(), [START, START, START - 5000]);
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().facts.last_at, Timestamp::from_millis(START));
    assert_eq!(engine.metrics().retimed, 1);
}

#[test]
fn the_log_keeps_a_tick_only_if_something_followed() {
    let folder = Folder::new();
    let clock = TestClock::default();
    let mut engine = folder.engine_with(&clock);
    engine.observe(prompt("s", "a")).unwrap();
    let tick = |id: &str| {
        let mut tick = event("s", id, Body::Tick);
        tick.at = Timestamp::UNKNOWN;
        tick
    };
    assert_eq!(engine.observe(tick("t1")).unwrap().seq, None);
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let resume = OperatorDecision::Resume { cooldown_secs: Some(60), plan: None, require_plan: false, reset: false };
    engine.decide(&key("s"), resume, "", None).unwrap();
    assert_eq!(engine.observe(tick("t2")).unwrap().seq, None, "the cooldown goes on");
    clock.pass(Duration::from_secs(61));
    assert_eq!(engine.observe(tick("t3")).unwrap().seq, Some(4));
    assert_eq!(folder.store().session(&key("s")).unwrap().unwrap().state, SessionState::Active);
    assert_eq!(folder.store().incidents(&IncidentQuery::default()).unwrap(), [], "what is lifted is closed");
}

#[test]
fn a_pause_by_the_detector_is_done_again_with_full_sync() {
    let folder = Folder::new();
    let mut engine = folder.engine();
    let paused = (0..200).find_map(|n| {
        let asked = engine.observe(call("s", n)).unwrap();
        let told = engine.observe(failure("s", n)).unwrap();
        let held = [&asked, &told].into_iter().any(|answer| {
            let mut changes = answer.decision.effects.iter();
            changes.any(|effect| matches!(effect, Effect::StateChanged { to, .. } if to.is_paused()))
        });
        held.then_some(2 * n + 2)
    });
    let events = paused.expect("the same failing command for ever is a loop");
    let metrics = engine.metrics();
    assert_eq!((metrics.redone, metrics.commits, metrics.events), (1, events, events), "{metrics:?}");
    let store = folder.store();
    let row = store.session(&key("s")).unwrap().unwrap();
    assert_eq!((row.version, row.state.is_paused()), (events, true));
    let incidents = store.incidents(&IncidentQuery::default()).unwrap();
    let finding = incidents[0].finding.as_ref().unwrap();
    assert_eq!(store.finding(&finding.id).unwrap().unwrap().session, key("s"));
    let news = store.outbox(None, 100).unwrap();
    assert_eq!(news.iter().filter(|message| message.topic == "incident_opened").count(), 1, "{news:#?}");
    let held = folder.engine().observe(call("s", 500)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
}
