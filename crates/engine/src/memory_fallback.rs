//! Decisions while the store is not writable: sessions in memory and a spool of unwritten events.

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
use crate::held_file::HeldFile;
use crate::restore::{self, RestoreSource};
use crate::rules_cache::{RulesCache, RulesProvider, RulesScope};
use crate::transaction::{duplicate_decision, is_held, is_idle_tick};

/// Bounds of the exponential back-off between attempts to write.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Maximum number of sessions in memory, not counting held ones.
const MAX_SESSIONS: usize = 1024;

/// What a decision in memory may read.
pub(crate) struct FallbackContext<'a> {
    /// A store that is not writable is often still readable.
    pub(crate) store: Option<&'a dyn Store>,
    pub(crate) cache: &'a SessionCache,
    pub(crate) rules: &'a dyn RulesProvider,
    pub(crate) rules_cache: &'a RulesCache,
    pub(crate) held_file: Option<&'a HeldFile>,
}

/// State while the store is not writable.
pub(crate) struct MemoryFallback {
    pub(crate) fault: StoreFault,
    /// Sessions as of their last event, including unwritten ones.
    sessions: HashMap<SessionKey, FallbackSession>,
    pub(crate) spool: VecDeque<Event>,
    pub(crate) dropped: u64,
    retry_at: Duration,
    delay: Duration,
}

struct FallbackSession {
    session: Session,
    /// The stored version it is based on.
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
            delay: MIN_RETRY_DELAY,
        }
    }

    pub(crate) fn should_retry(&self, elapsed: Duration) -> bool {
        elapsed >= self.retry_at
    }

    /// Records another failed attempt and doubles the retry delay.
    pub(crate) fn back_off(&mut self, error: &StoreError, elapsed: Duration) {
        self.fault.problem = error.to_string();
        self.fault.hint = error.hint();
        self.delay = (self.delay * 2).min(MAX_RETRY_DELAY);
        self.retry_at = elapsed + self.delay;
    }

    /// Decides on an event and spools it, up to `capacity` events.
    pub(crate) fn apply(&mut self, context: &FallbackContext<'_>, capacity: usize, event: Event) -> Decision {
        self.refresh(context, &event.session);
        let Some(overlay) = self.sessions.get_mut(&event.session) else { return Decision::default() };
        let session = &mut overlay.session;
        let identity = event.identity_digest();
        if session.is_duplicate(identity) {
            return duplicate_decision(session, &event);
        }
        let rules = context.rules.rules_for(RulesScope::for_event(session, &event));
        if is_idle_tick(session, &event, &rules) {
            return Decision::default();
        }
        let effects = session.apply(&event, &rules);
        let mut decision = Decision { verdict: session.verdict(&event), effects, duplicate: false };
        let parent = session.parent.clone();
        if event.is_question() && decision.verdict == Verdict::Go {
            decision.verdict = self.ancestor_verdict(context, parent);
        }
        // An operator's decision is spooled even beyond the capacity.
        if self.spool.len() < capacity || matches!(event.body, Body::Operator(_)) {
            self.spool.push_back(event);
        } else {
            self.dropped += 1;
        }
        decision
    }

    /// The verdict of the nearest held ancestor; `Go` if none is held.
    fn ancestor_verdict(&mut self, context: &FallbackContext<'_>, mut parent: Option<SessionKey>) -> Verdict {
        for _ in 0..MAX_ANCESTORS {
            let Some(key) = parent else { break };
            self.refresh(context, &key);
            let Some(overlay) = self.sessions.get(&key) else { break };
            match overlay.session.hold_verdict() {
                Verdict::Go => parent = overlay.session.parent.clone(),
                held => return held,
            }
        }
        Verdict::Go
    }

    /// Reloads a session if another process has changed it in the store, and reapplies its spooled events.
    fn refresh(&mut self, context: &FallbackContext<'_>, key: &SessionKey) {
        let stored = context.store.and_then(|store| store.session(key).ok().flatten()).map(|row| row.version);
        let base = self.sessions.get(key).map(|overlay| overlay.base);
        if base.is_some() && (stored.is_none() || stored == base) {
            return;
        }
        let read = context.store.map(|store| read_session(store, context.rules, context.rules_cache, key));
        let is_readable = matches!(read, Some(Ok(_)));
        let read = read.and_then(Result::ok).flatten();
        let mut overlay = match read.or_else(|| context.cache.peek(key).cloned()) {
            Some(held) => FallbackSession { session: held.session, base: held.version },
            None => FallbackSession { session: Session::new(key.clone()), base: 0 },
        };
        if !is_readable
            && !is_held(&overlay.session.state)
            && let Some(state) = context.held_file.and_then(|file| file.state_of(key))
        {
            overlay.session.state = state;
        }
        for event in self.spool.iter().filter(|event| event.session == *key) {
            let rules = context.rules.rules_for(RulesScope::for_event(&overlay.session, event));
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

    /// Operator events for sessions that were put on hold in memory but whose evidence was dropped from the spool, so that
    /// the pause or kill is not lost.
    pub(crate) fn held_without_evidence(&self, store: &dyn Store, now: Timestamp) -> Vec<Event> {
        let sessions = self.sessions.values().map(|overlay| &overlay.session);
        let unrecorded = sessions.filter(|session| {
            let stored = store.session(&session.key).ok().flatten();
            self.dropped > 0 && is_held(&session.state) && stored.is_none_or(|row| !is_held(&row.state))
        });
        unrecorded
            .map(|session| {
                let killed = session.state.is_killed();
                let why = session.incident.as_ref().map_or("", |incident| incident.sentence.as_str());
                let note = format!("{why} Decided while the store was not writable; some events were not recorded.");
                let body = Body::Operator(Operator {
                    decision: if killed { OperatorDecision::Kill } else { OperatorDecision::Pause },
                    note: note.trim_start().into(),
                    by: Some("belay".to_owned()),
                    caller: None,
                });
                // Derived, so that a retry produces the same event.
                let id = format!("held-in-memory-{}", self.fault.since.millis());
                Event::new(id, session.key.clone(), Source::Timer, now, body)
            })
            .collect()
    }
}

/// Restores a session from the store without a transaction.
pub(crate) fn read_session(
    store: &dyn Store,
    rules: &dyn RulesProvider,
    rules_cache: &RulesCache,
    key: &SessionKey,
) -> Result<Option<CachedSession>> {
    let Some(stored) = store.load(key, SESSION_FORMAT)? else { return Ok(None) };
    let head = stored.head.clone();
    let mut lookup =
        StoreLookup { store, key, rules_cache, current: rules.rules_for(RulesScope::default()), stored: Some(stored) };
    restore::restore(key, head, &mut lookup).map(Some)
}

/// Restores through the read-only interface of the store.
struct StoreLookup<'a> {
    store: &'a dyn Store,
    key: &'a SessionKey,
    rules_cache: &'a RulesCache,
    current: Arc<Rules>,
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
        if let Some(rules) = self.rules_cache.by_digest(digest) {
            return Ok(rules);
        }
        let json = self.store.rules(digest)?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).map_or_else(|| Arc::clone(&self.current), Arc::new))
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.store.incident(id)
    }
}
