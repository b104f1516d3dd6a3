//! Decisions without a store: sessions in memory, and events that wait to be written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Decision, Digest, Event, Incident, Rules, Session, SessionKey, Source, Time};
use belay_store::{Head, Result, Store, StoreError, Stored};

use crate::batch::{again, project};
use crate::cache::{Cache, Held};
use crate::health::Fault;
use crate::load::{self, Lookup};
use crate::rulebook::{Rulebook, RulesFor};

/// A broken store is tried again after this long at first, then at ever longer intervals.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(5);

/// How much waits in memory at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
}

/// What goes on while the store cannot be written.
pub(crate) struct Memory {
    pub(crate) fault: Fault,
    /// Sessions as of their last event, whether written or not.
    sessions: HashMap<SessionKey, Overlay>,
    pub(crate) spool: VecDeque<Event>,
    pub(crate) dropped: u64,
    retry_at: Duration,
    interval: Duration,
}

struct Overlay {
    session: Session,
    /// The store's version it rests on.
    base: u64,
}

impl Memory {
    pub(crate) fn new(error: &StoreError, now: Time, elapsed: Duration) -> Self {
        let fault = Fault { since: now, problem: error.to_string(), hint: error.hint() };
        Self {
            fault,
            sessions: HashMap::new(),
            spool: VecDeque::new(),
            dropped: 0,
            retry_at: elapsed + FIRST_RETRY,
            interval: FIRST_RETRY,
        }
    }

    pub(crate) fn is_due(&self, elapsed: Duration) -> bool {
        elapsed >= self.retry_at
    }

    /// It still does not work.
    pub(crate) fn put_off(&mut self, error: &StoreError, elapsed: Duration) {
        self.fault.problem = error.to_string();
        self.fault.hint = error.hint();
        self.interval = (self.interval * 2).min(LAST_RETRY);
        self.retry_at = elapsed + self.interval;
    }

    /// Decides on an event, and keeps it to be written later.
    pub(crate) fn take_in(
        &mut self,
        store: Option<&dyn Store>,
        cache: &Cache,
        rules: &dyn RulesFor,
        rulebook: &mut Rulebook,
        bounds: Bounds,
        event: Event,
    ) -> Decision {
        let overlay = self.overlay(store, cache, rules, rulebook, &event.session);
        let session = &mut overlay.session;
        let identity = Digest::of(event.identity());
        if session.has_seen(identity) {
            return again(session, &event, identity);
        }
        let in_force = rules.rules_for(project(session, &event));
        let effects = session.apply(&event, &in_force);
        let decision = Decision { verdict: session.verdict(&event), effects, duplicate: false };
        // A person's decision always finds room.
        if self.spool.len() < bounds.events || matches!(event.body, Body::Operator(_)) {
            self.spool.push_back(event);
        } else {
            self.dropped += 1;
        }
        decision
    }

    fn overlay(
        &mut self,
        store: Option<&dyn Store>,
        cache: &Cache,
        rules: &dyn RulesFor,
        rulebook: &Rulebook,
        key: &SessionKey,
    ) -> &mut Overlay {
        // A store that cannot be written can often be read: what others decided there counts.
        let stored = store.and_then(|store| store.session(key).ok().flatten()).map(|row| row.version);
        let known = self.sessions.get(key).map(|overlay| overlay.base);
        if known.is_none() || stored.is_some_and(|stored| Some(stored) != known) {
            let held = store
                .and_then(|store| read(store, rules, rulebook, key).ok().flatten())
                .or_else(|| cache.peek(key).cloned());
            let mut overlay = match held {
                Some(held) => Overlay { session: held.session, base: held.version },
                None => Overlay { session: Session::new(key.clone()), base: 0 },
            };
            for event in self.spool.iter().filter(|event| event.session == *key) {
                let in_force = rules.rules_for(project(&overlay.session, event));
                overlay.session.apply(event, &in_force);
            }
            self.sessions.insert(key.clone(), overlay);
        }
        self.sessions.entry(key.clone()).or_insert_with(|| Overlay { session: Session::new(key.clone()), base: 0 })
    }

    pub(crate) fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.get(key).map(|overlay| &overlay.session)
    }

    /// Sessions held in memory for evidence that found no room: their pause must not get lost with it.
    pub(crate) fn held_without_evidence(&self, at: Time) -> Vec<Event> {
        if self.dropped == 0 {
            return Vec::new();
        }
        let held = self.sessions.values().map(|overlay| &overlay.session);
        held.filter_map(|session| {
            let decision = match (session.state.is_killed(), session.state.is_paused()) {
                (true, _) => OperatorDecision::Kill,
                (_, true) => OperatorDecision::Pause,
                _ => return None,
            };
            let why = session.incident.as_ref().map_or("", |incident| incident.sentence.as_str());
            let note = format!("{why} Decided while the store could not be written; not all events were kept.");
            let body =
                Body::Operator(Operator { decision, note: note.trim_start().into(), by: Some("belay".to_owned()) });
            // Derived, so that a second attempt writes the same event.
            let id = format!("held-in-memory-{}", self.fault.since.millis());
            Some(Event::new(id, session.key.clone(), Source::Timer, at, body))
        })
        .collect()
    }
}

/// A session as the store has it.
pub(crate) fn read(
    store: &dyn Store,
    rules: &dyn RulesFor,
    rulebook: &Rulebook,
    key: &SessionKey,
) -> Result<Option<Held>> {
    let Some(stored) = store.load(key, SESSION_FORMAT)? else { return Ok(None) };
    let head = stored.head.clone();
    let mut lookup = ByReading { store, key, rulebook, today: rules.rules_for(None), stored: Some(stored) };
    load::restore(key, head, &mut lookup).map(Some)
}

/// A replay beside the writers.
struct ByReading<'a> {
    store: &'a dyn Store,
    key: &'a SessionKey,
    rulebook: &'a Rulebook,
    today: Arc<Rules>,
    stored: Option<Stored>,
}

impl Lookup for ByReading<'_> {
    fn load(&mut self, head: Head, format: u16) -> Result<Stored> {
        if let Some(stored) = self.stored.take() {
            return Ok(stored);
        }
        let again = self.store.load(self.key, format)?;
        Ok(again.unwrap_or(Stored { head, snapshot: None, tail: Vec::new() }))
    }

    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rulebook.find(digest) {
            return Ok(rules);
        }
        let json = self.store.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.today), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.store.incident(id)
    }
}
