//! The engine as its callers see it: in-process, or shared with other callers behind a queue.

use std::cell::RefCell;

use belay_core::event::OperatorDecision;
use belay_core::{Event, EventOutcome, SessionKey};

use crate::engine::Engine;
use crate::error::EngineError;

/// Why an event has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("too many events are queued")]
    Busy,
    #[error("a fault in Belay; see its log")]
    Panicked,
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// An engine in this process, or one behind a queue.
pub trait EngineAccess {
    /// Records events under one commit; one result per event, in their order.
    fn observe(&self, events: Vec<Event>) -> Vec<Result<EventOutcome, ObserveError>>;

    /// Runs `work` once, between two commits: for reading, and for writing what is not a session. Events go through
    /// [`EngineAccess::observe`] only, because an implementation may derive state from their outcomes.
    fn with_engine(&self, work: &mut dyn FnMut(&mut Engine));
}

impl dyn EngineAccess + '_ {
    /// The result of `work`; `None` if it did not run.
    pub fn query<R>(&self, work: impl FnOnce(&mut Engine) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.with_engine(&mut |engine| result = work.take().map(|work| work(engine)));
        result
    }

    /// Records a person's decision about a session.
    pub fn decide(
        &self,
        session: &SessionKey,
        decision: OperatorDecision,
        note: &str,
        by: Option<&str>,
    ) -> Result<EventOutcome, ObserveError> {
        let event = self.query(|engine| engine.operator_event(session, decision, note, by));
        let event = event.ok_or(ObserveError::Panicked)??;
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
