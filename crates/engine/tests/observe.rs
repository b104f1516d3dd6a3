//! What an engine answers, and what it leaves in the store.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use belay_core::event::{OperatorDecision, Prompt};
use belay_core::{Body, Event, SessionKey, Source, Time, Verdict};
use belay_engine::{Engine, Options};
use belay_store::{IncidentQuery, OpenOptions, SessionQuery, SqliteStore};

fn engine(folder: &tempfile::TempDir) -> Engine {
    let store = SqliteStore::open(folder.path().join("belay.db"), OpenOptions::default()).unwrap();
    Engine::new(Box::new(store), Options::default())
}

fn prompt(id: &str, session: &SessionKey) -> Event {
    Event::new(id, session.clone(), Source::Api, Time::UNKNOWN, Body::Prompt(Prompt::default()))
}

#[test]
fn a_pause_by_one_engine_holds_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let session = SessionKey::new("codex", "s1");
    let (mut one, mut other) = (engine(&folder), engine(&folder));
    assert_eq!(one.observe(prompt("a", &session)).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(other.observe(prompt("b", &session)).unwrap().seq, Some(2));

    let decided = one.decide(&session, OperatorDecision::Pause, "looks odd", Some("me")).unwrap();
    assert!(decided.committed);

    let answer = other.observe(prompt("c", &session)).unwrap();
    assert!(matches!(answer.decision.verdict, Verdict::Hold { .. }), "{answer:?}");
    let store = other.store().unwrap();
    assert_eq!(store.incidents(&IncidentQuery::default()).unwrap().len(), 1);
    assert_eq!(store.notes(&session, 10).unwrap()[0].text, "looks odd");
    let page = store.sessions(&SessionQuery { states: vec!["paused".into()], ..Default::default() }).unwrap();
    assert_eq!(page.rows[0].version, 4);
    assert_eq!(store.outbox(None, 10).unwrap()[0].topic, "incident_opened");
}

#[test]
fn the_same_event_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let session = SessionKey::new("codex", "s1");
    let mut engine = engine(&folder);
    assert!(!engine.observe(prompt("a", &session)).unwrap().decision.duplicate);
    assert!(engine.observe(prompt("a", &session)).unwrap().decision.duplicate);
    assert_eq!(engine.session(&session).unwrap().unwrap().counters.events, 1);
}
