//! Commits batches, falls back to memory when the store fails, and recovers.

use belay_core::{Body, Decision, Event, EventOutcome, SessionKey};
use belay_store::{Access, Durability, Result, StoreError};

use crate::engine::Engine;
use crate::health::Health;
use crate::held_file::hold_again;
use crate::memory_fallback::{FallbackContext, MemoryFallback};
use crate::spool::{self, SpoolError};
use crate::transaction::{AttemptOutcome, BatchContext};

/// Spooled events written in one transaction during recovery.
const REPLAY_BATCH_EVENTS: usize = 256;

/// Retries after another process changed a session during the transaction.
const MAX_CONFLICT_RETRIES: usize = 3;

impl Engine {
    pub(crate) fn observe_batch_inner(&mut self, events: Vec<Event>) -> Vec<EventOutcome> {
        self.metrics.batches += 1;
        self.recover();
        if self.memory.is_none() {
            match self.commit(&events) {
                Ok(outcomes) => return outcomes,
                Err(error) if is_event_error(&error) => {}
                Err(error) => self.fail(&error),
            }
        }
        // Either there is no store, or one event failed and must not affect the others.
        events.into_iter().map(|event| self.observe_one(event)).collect()
    }

    fn observe_one(&mut self, event: Event) -> EventOutcome {
        if self.memory.is_none() {
            match self.commit(std::slice::from_ref(&event)) {
                Ok(mut outcomes) => return outcomes.swap_remove(0),
                Err(error) if is_event_error(&error) => {
                    self.log_rejected(&event, &error);
                    return EventOutcome { decision: Decision::default(), seq: None, committed: false };
                }
                Err(error) => self.fail(&error),
            }
        }
        self.metrics.unsaved += 1;
        let context = FallbackContext {
            store: self.store.as_deref(),
            cache: &self.cache,
            rules: &*self.options.rules,
            rules_cache: &self.rules_cache,
            held_file: self.options.held_file.as_ref(),
        };
        let decision = self.memory.as_mut().map(|memory| memory.apply(&context, self.options.spool, event));
        EventOutcome { decision: decision.unwrap_or_default(), seq: None, committed: false }
    }

    /// Writes events in one commit, with full sync if it pauses or kills a session.
    fn commit(&mut self, events: &[Event]) -> Result<Vec<EventOutcome>> {
        if let Some(opener) = &mut self.opener {
            self.store = Some(opener(Access::Write)?);
            self.opener = None;
        }
        let Some(store) = self.store.as_deref_mut() else {
            return Err(StoreError::ReadOnly("not open".to_owned()));
        };
        // Operator decisions use full sync from the start.
        let decided = events.iter().any(|event| matches!(event.body, Body::Operator(_)));
        let mut durability = if decided { Durability::PowerCut } else { Durability::ProcessCrash };
        let mut conflicts = 0;
        loop {
            let mut batch = BatchContext {
                rules: &*self.options.rules,
                rules_cache: &mut self.rules_cache,
                cache: &mut self.cache,
                metrics: &mut self.metrics,
                held_file: self.options.held_file.as_ref(),
            };
            match batch.try_commit(store, events, durability) {
                Ok(AttemptOutcome::Committed(outcomes)) => {
                    let new = outcomes.iter().filter(|outcome| outcome.seq.is_some()).count();
                    let duplicates = outcomes.iter().filter(|outcome| outcome.decision.duplicate).count();
                    self.metrics.events += new as u64;
                    self.metrics.duplicates += duplicates as u64;
                    return Ok(outcomes);
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

    /// Logs an event that a working store cannot record. The agent continues.
    fn log_rejected(&mut self, event: &Event, error: &StoreError) {
        self.metrics.faults += 1;
        tracing::error!(session = %event.session, event = %event.id, %error, "event not recorded");
    }

    pub(crate) fn fail(&mut self, error: &StoreError) {
        self.metrics.faults += 1;
        let elapsed = self.options.clock.elapsed();
        match &mut self.memory {
            Some(memory) => memory.back_off(error, elapsed),
            None => {
                let hint = error.hint();
                tracing::error!(%error, hint, "store not writable; deciding in memory");
                self.memory = Some(MemoryFallback::new(error, self.options.clock.now(), elapsed));
            }
        }
    }

    /// Retries a failed store if the retry delay has passed. Called for every batch, and by the resident process when
    /// idle.
    pub fn recover(&mut self) -> Health {
        if self.memory.as_ref().is_some_and(|memory| memory.should_retry(self.options.clock.elapsed())) {
            self.flush();
        }
        self.health()
    }

    /// Writes the spool now, regardless of the retry delay. Called before the process exits.
    pub fn flush(&mut self) -> Health {
        if self.memory.is_some() {
            match self.write_spool() {
                Ok(()) => {
                    self.restore_held_sessions();
                    let dropped = self.memory.take().map_or(0, |memory| memory.dropped);
                    self.metrics.dropped += dropped;
                    tracing::info!(dropped, "store recovered; spooled events written");
                }
                Err(error) => self.fail(&error),
            }
        }
        self.health()
    }

    /// Saves the events of hooks that wait in memory as files, for a process that can write to the store; returns how many.
    /// Called by a process that is about to exit.
    pub fn save_spool(&mut self) -> std::result::Result<usize, SpoolError> {
        let (Some(memory), Some(dir)) = (&mut self.memory, &self.options.spool_dir) else { return Ok(0) };
        let saved: Vec<Event> = memory.spool.iter().filter(|event| spool::may_save(event)).cloned().collect();
        for chunk in saved.chunks(REPLAY_BATCH_EVENTS) {
            dir.save(chunk)?;
        }
        memory.spool.retain(|event| !spool::may_save(event));
        Ok(saved.len())
    }

    /// Writes the file of held sessions, which a crash may have left behind the store.
    pub fn sync_held_file(&mut self) {
        self.write_held_file(&[]);
    }

    /// Writes the file of held sessions without those that were just deleted.
    pub(crate) fn write_held_file(&mut self, deleted: &[SessionKey]) {
        let store = self.store.as_deref_mut().filter(|_| self.memory.is_none());
        let (Some(file), Some(store)) = (&self.options.held_file, store) else { return };
        match store.begin(Durability::ProcessCrash) {
            Ok(mut transaction) => file.write(&mut *transaction, deleted),
            Err(error) => tracing::warn!(%error, "cannot read the held sessions"),
        }
    }

    /// Holds the sessions that the file of held sessions lists and the store does not know: the store was deleted or
    /// emptied. If that fails, each is held at its next event.
    pub(crate) fn restore_held_sessions(&mut self) {
        let (Some(file), Some(store)) = (&self.options.held_file, self.store.as_deref()) else { return };
        let now = self.options.clock.now();
        let restored = file.missing_in(store).and_then(|missing| match missing.len() {
            0 => Ok(()),
            count => {
                tracing::warn!(count, "the store has lost held sessions; they stay held");
                self.write_batch(&missing.iter().map(|held| hold_again(held, now)).collect::<Vec<_>>())
            }
        });
        if let Err(error) = restored {
            tracing::warn!(%error, "cannot restore held sessions");
        }
    }

    fn write_spool(&mut self) -> Result<()> {
        self.cache.clear();
        // An empty batch is written too, to find out whether the store works.
        loop {
            let spooled = self.memory.iter().flat_map(|memory| &memory.spool);
            let chunk: Vec<Event> = spooled.take(REPLAY_BATCH_EVENTS).cloned().collect();
            self.write_batch(&chunk)?;
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
        self.write_batch(&held)
    }

    fn write_batch(&mut self, events: &[Event]) -> Result<()> {
        match self.commit(events) {
            Err(error) if is_event_error(&error) => {}
            other => return other.map(drop),
        }
        for event in events {
            match self.commit(std::slice::from_ref(event)) {
                Err(error) if is_event_error(&error) => self.log_rejected(event, &error),
                other => drop(other?),
            }
        }
        Ok(())
    }
}

/// Whether the error concerns one event or its session's row rather than the whole store.
fn is_event_error(error: &StoreError) -> bool {
    matches!(error, StoreError::Malformed { .. } | StoreError::Database(_) | StoreError::Conflict(_))
}
