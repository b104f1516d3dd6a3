//! The engine and its questions.

use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::key::MAX_ID_BYTES;
use belay_core::session::Budget;
use belay_core::{Body, Event, EventOutcome, Excerpt, Rules, Session, SessionKey, Source, Timestamp};
use belay_store::{Access, Result as StoreResult, Store, StoreError};
use uuid::Uuid;

use crate::cache::SessionCache;
use crate::clock::{Clock, SystemClock};
use crate::error::EngineError;
use crate::health::Health;
use crate::memory_fallback::{self, MemoryFallback};
use crate::metrics::Metrics;
use crate::rules_cache::{RulesCache, RulesProvider};

/// A sensor's clock may run this much ahead of ours before we stop believing it.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// Opens the store, and opens it again after a fault.
pub type StoreOpener = Box<dyn FnMut(Access) -> StoreResult<Box<dyn Store>> + Send>;

/// How an engine is set up.
pub struct EngineOptions {
    pub rules: Box<dyn RulesProvider>,
    pub clock: Box<dyn Clock>,
    /// Sessions kept at hand.
    pub sessions: usize,
    /// Events kept in memory while the store cannot be written.
    pub spool: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            rules: Box::new(Arc::new(Rules::default())),
            clock: Box::new(SystemClock::default()),
            sessions: 256,
            spool: 8192,
        }
    }
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("sessions", &self.sessions).field("spool", &self.spool).finish_non_exhaustive()
    }
}

/// Takes events, answers decisions, writes sessions. One thread works it; other processes may have their own.
pub struct Engine {
    pub(crate) store: Option<Box<dyn Store>>,
    /// There as long as the store is not open for writing.
    pub(crate) opener: Option<StoreOpener>,
    pub(crate) options: EngineOptions,
    pub(crate) rulebook: RulesCache,
    pub(crate) cache: SessionCache,
    /// There while the store cannot be written.
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
        Self {
            store: Some(store),
            opener: None,
            cache: SessionCache::new(options.sessions),
            options,
            rulebook: RulesCache::default(),
            memory: None,
            metrics: Metrics::default(),
        }
    }

    /// Opens the store, and goes on without it if it must: [`Engine::health`] tells. The store is tried again later,
    /// unless it is one that must not be written.
    pub fn open(mut opener: StoreOpener, options: EngineOptions) -> Self {
        let opened = opener(Access::Write);
        let mut engine = Self {
            store: None,
            opener: Some(opener),
            cache: SessionCache::new(options.sessions),
            options,
            rulebook: RulesCache::default(),
            memory: None,
            metrics: Metrics::default(),
        };
        match opened {
            Ok(store) => {
                engine.store = Some(store);
                engine.opener = None;
            }
            Err(error) => {
                engine.fail(&error);
                engine.store = engine.opener.as_mut().and_then(|opener| opener(Access::Read).ok());
            }
        }
        engine
    }

    /// Takes one event in and answers what the agent may do.
    pub fn observe(&mut self, mut event: Event) -> Result<EventOutcome, EngineError> {
        self.admit(&mut event, self.options.clock.now())?;
        let mut answers = self.observe_batch_inner(vec![event]);
        Ok(answers.swap_remove(0))
    }

    /// Takes many events in under one commit. Each is answered; those that cannot be taken say why.
    pub fn observe_batch(&mut self, mut events: Vec<Event>) -> Vec<Result<EventOutcome, EngineError>> {
        let now = self.options.clock.now();
        let mut refused = Vec::with_capacity(events.len());
        // In place: events are large, and hardly ever is one refused.
        events.retain_mut(|event| {
            refused.push(self.admit(event, now).err());
            matches!(refused.last(), Some(None))
        });
        let mut all = Vec::with_capacity(refused.len());
        let mut answers = self.observe_batch_inner(events).into_iter();
        all.extend(refused.into_iter().filter_map(|error| match error {
            Some(error) => Some(Err(error)),
            None => answers.next().map(Ok),
        }));
        all
    }

    /// A person's decision about a session, as an event like any other.
    pub fn decide(
        &mut self,
        session: &SessionKey,
        decision: OperatorDecision,
        note: &str,
        by: Option<&str>,
    ) -> Result<EventOutcome, EngineError> {
        let event = self.operator_event(session, decision, note, by)?;
        self.observe(event)
    }

    /// The event of a person's decision; an error if the session does not exist.
    pub(crate) fn operator_event(
        &self,
        session: &SessionKey,
        decision: OperatorDecision,
        note: &str,
        by: Option<&str>,
    ) -> Result<Event, EngineError> {
        if !self.knows(session)? {
            return Err(StoreError::NotFound(session.to_string()).into());
        }
        let now = self.options.clock.now();
        let body = Body::Operator(Operator { decision, note: Excerpt::new(note), by: by.map(str::to_owned) });
        Ok(Event::new(new_id(now), session.clone(), Source::Operator, now, body))
    }

    fn knows(&self, session: &SessionKey) -> Result<bool, EngineError> {
        if let Some(memory) = &self.memory
            && (memory.session(session).is_some() || self.cache.peek(session).is_some())
        {
            return Ok(true);
        }
        match self.store.as_deref().map(|store| store.session(session)) {
            Some(Ok(row)) => Ok(row.is_some()),
            // Nobody can say whether it exists; the person does.
            None | Some(Err(_)) if self.memory.is_some() => Ok(true),
            None => Ok(false),
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// A whole session as of its last event; `None` when nobody has seen it.
    pub fn session(&self, key: &SessionKey) -> Result<Option<Session>, EngineError> {
        if let Some(session) = self.memory.as_ref().and_then(|memory| memory.session(key)) {
            return Ok(Some(session.clone()));
        }
        let Some(store) = self.store.as_deref() else { return Ok(None) };
        let held = memory_fallback::read(store, &*self.options.rules, &self.rulebook, key)?;
        Ok(held.map(|held| held.session))
    }

    /// What a session that was told of lately may still spend, see [`Session::remaining_budget`], and whether it shares that.
    pub fn remaining_budget(&self, key: &SessionKey) -> (Budget, bool) {
        let in_memory = self.memory.as_ref().and_then(|memory| memory.session(key));
        let session = in_memory.or_else(|| self.cache.peek(key).map(|held| &held.session));
        session.map(|session| (session.remaining_budget(), session.has_shared_budget())).unwrap_or_default()
    }

    /// The store, for reading. `None` while it cannot be opened at all.
    pub fn store(&self) -> Option<&dyn Store> {
        self.store.as_deref()
    }

    /// The store, for what is not a session: outbox, settings, tombstones.
    pub fn store_mut(&mut self) -> Option<&mut (dyn Store + 'static)> {
        self.store.as_deref_mut()
    }

    pub fn health(&self) -> Health {
        match &self.memory {
            Some(memory) => {
                Health { fault: Some(memory.fault.clone()), spooled: memory.spool.len(), dropped: memory.dropped }
            }
            None => Health::default(),
        }
    }

    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Checks what sensors built in-process could get wrong, and sets the time right.
    fn admit(&mut self, event: &mut Event, now: Timestamp) -> Result<(), EngineError> {
        let fields = [("id", &*event.id), ("session.agent", &*event.session.agent), ("session.id", &*event.session.id)];
        for (field, text) in fields {
            let problem = match text.len() {
                0 => "must not be empty".to_owned(),
                long if long > MAX_ID_BYTES => format!("is {long} bytes long; at most {MAX_ID_BYTES} are kept"),
                _ => continue,
            };
            return Err(EngineError::Refused { field, problem });
        }
        if !event.at.is_known() {
            event.at = now;
        } else if event.at > now + MAX_CLOCK_SKEW {
            // A clock that jumped must not keep a session newest for ever, or end a cooldown early.
            tracing::warn!(session = %event.session, at = %event.at, "an event from the future is taken as of now");
            event.at = now;
            self.metrics.retimed += 1;
        }
        Ok(())
    }
}

fn new_id(now: belay_core::Timestamp) -> String {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    let seconds = millis / 1000;
    let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)).to_string()
}
