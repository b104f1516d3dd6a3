//! The engine and its questions.

use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{Operator, OperatorDecision};
use belay_core::key::MAX_ID_BYTES;
use belay_core::{Body, Decision, Event, Excerpt, Rules, Session, SessionKey, Source};
use belay_store::{Durability, Pruned, Result as StoreResult, Retention, Store, StoreError};
use uuid::Uuid;

use crate::batch::{Answer, Attempt, Desk};
use crate::cache::Cache;
use crate::clock::{Clock, SystemClock};
use crate::error::EngineError;
use crate::health::Health;
use crate::memory::{self, Bounds, Memory};
use crate::metrics::Metrics;
use crate::rulebook::{Rulebook, RulesFor};

/// Events written under one lock while catching up.
const CATCH_UP: usize = 256;

/// A sensor's clock may run this much ahead of ours before we stop believing it.
const AHEAD: Duration = Duration::from_secs(3600);

/// Opens the store, again and again if need be.
pub type Opener = Box<dyn FnMut() -> StoreResult<Box<dyn Store>> + Send>;

/// How an engine is set up.
pub struct Options {
    pub rules: Box<dyn RulesFor>,
    pub clock: Box<dyn Clock>,
    /// Sessions kept at hand.
    pub sessions: usize,
    /// Events kept in memory while the store cannot be written.
    pub spool: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rules: Box::new(Arc::new(Rules::default())),
            clock: Box::new(SystemClock::default()),
            sessions: 256,
            spool: 16_384,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("sessions", &self.sessions).field("spool", &self.spool).finish_non_exhaustive()
    }
}

/// The answer to one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub decision: Decision,
    /// The event's number in its session; `None` when it was a duplicate or could not be written yet.
    pub seq: Option<u64>,
    /// It is in the store and outlives us. `false`: decided in memory, see [`Engine::health`].
    pub committed: bool,
}

/// Takes events, answers decisions, writes sessions. One thread works it; other processes may have their own.
pub struct Engine {
    store: Option<Box<dyn Store>>,
    opener: Option<Opener>,
    options: Options,
    rulebook: Rulebook,
    cache: Cache,
    memory: Option<Memory>,
    metrics: Metrics,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("health", &self.health()).field("metrics", &self.metrics).finish_non_exhaustive()
    }
}

impl Engine {
    pub fn new(store: Box<dyn Store>, options: Options) -> Self {
        let cache = Cache::new(options.sessions);
        Self {
            store: Some(store),
            opener: None,
            options,
            rulebook: Rulebook::default(),
            cache,
            memory: None,
            metrics: Metrics::default(),
        }
    }

    /// Opens the store, and goes on without it if it must: [`Engine::health`] tells. The store is tried again later,
    /// unless it is one that must not be written.
    pub fn open(mut opener: Opener, options: Options) -> Self {
        let opened = opener();
        let mut engine = Self {
            store: None,
            opener: Some(opener),
            cache: Cache::new(options.sessions),
            options,
            rulebook: Rulebook::default(),
            memory: None,
            metrics: Metrics::default(),
        };
        match opened {
            Ok(store) => engine.store = Some(store),
            Err(error) => engine.fail(&error),
        }
        engine
    }

    /// Takes one event in and answers what the agent may do.
    pub fn observe(&mut self, event: Event) -> Result<Observed, EngineError> {
        let event = self.admit(event)?;
        let mut answers = self.take_in(vec![event]);
        Ok(answers.swap_remove(0))
    }

    /// Takes many events in under one commit. Each is answered; those that cannot be taken say why.
    pub fn observe_batch(&mut self, events: Vec<Event>) -> Vec<Result<Observed, EngineError>> {
        let admitted: Vec<Result<Event, EngineError>> = events.into_iter().map(|event| self.admit(event)).collect();
        let mut refused = Vec::with_capacity(admitted.len());
        let mut taken = Vec::with_capacity(admitted.len());
        for event in admitted {
            refused.push(event.map(|event| taken.push(event)).err());
        }
        let mut answers = self.take_in(taken).into_iter();
        refused
            .into_iter()
            .filter_map(|error| match error {
                Some(error) => Some(Err(error)),
                None => answers.next().map(Ok),
            })
            .collect()
    }

    /// A person's decision about a session, as an event like any other.
    pub fn decide(
        &mut self,
        session: &SessionKey,
        decision: OperatorDecision,
        note: &str,
        by: Option<&str>,
    ) -> Result<Observed, EngineError> {
        if self.session(session)?.is_none() {
            return Err(StoreError::NotFound(session.to_string()).into());
        }
        let now = self.options.clock.now();
        let body = Body::Operator(Operator { decision, note: Excerpt::new(note), by: by.map(str::to_owned) });
        self.observe(Event::new(new_id(now), session.clone(), Source::Operator, now, body))
    }

    /// A whole session as of its last event; `None` when nobody has seen it.
    pub fn session(&self, key: &SessionKey) -> Result<Option<Session>, EngineError> {
        if let Some(session) = self.memory.as_ref().and_then(|memory| memory.session(key)) {
            return Ok(Some(session.clone()));
        }
        let Some(store) = self.store.as_deref() else { return Ok(None) };
        let held = memory::read(store, &*self.options.rules, &self.rulebook, key)?;
        Ok(held.map(|held| held.session))
    }

    /// The store, for reading. `None` while it cannot be opened.
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

    /// For quiet moments: tries a broken store again. The resident process calls it now and then.
    pub fn recover(&mut self) -> Health {
        if self.memory.as_ref().is_some_and(|memory| memory.is_due(self.options.clock.elapsed())) {
            self.catch_up();
        }
        self.health()
    }

    /// For quiet moments: cleans up a little. Call again while [`Pruned::more`].
    pub fn prune(&mut self, retention: &Retention) -> Result<Pruned, EngineError> {
        let now = self.options.clock.now();
        match (&mut self.store, &self.memory) {
            (Some(store), None) => Ok(store.prune(retention, now)?),
            _ => Ok(Pruned::default()),
        }
    }

    /// Checks what sensors built in-process could get wrong, and sets the time right.
    fn admit(&mut self, mut event: Event) -> Result<Event, EngineError> {
        let fields = [("id", &event.id), ("session.agent", &event.session.agent), ("session.id", &event.session.id)];
        for (field, text) in fields {
            let problem = match text.len() {
                0 => "must not be empty".to_owned(),
                long if long > MAX_ID_BYTES => format!("is {long} bytes long; at most {MAX_ID_BYTES} are kept"),
                _ => continue,
            };
            return Err(EngineError::Refused { field, problem });
        }
        let now = self.options.clock.now();
        if !event.at.is_known() {
            event.at = now;
        } else if event.at > now + AHEAD {
            // A clock that jumped must not keep a session newest for ever, or end a cooldown early.
            tracing::warn!(session = %event.session, at = %event.at, "an event from the future is taken as of now");
            event.at = now;
            self.metrics.retimed += 1;
        }
        Ok(event)
    }

    fn take_in(&mut self, events: Vec<Event>) -> Vec<Observed> {
        self.metrics.batches += 1;
        if self.memory.is_some() {
            self.recover();
        }
        if self.memory.is_none() {
            match self.commit(&events) {
                Ok(answers) => return answers.into_iter().map(committed).collect(),
                Err(error) if blames_event(&error) => return self.one_by_one(events),
                Err(error) => self.fail(&error),
            }
        }
        events.into_iter().map(|event| self.without_store(event)).collect()
    }

    /// One of these events, or its session's row, is the trouble: the others must not suffer.
    fn one_by_one(&mut self, events: Vec<Event>) -> Vec<Observed> {
        let mut answers = Vec::with_capacity(events.len());
        for event in events {
            let answer = match (self.memory.is_some(), self.commit(std::slice::from_ref(&event))) {
                (false, Ok(mut one)) => committed(one.swap_remove(0)),
                (false, Err(error)) if blames_event(&error) => {
                    self.metrics.faults += 1;
                    tracing::error!(session = %event.session, event = %event.id, %error, "an event is not kept");
                    Observed { decision: Decision::default(), seq: None, committed: false }
                }
                (_, Err(error)) => {
                    self.fail(&error);
                    self.without_store(event)
                }
                (true, Ok(mut one)) => committed(one.swap_remove(0)),
            };
            answers.push(answer);
        }
        answers
    }

    /// Writes events under one commit, with full sync if a session is held by it.
    fn commit(&mut self, events: &[Event]) -> StoreResult<Vec<Answer>> {
        let Some(store) = self.store.as_deref_mut() else {
            return Err(StoreError::Database("it is not open".to_owned()));
        };
        let mut desk = Desk {
            rules: &*self.options.rules,
            rulebook: &mut self.rulebook,
            cache: &mut self.cache,
            metrics: &mut self.metrics,
        };
        // What a person decides gets full sync at once.
        let decided = events.iter().any(|event| matches!(event.body, Body::Operator(_)));
        let mut durability = if decided { Durability::PowerCut } else { Durability::Process };
        loop {
            match desk.attempt(store, events, durability) {
                Ok(Attempt::Committed(answers)) => {
                    let new = answers.iter().filter(|answer| answer.seq.is_some()).count() as u64;
                    self.metrics.events += new;
                    self.metrics.duplicates += answers.len() as u64 - new;
                    return Ok(answers);
                }
                Ok(Attempt::WantsFullSync) => {
                    desk.metrics.redone += 1;
                    durability = Durability::PowerCut;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn without_store(&mut self, event: Event) -> Observed {
        self.metrics.unsaved += 1;
        let decision = match &mut self.memory {
            Some(memory) => memory.take_in(
                self.store.as_deref(),
                &self.cache,
                &*self.options.rules,
                &mut self.rulebook,
                Bounds { events: self.options.spool },
                event,
            ),
            None => Decision::default(),
        };
        Observed { decision, seq: None, committed: false }
    }

    fn fail(&mut self, error: &StoreError) {
        self.metrics.faults += 1;
        let elapsed = self.options.clock.elapsed();
        match &mut self.memory {
            Some(memory) => memory.put_off(error, elapsed),
            None => {
                let hint = error.hint();
                tracing::error!(%error, hint, "the store cannot be written; decisions go on in memory");
                self.memory = Some(Memory::new(error, self.options.clock.now(), elapsed));
            }
        }
    }

    /// Writes what waits in memory. If that fails, everything stays as it is.
    fn catch_up(&mut self) {
        if let Err(error) = self.write_spool() {
            self.fail(&error);
            return;
        }
        if let Some(memory) = self.memory.take() {
            let (since, dropped) = (memory.fault.since, memory.dropped);
            tracing::info!(%since, dropped, "the store can be written again; what waited in memory is in it");
        }
    }

    fn write_spool(&mut self) -> StoreResult<()> {
        if self.store.is_none()
            && let Some(opener) = &mut self.opener
        {
            self.store = Some(opener()?);
        }
        self.cache.clear();
        let now = self.options.clock.now();
        if let Some(memory) = &mut self.memory {
            let held = memory.held_without_evidence(now);
            memory.spool.extend(held);
        }
        loop {
            let Some(memory) = &self.memory else { return Ok(()) };
            let chunk: Vec<Event> = memory.spool.iter().take(CATCH_UP).cloned().collect();
            if chunk.is_empty() {
                return Ok(());
            }
            match self.commit(&chunk) {
                Ok(_) => {}
                Err(error) if blames_event(&error) => {
                    self.one_by_one_from_spool(&chunk)?;
                }
                Err(error) => return Err(error),
            }
            if let Some(memory) = &mut self.memory {
                memory.spool.drain(..chunk.len());
            }
        }
    }

    fn one_by_one_from_spool(&mut self, chunk: &[Event]) -> StoreResult<()> {
        for event in chunk {
            match self.commit(std::slice::from_ref(event)) {
                Err(error) if blames_event(&error) => {
                    tracing::error!(session = %event.session, event = %event.id, %error, "an event is not kept");
                }
                other => drop(other?),
            }
        }
        Ok(())
    }
}

fn committed(answer: Answer) -> Observed {
    Observed { decision: answer.decision, seq: answer.seq, committed: true }
}

/// The store works; this event, or the row of its session, does not.
fn blames_event(error: &StoreError) -> bool {
    matches!(error, StoreError::Malformed { .. } | StoreError::Database(_) | StoreError::Conflict(_))
}

fn new_id(now: belay_core::Time) -> String {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    let seconds = millis / 1000;
    let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)).to_string()
}
