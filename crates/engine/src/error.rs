//! Engine errors.

use belay_core::SessionKey;
use belay_core::decision::Refusal;
use belay_core::key::InvalidId;
use belay_store::StoreError;

/// Why the engine did not process an event or query.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The event is invalid. Nothing was recorded.
    #[error(transparent)]
    Refused(#[from] InvalidId),
    /// The session does not allow the decision. Nothing was recorded.
    #[error("{}", refusal.message(session))]
    DecisionRefused { session: SessionKey, refusal: Refusal },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an event has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("too many events are queued")]
    Busy,
    /// The engine panicked; the panic is logged.
    #[error("internal error; see the log")]
    Panicked,
    #[error(transparent)]
    Engine(#[from] EngineError),
}
