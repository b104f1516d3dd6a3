//! Decisions of the engine, and what it writes to the store.

use std::sync::Barrier;
use std::time::Duration;

use crate::fixtures::{START, TestClock, TestDir, call, event, failure, key, prompt, result, started};
use belay_core::event::{OperatorDecision, Prompt, ToolCalled, ToolReturned};
use belay_core::session::MAX_RECENT;
use belay_core::{Body, Effect, SessionState, Timestamp, ToolKind, Verdict};
use belay_engine::{Engine, EngineError, EngineOptions};
use belay_store::{Access, EventQuery, IncidentQuery, SessionQuery, StoreError, StoreUrl};
use serde_json::json;

#[test]
fn a_pause_by_one_engine_holds_in_another() {
    let dir = TestDir::new();
    let (mut one, mut other) = (dir.engine(), dir.engine());
    assert_eq!(one.observe(prompt("s", "a")).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(other.observe(prompt("s", "b")).unwrap().seq, Some(2));

    let decided = one.decide(&key("s"), OperatorDecision::Pause, "looks odd", Some("me")).unwrap();
    assert!(decided.committed);

    // Even a duplicate is decided on the current state, not on the cached copy.
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
    assert_eq!(store.messages(10).unwrap()[0].topic, "incident_opened");
}

#[test]
fn a_repeated_event_counts_once_at_any_age() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    assert!(!engine.observe(prompt("s", "first")).unwrap().decision.duplicate);
    assert!(engine.observe(prompt("s", "first")).unwrap().decision.duplicate);
    let many = (0..MAX_RECENT as u64 + 10).map(|n| call("s", n)).collect();
    engine.observe_batch(many);
    let again = engine.observe(prompt("s", "first")).unwrap();
    assert!(again.decision.duplicate && again.committed && again.seq.is_none(), "{again:?}");
    assert_eq!(engine.session(&key("s")).unwrap().unwrap().counters.events, MAX_RECENT as u64 + 11);
    assert_eq!(engine.metrics().duplicates, 2);
}

/// Covers events in the session's ring, events only in the log, and events written by another engine.
#[test]
fn an_event_from_two_engines_counts_once_at_any_age() {
    let dir = TestDir::new();
    let (mut one, mut other) = (dir.engine(), dir.engine());
    let many = MAX_RECENT as u64 + 512;
    for n in 0..many {
        let (first, second) = if n % 3 == 0 { (&mut other, &mut one) } else { (&mut one, &mut other) };
        assert!(!first.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
        assert!(second.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
    }
    for n in 0..many {
        assert!(one.observe(call("s", n)).unwrap().decision.duplicate, "{n}");
    }
    assert_eq!(dir.engine().session(&key("s")).unwrap().unwrap().counters.events, many);
}

#[test]
fn concurrent_reports_of_an_event_count_once() {
    const ENGINES: usize = 6;
    let dir = TestDir::new();
    let facts = 306;
    let start = Barrier::new(ENGINES);
    let open = || belay_store::open(&StoreUrl::local(dir.file()), Access::Write).unwrap();
    let engines: Vec<_> = (0..ENGINES).map(|_| Engine::new(open(), EngineOptions::default())).collect();
    let observe_all = |mut engine: Engine| -> u64 {
        start.wait();
        (0..facts).map(|n| u64::from(!engine.observe(call("s", n)).unwrap().decision.duplicate)).sum()
    };
    let new: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = engines.into_iter().map(|engine| scope.spawn(|| observe_all(engine))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(new.iter().sum::<u64>(), facts, "{new:?}");
    assert_eq!(dir.engine().session(&key("s")).unwrap().unwrap().counters.events, facts);
}

#[test]
fn a_repeated_question_gets_the_same_verdict() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(prompt("s", "a")).unwrap();
    engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    let asked = engine.observe(call("s", 1)).unwrap().decision.verdict;
    let again = dir.engine().observe(call("s", 1)).unwrap().decision;
    assert!(again.duplicate);
    assert_eq!(again.verdict, asked);
    // A result is not a question, so its verdict is always `Go`.
    let first = engine.observe(result("s", 1)).unwrap().decision;
    let second = engine.observe(result("s", 1)).unwrap().decision;
    assert_eq!((first.verdict, second.verdict), (Verdict::Go, Verdict::Go));
}

#[test]
fn a_batch_is_one_commit_with_one_result_per_event() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    let without_id = event("", "x", Body::Prompt(Prompt::default()));
    let answers = engine.observe_batch(vec![prompt("a", "1"), without_id, prompt("b", "1"), prompt("a", "1")]);
    assert_eq!(answers[0].as_ref().unwrap().seq, Some(1));
    let refused = answers[1].as_ref().unwrap_err();
    assert_eq!(refused.to_string(), "session.id: must not be empty");
    assert_eq!(answers[2].as_ref().unwrap().seq, Some(1));
    assert!(answers[3].as_ref().unwrap().decision.duplicate);
    assert_eq!(engine.metrics().commits, 1);
    assert_eq!(dir.store().events(&EventQuery::default()).unwrap().len(), 2);
}

#[test]
fn a_decision_requires_an_existing_session() {
    let dir = TestDir::new();
    let missing = dir.engine().decide(&key("unknown"), OperatorDecision::Kill, "", None);
    assert!(matches!(missing, Err(EngineError::Store(StoreError::NotFound(_)))), "{missing:?}");
    assert!(dir.store().session(&key("unknown")).unwrap().is_none(), "nothing was created");
}

#[test]
fn a_killed_session_is_not_resumed() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    engine.observe(prompt("s", "a")).unwrap();
    engine.decide(&key("s"), OperatorDecision::Kill, "", None).unwrap();
    engine.decide(&key("s"), OperatorDecision::Archive, "", None).unwrap();
    let recorded = || dir.store().events(&EventQuery::default()).unwrap().len();
    let events = recorded();
    let resume = OperatorDecision::Resume { cooldown_secs: Some(60), plan: None, require_plan: false, reset: true };
    let refused = dir.engine().decide(&key("s"), resume, "", None).unwrap_err();
    assert_eq!(refused.to_string(), format!("{} is killed and cannot be resumed", key("s")));
    assert_eq!(recorded(), events, "nothing was recorded");
    engine.decide(&key("s"), OperatorDecision::Note, "a note", None).unwrap();
}

#[test]
fn missing_and_future_timestamps_are_replaced() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
    let mut without_time = prompt("s", "a");
    without_time.at = Timestamp::UNKNOWN;
    engine.observe(without_time).unwrap();
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
fn only_ticks_with_effects_are_recorded() {
    let dir = TestDir::new();
    let clock = TestClock::default();
    let mut engine = dir.engine_with(&clock);
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
    assert_eq!(engine.observe(tick("t2")).unwrap().seq, None, "the cooldown has not ended");
    clock.advance(Duration::from_secs(61));
    assert_eq!(engine.observe(tick("t3")).unwrap().seq, Some(4));
    assert_eq!(dir.store().session(&key("s")).unwrap().unwrap().state, SessionState::Active);
    assert_eq!(dir.store().incidents(&IncidentQuery::default()).unwrap(), [], "the incident is closed");
}

#[test]
fn a_pause_by_a_detector_is_committed_with_full_sync() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    let paused = (0..200).find_map(|n| {
        let asked = engine.observe(call("s", n)).unwrap();
        let returned = engine.observe(failure("s", n)).unwrap();
        let held = [&asked, &returned].into_iter().any(|answer| {
            let mut changes = answer.decision.effects.iter();
            changes.any(|effect| matches!(effect, Effect::StateChanged { to, .. } if to.is_paused()))
        });
        held.then_some(2 * n + 2)
    });
    let events = paused.expect("a command that keeps failing is a loop");
    let metrics = engine.metrics();
    assert_eq!((metrics.redone, metrics.commits, metrics.events), (1, events, events), "{metrics:?}");
    let store = dir.store();
    let row = store.session(&key("s")).unwrap().unwrap();
    assert_eq!((row.version, row.state.is_paused()), (events, true));
    let incidents = store.incidents(&IncidentQuery::default()).unwrap();
    let finding = incidents[0].finding.as_ref().unwrap();
    assert_eq!(store.finding(&finding.id).unwrap().unwrap().session, key("s"));
    let messages = store.messages(100).unwrap();
    assert_eq!(messages.iter().filter(|message| message.topic == "incident_opened").count(), 1, "{messages:#?}");
    let held = dir.engine().observe(call("s", 500)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
}

#[test]
fn a_secret_in_the_name_of_a_project_reaches_neither_alerts_nor_tombstones() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    let secret = ["ghp", "_", &"AbCdEf0123456789".repeat(3)[..36]].concat();
    engine.observe(started("s", "e0", &format!("/src/{secret}/app"))).unwrap();
    for n in 0..20 {
        engine.observe(call("s", n)).unwrap();
        engine.observe(failure("s", n)).unwrap();
    }
    let store = dir.store();
    let (messages, tombstones) = (store.messages(100).unwrap(), store.tombstones(None, Timestamp::from_millis(START)));
    let redacted = "/src/[redacted:github-token]/app";
    assert_eq!(messages[0].payload["project"], redacted);
    assert_eq!(tombstones.unwrap()[0].project, redacted);
    let row = store.session(&key("s")).unwrap().unwrap();
    assert!(!format!("{messages:?}{row:?}").contains(&secret));
}

fn stored_events(dir: &TestDir) -> String {
    let sqlite = dir.sqlite();
    let mut rows = sqlite.prepare("SELECT json FROM events").unwrap();
    let rows: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    rows.concat()
}

#[test]
fn the_result_of_printing_an_environment_file_is_stored_without_values() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    // Lines that no rule recognises; only the call shows what they are.
    let output = "# shop\nname = corner-shop\ncolour: vermilion\nand a line of words\nand another\n";
    let command = "{\"command\": \"cat .env.local\"}".into();
    let called = ToolCalled::new(Some("c1".into()), Some(ToolKind::Shell), "Bash", &command);
    engine.observe(event("s", "e1", Body::ToolCalled(called))).unwrap();
    let returned = ToolReturned::new(Some("c1".into()), None, Some(0), output);
    engine.observe(event("s", "e2", Body::ToolReturned(returned))).unwrap();
    let stored = stored_events(&dir);
    assert!(stored.contains("name = [redacted:env-value]") && stored.contains("a line of words"), "{stored}");
    assert!(!stored.contains("corner-shop") && !stored.contains("vermilion"), "{stored}");
}

/// Longer than the text that a session retains of a call, and than the excerpt that the log retains.
#[test]
fn an_environment_file_is_recognised_anywhere_in_a_call() {
    let dir = TestDir::new();
    let mut engine = dir.engine();
    let place = "cd /home/anna/projects/shop/backend && . .venv/bin/activate";
    let script = "echo step\n".repeat(400);
    let calls = [
        (ToolKind::Shell, "Bash", json!({ "command": format!("{place} && cat .env") })),
        (ToolKind::Shell, "Bash", json!({ "command": format!("{script}cat .env_old\n{script}") })),
        (ToolKind::Read, "Read", json!({ "file_path": format!("/home/anna/{}/.env.production", "deep/".repeat(20)) })),
    ];
    for (n, (kind, tool, input)) in calls.into_iter().enumerate() {
        let id = format!("c{n}");
        let called = ToolCalled::new(Some(id.clone()), Some(kind), tool, &input);
        engine.observe(event("s", &format!("e{n}"), Body::ToolCalled(called))).unwrap();
        for (report, output) in ["db_password = letmein\n", "PIN=8421\n"].into_iter().enumerate() {
            let returned = ToolReturned::new(Some(id.clone()), None, Some(0), output);
            engine.observe(event("s", &format!("r{n}.{report}"), Body::ToolReturned(returned))).unwrap();
        }
    }
    let stored = stored_events(&dir);
    assert_eq!(stored.matches("db_password = [redacted:").count(), 3, "{stored}");
    assert!(!stored.contains("letmein") && !stored.contains("8421"), "{stored}");
}
