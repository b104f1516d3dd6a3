//! Access to an engine that runs in-process or is shared behind a queue.

use std::cell::RefCell;

use belay_core::event::Operator;
use belay_core::{Event, EventOutcome, SessionKey};

use crate::engine::Engine;
use crate::error::ObserveError;

/// Access to an engine, in-process or behind a queue.
pub trait EngineAccess {
    /// Records events in one commit and returns one result per event, in order.
    fn observe(&self, events: Vec<Event>) -> Vec<Result<EventOutcome, ObserveError>>;

    /// Runs `work` once, between commits, to read or to write anything but sessions. Events must go through
    /// [`EngineAccess::observe`], because an implementation may derive state from their outcomes.
    fn with_engine(&self, work: &mut dyn FnMut(&mut Engine));
}

impl dyn EngineAccess + '_ {
    /// Runs `work` and returns its result; `None` if it did not run.
    pub fn query<R>(&self, work: impl FnOnce(&mut Engine) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.with_engine(&mut |engine| result = work.take().map(|work| work(engine)));
        result
    }

    /// Records an operator's decision about a session. The same `id` counts once; without one, it gets a new id.
    pub fn decide(
        &self,
        session: &SessionKey,
        operator: Operator,
        id: Option<&str>,
    ) -> Result<EventOutcome, ObserveError> {
        let event = self.query(|engine| engine.operator_event(session, operator));
        let mut event = event.ok_or(ObserveError::Panicked)??;
        if let Some(id) = id {
            id.clone_into(&mut event.id);
        }
        self.observe(vec![event]).pop().unwrap_or(Err(ObserveError::Panicked))
    }
}

impl EngineAccess for RefCell<Engine> {
    fn observe(&self, events: Vec<Event>) -> Vec<Result<EventOutcome, ObserveError>> {
        let results = self.borrow_mut().observe_batch(events);
        results.into_iter().map(|result| result.map_err(ObserveError::from)).collect()
    }

    fn with_engine(&self, work: &mut dyn FnMut(&mut Engine)) {
        work(&mut self.borrow_mut());
    }
}
