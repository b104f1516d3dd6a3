//! Decisions without a store: sessions in memory, and events that wait to be written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::SESSION_FORMAT;
use belay_core::{Body, Decision, Digest, Event, Incident, Rules, Session, SessionKey, Source, Timestamp, Verdict};
use belay_store::{Result, SessionHead, Store, StoreError, StoredSession};

use crate::ancestors::MAX_ANCESTORS;
use crate::cache::{CachedSession, SessionCache};
use crate::health::StoreFault;
use crate::restore::{self, RestoreSource};
use crate::rules_cache::{RulesCache, RulesProvider};
use crate::transaction::{duplicate_decision, is_held, is_idle_tick, project_of};

/// A broken store is tried again after this long at first, then at ever longer intervals.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Sessions kept in memory at most. Held ones stay whatever their number.
const MAX_SESSIONS: usize = 1024;

/// What a decision without a store may look at.
pub(crate) struct FallbackContext<'a> {
    /// A store that cannot be written can often be read.
    pub(crate) store: Option<&'a dyn Store>,
    pub(crate) cache: &'a SessionCache,
    pub(crate) rules: &'a dyn RulesProvider,
    pub(crate) rulebook: &'a RulesCache,
}

/// What goes on while the store cannot be written.
pub(crate) struct MemoryFallback {
    pub(crate) fault: StoreFault,
    /// Sessions as of their last event, whether written or not.
    sessions: HashMap<SessionKey, FallbackSession>,
    pub(crate) spool: VecDeque<Event>,
    pub(crate) dropped: u64,
    retry_at: Duration,
    interval: Duration,
}

struct FallbackSession {
    session: Session,
    /// The store's version it rests on.
    base: u64,
}

impl MemoryFallback {
    pub(crate) fn new(error: &StoreError, now: Timestamp, elapsed: Duration) -> Self {
        let fault = StoreFault { since: now, problem: error.to_string(), hint: error.hint() };
        Self {
            fault,
            sessions: HashMap::new(),
            spool: VecDeque::new(),
            dropped: 0,
            retry_at: elapsed + MIN_RETRY_DELAY,
            interval: MIN_RETRY_DELAY,
        }
    }

    pub(crate) fn should_retry(&self, elapsed: Duration) -> bool {
        elapsed >= self.retry_at
    }

    /// It still does not work.
    pub(crate) fn back_off(&mut self, error: &StoreError, elapsed: Duration) {
        self.fault.problem = error.to_string();
        self.fault.hint = error.hint();
        self.interval = (self.interval * 2).min(MAX_RETRY_DELAY);
        self.retry_at = elapsed + self.interval;
    }

    /// Decides on an event, and keeps it to be written later; at most `room` events wait.
    pub(crate) fn apply(&mut self, around: &FallbackContext<'_>, room: usize, event: Event) -> Decision {
        self.refresh(around, &event.session);
        let Some(overlay) = self.sessions.get_mut(&event.session) else { return Decision::default() };
        let session = &mut overlay.session;
        let identity = event.identity_digest();
        if session.is_duplicate(identity) {
            return duplicate_decision(session, &event);
        }
        let rules = around.rules.rules_for(project_of(session, &event));
        if is_idle_tick(session, &event, &rules) {
            return Decision::default();
        }
        let effects = session.apply(&event, &rules);
        let mut decision = Decision { verdict: session.verdict(&event), effects, duplicate: false };
        let parent = session.parent.clone();
        if event.is_question() && decision.verdict == Verdict::Go {
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
    fn ask_ancestors(&mut self, around: &FallbackContext<'_>, mut parent: Option<SessionKey>) -> Verdict {
        for _ in 0..MAX_ANCESTORS {
            let Some(key) = parent else { break };
            self.refresh(around, &key);
            let Some(overlay) = self.sessions.get(&key) else { break };
            match overlay.session.hold_verdict() {
                Verdict::Go => parent = overlay.session.parent.clone(),
                held => return held,
            }
        }
        Verdict::Go
    }

    /// Has the session in memory as the store and what waits here give it: what others decided meanwhile counts.
    fn refresh(&mut self, around: &FallbackContext<'_>, key: &SessionKey) {
        let stored = around.store.and_then(|store| store.session(key).ok().flatten()).map(|row| row.version);
        let known = self.sessions.get(key).map(|overlay| overlay.base);
        if known.is_some() && (stored.is_none() || stored == known) {
            return;
        }
        let read = around.store.and_then(|store| read(store, around.rules, around.rulebook, key).ok().flatten());
        let mut overlay = match read.or_else(|| around.cache.peek(key).cloned()) {
            Some(held) => FallbackSession { session: held.session, base: held.version },
            None => FallbackSession { session: Session::new(key.clone()), base: 0 },
        };
        for event in self.spool.iter().filter(|event| event.session == *key) {
            let rules = around.rules.rules_for(project_of(&overlay.session, event));
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
    pub(crate) fn held_without_evidence(&self, store: &dyn Store, now: Timestamp) -> Vec<Event> {
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
    rules: &dyn RulesProvider,
    rulebook: &RulesCache,
    key: &SessionKey,
) -> Result<Option<CachedSession>> {
    let Some(stored) = store.load(key, SESSION_FORMAT)? else { return Ok(None) };
    let head = stored.head.clone();
    let mut lookup = StoreLookup { store, key, rulebook, today: rules.rules_for(None), stored: Some(stored) };
    restore::restore(key, head, &mut lookup).map(Some)
}

/// A replay beside the writers.
struct StoreLookup<'a> {
    store: &'a dyn Store,
    key: &'a SessionKey,
    rulebook: &'a RulesCache,
    today: Arc<Rules>,
    stored: Option<StoredSession>,
}

impl RestoreSource for StoreLookup<'_> {
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession> {
        if let Some(stored) = self.stored.take() {
            return Ok(stored);
        }
        let again = self.store.load(self.key, format)?;
        Ok(again.unwrap_or(StoredSession { head, snapshot: None, tail: Vec::new() }))
    }

    fn rules(&mut self, digest: Digest) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rulebook.by_digest(digest) {
            return Ok(rules);
        }
        let json = self.store.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.today), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.store.incident(id)
    }
}
