//! Decisions without a store: sessions in memory, and events that wait to be written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Decision, Digest, Event, Incident, Rules, Session, SessionKey, Source, Time, Verdict};
use belay_store::{Head, Result, Store, StoreError, Stored};

use crate::batch::{again, is_held, is_idle_tick, project};
use crate::cache::{Cache, Held};
use crate::family::MAX_DEPTH;
use crate::health::Fault;
use crate::load::{self, Lookup};
use crate::rulebook::{Rulebook, RulesFor};

/// A broken store is tried again after this long at first, then at ever longer intervals.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(5);

/// Sessions kept in memory at most. Held ones stay whatever their number.
const MAX_SESSIONS: usize = 1024;

/// What a decision without a store may look at.
pub(crate) struct Surroundings<'a> {
    /// A store that cannot be written can often be read.
    pub(crate) store: Option<&'a dyn Store>,
    pub(crate) cache: &'a Cache,
    pub(crate) rules: &'a dyn RulesFor,
    pub(crate) rulebook: &'a Rulebook,
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

    /// Decides on an event, and keeps it to be written later; at most `room` events wait.
    pub(crate) fn take_in(&mut self, around: &Surroundings<'_>, room: usize, event: Event) -> Decision {
        self.refresh(around, &event.session);
        let Some(overlay) = self.sessions.get_mut(&event.session) else { return Decision::default() };
        let session = &mut overlay.session;
        let identity = event.fingerprint();
        if session.has_seen(identity) {
            return again(session, &event);
        }
        let rules = around.rules.rules_for(project(session, &event));
        if is_idle_tick(session, &event, &rules) {
            return Decision::default();
        }
        let effects = session.apply(&event, &rules);
        let mut decision = Decision { verdict: session.verdict(&event), effects, duplicate: false };
        let parent = session.parent.clone();
        if event.asks() && decision.verdict == Verdict::Go {
            decision.verdict = self.ask_ancestors(around, parent);
        }
        // A person's decision always finds room.
        if self.spool.len() < room || matches!(event.body, Body::Operator(_)) {
            self.spool.push_back(event);
        } else {
            self.dropped += 1;
        }
        decision
    }

    /// What the nearest ancestor that is held says to anything asked: `Go` when none is.
    fn ask_ancestors(&mut self, around: &Surroundings<'_>, mut parent: Option<SessionKey>) -> Verdict {
        for _ in 0..MAX_DEPTH {
            let Some(key) = parent else { break };
            self.refresh(around, &key);
            let Some(overlay) = self.sessions.get(&key) else { break };
            match overlay.session.standing() {
                Verdict::Go => parent = overlay.session.parent.clone(),
                held => return held,
            }
        }
        Verdict::Go
    }

    /// Has the session in memory as the store and what waits here give it: what others decided meanwhile counts.
    fn refresh(&mut self, around: &Surroundings<'_>, key: &SessionKey) {
        let stored = around.store.and_then(|store| store.session(key).ok().flatten()).map(|row| row.version);
        let known = self.sessions.get(key).map(|overlay| overlay.base);
        if known.is_some() && (stored.is_none() || stored == known) {
            return;
        }
        let read = around.store.and_then(|store| read(store, around.rules, around.rulebook, key).ok().flatten());
        let mut overlay = match read.or_else(|| around.cache.peek(key).cloned()) {
            Some(held) => Overlay { session: held.session, base: held.version },
            None => Overlay { session: Session::new(key.clone()), base: 0 },
        };
        for event in self.spool.iter().filter(|event| event.session == *key) {
            let rules = around.rules.rules_for(project(&overlay.session, event));
            overlay.session.apply(event, &rules);
        }
        if self.sessions.len() >= MAX_SESSIONS {
            self.sessions.retain(|_, overlay| is_held(&overlay.session.state));
        }
        self.sessions.insert(key.clone(), overlay);
    }

    pub(crate) fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.get(key).map(|overlay| &overlay.session)
    }

    /// Sessions held in memory on evidence that found no room here: their pause must not get lost with it.
    pub(crate) fn held_without_evidence(&self, store: &dyn Store, now: Time) -> Vec<Event> {
        let sessions = self.sessions.values().map(|overlay| &overlay.session);
        let lost = sessions.filter(|session| {
            let stored = store.session(&session.key).ok().flatten();
            self.dropped > 0 && is_held(&session.state) && stored.is_none_or(|row| !is_held(&row.state))
        });
        lost.map(|session| {
            let killed = session.state.is_killed();
            let why = session.incident.as_ref().map_or("", |incident| incident.sentence.as_str());
            let note = format!("{why} Decided while the store could not be written; not all events were kept.");
            let body = Body::Operator(Operator {
                decision: if killed { OperatorDecision::Kill } else { OperatorDecision::Pause },
                note: note.trim_start().into(),
                by: Some("belay".to_owned()),
            });
            // Derived, so that a second attempt writes the same event.
            let id = format!("held-in-memory-{}", self.fault.since.millis());
            Event::new(id, session.key.clone(), Source::Timer, now, body)
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
