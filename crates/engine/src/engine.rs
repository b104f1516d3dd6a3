//! The engine: records events and answers queries about sessions.

use std::sync::Arc;
use std::time::Duration;

use belay_clock::{Clock, SystemClock};
use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::Budget;
use belay_core::{Body, Event, EventOutcome, Excerpt, Rules, Session, SessionKey, SessionState, Source, Timestamp};
use belay_store::{Access, HeldSession, Result as StoreResult, Store, StoreError};
use uuid::Uuid;

use crate::cache::SessionCache;
use crate::error::EngineError;
use crate::health::{Health, Metrics};
use crate::held_file::HeldFile;
use crate::memory_fallback::{self, MemoryFallback};
use crate::rules_cache::{RulesCache, RulesProvider, RulesScope};
use crate::spool::SpoolDir;

/// A sensor's clock may run ahead of ours by at most this much.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// Opens the store, initially and after a fault.
pub type StoreOpener = Box<dyn FnMut(Access) -> StoreResult<Box<dyn Store>> + Send>;

/// Configuration of an engine.
pub struct EngineOptions {
    pub rules: Box<dyn RulesProvider>,
    pub clock: Box<dyn Clock>,
    /// Capacity of the session cache.
    pub sessions: usize,
    /// Maximum number of events spooled in memory while the store is not writable.
    pub spool: usize,
    /// The file of held sessions, for processes that cannot read the store.
    pub held_file: Option<HeldFile>,
    /// Where a process that is about to exit saves the events that it could not write.
    pub spool_dir: Option<SpoolDir>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            rules: Box::new(Arc::new(Rules::default())),
            clock: Box::new(SystemClock::default()),
            sessions: 256,
            spool: 8192,
            held_file: None,
            spool_dir: None,
        }
    }
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineOptions")
            .field("sessions", &self.sessions)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

/// Records events, returns decisions and writes sessions. Single-threaded; each process may have its own.
pub struct Engine {
    pub(crate) store: Option<Box<dyn Store>>,
    /// Set until the store is open for writing.
    pub(crate) opener: Option<StoreOpener>,
    pub(crate) options: EngineOptions,
    pub(crate) rules_cache: RulesCache,
    pub(crate) cache: SessionCache,
    /// Set while the store is not writable.
    pub(crate) memory: Option<MemoryFallback>,
    pub(crate) metrics: Metrics,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("health", &self.health()).field("metrics", &self.metrics).finish_non_exhaustive()
    }
}

impl Engine {
    pub fn new(store: Box<dyn Store>, options: EngineOptions) -> Self {
        let mut engine = Self {
            store: Some(store),
            opener: None,
            cache: SessionCache::new(options.sessions),
            options,
            rules_cache: RulesCache::default(),
            memory: None,
            metrics: Metrics::default(),
        };
        engine.restore_held_sessions();
        engine
    }

    /// Opens the store. If that fails, the engine decides in memory and retries later; see [`Engine::health`].
    pub fn open(mut opener: StoreOpener, options: EngineOptions) -> Self {
        let opened = opener(Access::Write);
        let mut engine = Self {
            store: None,
            opener: Some(opener),
            cache: SessionCache::new(options.sessions),
            options,
            rules_cache: RulesCache::default(),
            memory: None,
            metrics: Metrics::default(),
        };
        match opened {
            Ok(store) => {
                engine.store = Some(store);
                engine.opener = None;
                engine.restore_held_sessions();
            }
            Err(error) => {
                engine.fail(&error);
                engine.store = engine.opener.as_mut().and_then(|opener| opener(Access::Read).ok());
            }
        }
        engine
    }

    /// Records an event and returns what the agent may do.
    pub fn observe(&mut self, mut event: Event) -> Result<EventOutcome, EngineError> {
        self.validate(&mut event, self.options.clock.now())?;
        let mut outcomes = self.observe_batch_inner(vec![event]);
        Ok(outcomes.swap_remove(0))
    }

    /// Records events in one commit and returns one result per event. An invalid event does not affect the others.
    pub fn observe_batch(&mut self, mut events: Vec<Event>) -> Vec<Result<EventOutcome, EngineError>> {
        let now = self.options.clock.now();
        let mut refused = Vec::with_capacity(events.len());
        // In place, because events are large and rarely refused.
        events.retain_mut(|event| {
            refused.push(self.validate(event, now).err());
            matches!(refused.last(), Some(None))
        });
        let mut results = Vec::with_capacity(refused.len());
        let mut outcomes = self.observe_batch_inner(events).into_iter();
        results.extend(refused.into_iter().filter_map(|error| match error {
            Some(error) => Some(Err(error)),
            None => outcomes.next().map(Ok),
        }));
        results
    }

    /// Records an operator's decision about a session.
    pub fn decide(
        &mut self,
        session: &SessionKey,
        decision: OperatorDecision,
        note: &str,
        by: Option<&str>,
    ) -> Result<EventOutcome, EngineError> {
        let operator = Operator { decision, note: Excerpt::new(note), by: by.map(str::to_owned), caller: None };
        let event = self.operator_event(session, operator)?;
        self.observe(event)
    }

    /// Creates the event of an operator's decision; an error if the session does not exist or does not allow it.
    pub(crate) fn operator_event(&self, session: &SessionKey, operator: Operator) -> Result<Event, EngineError> {
        let state = self.state_of(session)?.ok_or_else(|| StoreError::NotFound(session.to_string()))?;
        if let Some(refusal) = operator.decision.refusal(state.resume_requires()) {
            return Err(EngineError::DecisionRefused { session: session.clone(), refusal });
        }
        let now = self.options.clock.now();
        Ok(Event::new(new_id(now), session.clone(), Source::Operator, now, Body::Operator(operator)))
    }

    /// The state of a session as of its last event; `None` if it is unknown.
    fn state_of(&self, session: &SessionKey) -> Result<Option<SessionState>, EngineError> {
        if self.memory.is_some()
            && let Some(cached) = self.cached_session(session)
        {
            return Ok(Some(cached.state.clone()));
        }
        match self.store.as_deref().map(|store| store.session(session)) {
            Some(Ok(row)) => Ok(row.map(|row| row.state)),
            // The store cannot be read; trust the operator.
            None | Some(Err(_)) if self.memory.is_some() => {
                let listed = self.options.held_file.as_ref().and_then(|file| file.state_of(session));
                Ok(Some(listed.unwrap_or_default()))
            }
            None => Ok(None),
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// A session as of its last event; `None` if it is unknown.
    pub fn session(&self, key: &SessionKey) -> Result<Option<Session>, EngineError> {
        if let Some(session) = self.memory.as_ref().and_then(|memory| memory.session(key)) {
            return Ok(Some(session.clone()));
        }
        let read = self
            .store
            .as_deref()
            .map(|store| memory_fallback::read_session(store, &*self.options.rules, &self.rules_cache, key));
        match read {
            Some(Ok(held)) => Ok(held.map(|held| held.session)),
            unreadable => match self.session_from_held_file(key) {
                Some(session) => Ok(Some(session)),
                None => unreadable.map_or(Ok(None), |read| read.map(|_| None)).map_err(EngineError::from),
            },
        }
    }

    /// The held sessions, of the file next to the store if the store cannot be read.
    pub fn held_sessions(&self, limit: usize) -> Vec<HeldSession> {
        let stored = self.store.as_deref().and_then(|store| store.held_sessions(limit).ok());
        let listed = || self.options.held_file.as_ref().map(HeldFile::sessions).unwrap_or_default();
        stored.unwrap_or_else(listed)
    }

    fn session_from_held_file(&self, key: &SessionKey) -> Option<Session> {
        let state = self.options.held_file.as_ref()?.state_of(key)?;
        let mut session = Session::new(key.clone());
        session.state = state;
        Some(session)
    }

    /// The remaining budget of a cached session (see [`Session::remaining_budget`]), and whether it is shared.
    pub fn remaining_budget(&self, key: &SessionKey) -> (Budget, bool) {
        let session = self.cached_session(key);
        session.map(|session| (session.remaining_budget(), session.has_shared_budget())).unwrap_or_default()
    }

    /// The rules of a cached session.
    pub fn rules_of(&self, key: &SessionKey) -> Arc<Rules> {
        let scope = self.cached_session(key).map(|session| RulesScope {
            project: session.facts.project.as_deref().or(session.facts.cwd.as_deref()),
            settings: RulesScope::settings(session),
        });
        self.options.rules.rules_for(scope.unwrap_or_default())
    }

    fn cached_session(&self, key: &SessionKey) -> Option<&Session> {
        let in_memory = self.memory.as_ref().and_then(|memory| memory.session(key));
        in_memory.or_else(|| self.cache.peek(key).map(|held| &held.session))
    }

    /// The store, for reading. `None` while it cannot be opened at all.
    pub fn store(&self) -> Option<&dyn Store> {
        self.store.as_deref()
    }

    /// The store, for writing anything but sessions: outbox, settings, tombstones.
    pub fn store_mut(&mut self) -> Option<&mut (dyn Store + 'static)> {
        self.store.as_deref_mut()
    }

    pub fn health(&self) -> Health {
        match &self.memory {
            Some(memory) => Health {
                fault: Some(memory.fault.clone()),
                spooled: memory.spool.len(),
                dropped: self.metrics.dropped + memory.dropped,
            },
            None => Health { dropped: self.metrics.dropped, ..Health::default() },
        }
    }

    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Checks the ids of an event, which in-process sensors may get wrong, and corrects its timestamp.
    fn validate(&mut self, event: &mut Event, now: Timestamp) -> Result<(), EngineError> {
        event.validate_ids()?;
        event.bound_amounts();
        event.redact_names();
        if !event.at.is_known() {
            event.at = now;
        } else if event.at > now + MAX_CLOCK_SKEW {
            // A clock that jumped ahead must not keep a session at the top of lists or end a cooldown early.
            tracing::warn!(session = %event.session, at = %event.at, "event timestamp is in the future; using the current time");
            event.at = now;
            self.metrics.retimed += 1;
        }
        Ok(())
    }
}

pub(crate) fn new_id(now: Timestamp) -> String {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    let seconds = millis / 1000;
    let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)).to_string()
}
