//! Shared test fixtures.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use belay_clock::Clock;
use belay_core::event::{Prompt, SessionStarted, ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Timestamp, ToolKind};
use belay_engine::{Engine, EngineOptions};
use belay_store::{OpenOptions, SqliteStore, Store};

/// A temporary directory with a store.
pub(crate) struct TestDir(pub(crate) tempfile::TempDir);

impl TestDir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("belay.db")
    }

    pub(crate) fn store(&self) -> Box<dyn Store> {
        // Do not wait for a lock that a test holds on purpose.
        let options = OpenOptions { busy_timeout: Duration::ZERO, ..OpenOptions::default() };
        Box::new(SqliteStore::open(self.file(), options).unwrap())
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(self.store(), EngineOptions { clock: Box::new(TestClock::default()), ..EngineOptions::default() })
    }

    pub(crate) fn engine_with(&self, clock: &TestClock) -> Engine {
        Engine::new(self.store(), EngineOptions { clock: Box::new(clock.clone()), ..EngineOptions::default() })
    }

    /// A direct connection to the database file.
    pub(crate) fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

/// A clock that the test advances.
#[derive(Clone)]
pub(crate) struct TestClock {
    now: Arc<AtomicI64>,
    elapsed: Arc<AtomicI64>,
}

pub(crate) const START: i64 = 1_790_000_000_000;

impl Default for TestClock {
    fn default() -> Self {
        Self { now: Arc::new(AtomicI64::new(START)), elapsed: Arc::default() }
    }
}

impl TestClock {
    /// Advances both clocks.
    pub(crate) fn advance(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap();
        self.elapsed.fetch_add(millis, Ordering::Relaxed);
        self.jump(millis);
    }

    /// Sets the wall clock ahead or back.
    pub(crate) fn jump(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed.load(Ordering::Relaxed).cast_unsigned())
    }
}

pub(crate) fn key(id: &str) -> SessionKey {
    SessionKey::new("codex", id)
}

pub(crate) fn event(session: &str, id: &str, body: Body) -> Event {
    Event::new(id, key(session), Source::Api, Timestamp::from_millis(START), body)
}

pub(crate) fn prompt(session: &str, id: &str) -> Event {
    event(session, id, Body::Prompt(Prompt::default()))
}

pub(crate) fn started(session: &str, id: &str, project: &str) -> Event {
    let start = SessionStarted { project: Some(project.to_owned()), ..SessionStarted::default() };
    event(session, id, Body::SessionStarted(start))
}

pub(crate) fn call(session: &str, n: u64) -> Event {
    let input = serde_json::json!({ "command": "cargo test" });
    let called = ToolCalled::new(Some(format!("call-{n}")), Some(ToolKind::Shell), "shell", &input);
    event(session, &format!("c{n}"), Body::ToolCalled(called))
}

pub(crate) fn result(session: &str, n: u64) -> Event {
    let returned = ToolReturned::new(Some(format!("call-{n}")), None, Some(0), &format!("ok {n}"));
    event(session, &format!("r{n}"), Body::ToolReturned(returned))
}

/// A failed result with the same output for every `n`.
pub(crate) fn failure(session: &str, n: u64) -> Event {
    let output = "error[E0425]: cannot find value `x` in this scope";
    let returned = ToolReturned::new(Some(format!("call-{n}")), None, Some(101), output);
    event(session, &format!("r{n}"), Body::ToolReturned(returned))
}
