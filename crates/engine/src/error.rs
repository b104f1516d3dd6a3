//! Why the engine refuses.

use belay_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The event itself cannot be taken. Nothing of it was kept.
    #[error("{field}: {problem}")]
    Refused {
        /// The field at fault.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The store cannot answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}
