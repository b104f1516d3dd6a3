//! Writing, and going on when that does not work.

use belay_core::{Body, Decision, Event, EventOutcome};
use belay_store::{Access, Durability, Result, StoreError};

use crate::engine::Engine;
use crate::health::Health;
use crate::memory_fallback::{FallbackContext, MemoryFallback};
use crate::transaction::{AttemptOutcome, BatchContext};

/// Events written under one lock while catching up.
const REPLAY_BATCH_EVENTS: usize = 256;

/// A session that moved on under our hands is tried again this often.
const MAX_CONFLICT_RETRIES: usize = 3;

impl Engine {
    pub(crate) fn observe_batch_inner(&mut self, events: Vec<Event>) -> Vec<EventOutcome> {
        self.metrics.batches += 1;
        self.recover();
        if self.memory.is_none() {
            match self.commit(&events) {
                Ok(answers) => return answers,
                Err(error) if blames_event(&error) => {}
                Err(error) => self.fail(&error),
            }
        }
        // Either there is no store, or one event is the trouble and the others must not suffer.
        events.into_iter().map(|event| self.take_in_alone(event)).collect()
    }

    fn take_in_alone(&mut self, event: Event) -> EventOutcome {
        if self.memory.is_none() {
            match self.commit(std::slice::from_ref(&event)) {
                Ok(mut answers) => return answers.swap_remove(0),
                Err(error) if blames_event(&error) => {
                    self.leave_out(&event, &error);
                    return EventOutcome { decision: Decision::default(), seq: None, committed: false };
                }
                Err(error) => self.fail(&error),
            }
        }
        self.metrics.unsaved += 1;
        let around = FallbackContext {
            store: self.store.as_deref(),
            cache: &self.cache,
            rules: &*self.options.rules,
            rulebook: &self.rulebook,
        };
        let memory = self.memory.as_mut().map(|memory| memory.apply(&around, self.options.spool, event));
        EventOutcome { decision: memory.unwrap_or_default(), seq: None, committed: false }
    }

    /// Writes events under one commit, with full sync if a session is held by it.
    fn commit(&mut self, events: &[Event]) -> Result<Vec<EventOutcome>> {
        if let Some(opener) = &mut self.opener {
            self.store = Some(opener(Access::Write)?);
            self.opener = None;
        }
        let Some(store) = self.store.as_deref_mut() else {
            return Err(StoreError::ReadOnly("it is not open".to_owned()));
        };
        // What a person decides gets full sync at once.
        let decided = events.iter().any(|event| matches!(event.body, Body::Operator(_)));
        let mut durability = if decided { Durability::PowerCut } else { Durability::ProcessCrash };
        let mut conflicts = 0;
        loop {
            let mut desk = BatchContext {
                rules: &*self.options.rules,
                rulebook: &mut self.rulebook,
                cache: &mut self.cache,
                metrics: &mut self.metrics,
            };
            match desk.try_commit(store, events, durability) {
                Ok(AttemptOutcome::Committed(answers)) => {
                    let new = answers.iter().filter(|answer| answer.seq.is_some()).count();
                    let duplicates = answers.iter().filter(|answer| answer.decision.duplicate).count();
                    self.metrics.events += new as u64;
                    self.metrics.duplicates += duplicates as u64;
                    return Ok(answers);
                }
                Ok(AttemptOutcome::NeedsFullSync) => {
                    self.metrics.redone += 1;
                    durability = Durability::PowerCut;
                }
                Err(StoreError::Conflict(_)) if conflicts < MAX_CONFLICT_RETRIES => conflicts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The store works, but not for this event. The agent goes on.
    fn leave_out(&mut self, event: &Event, error: &StoreError) {
        self.metrics.faults += 1;
        tracing::error!(session = %event.session, event = %event.id, %error, "an event cannot be kept");
    }

    pub(crate) fn fail(&mut self, error: &StoreError) {
        self.metrics.faults += 1;
        let elapsed = self.options.clock.elapsed();
        match &mut self.memory {
            Some(memory) => memory.back_off(error, elapsed),
            None => {
                let hint = error.hint();
                tracing::error!(%error, hint, "the store cannot be written; decisions go on in memory");
                self.memory = Some(MemoryFallback::new(error, self.options.clock.now(), elapsed));
            }
        }
    }

    /// Tries a broken store again if it is time to. Every event does so; the resident process calls it in quiet
    /// moments too.
    pub fn recover(&mut self) -> Health {
        if self.memory.as_ref().is_some_and(|memory| memory.should_retry(self.options.clock.elapsed())) {
            self.flush();
        }
        self.health()
    }

    /// Writes what waits in memory, now: the last thing before the process ends.
    pub fn flush(&mut self) -> Health {
        if self.memory.is_some() {
            match self.write_spool() {
                Ok(()) => {
                    let dropped = self.memory.take().map_or(0, |memory| memory.dropped);
                    tracing::info!(dropped, "the store can be written again; what waited in memory is in it");
                }
                // Everything stays as it is.
                Err(error) => self.fail(&error),
            }
        }
        self.health()
    }

    fn write_spool(&mut self) -> Result<()> {
        self.cache.clear();
        // Also with nothing to write: whether it works is what we want to know.
        loop {
            let waiting = self.memory.iter().flat_map(|memory| &memory.spool);
            let chunk: Vec<Event> = waiting.take(REPLAY_BATCH_EVENTS).cloned().collect();
            self.write_waiting(&chunk)?;
            if let Some(memory) = &mut self.memory {
                memory.spool.drain(..chunk.len());
            }
            if chunk.len() < REPLAY_BATCH_EVENTS {
                break;
            }
        }
        let now = self.options.clock.now();
        let held = match (&self.memory, self.store.as_deref()) {
            (Some(memory), Some(store)) => memory.held_without_evidence(store, now),
            _ => Vec::new(),
        };
        self.write_waiting(&held)
    }

    fn write_waiting(&mut self, events: &[Event]) -> Result<()> {
        match self.commit(events) {
            Err(error) if blames_event(&error) => {}
            other => return other.map(drop),
        }
        for event in events {
            match self.commit(std::slice::from_ref(event)) {
                Err(error) if blames_event(&error) => self.leave_out(event, &error),
                other => drop(other?),
            }
        }
        Ok(())
    }
}

/// The store works; this event, or the row of its session, does not.
fn blames_event(error: &StoreError) -> bool {
    matches!(error, StoreError::Malformed { .. } | StoreError::Database(_) | StoreError::Conflict(_))
}
