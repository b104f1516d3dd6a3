//! The interface of the endpoints to the engine and the store.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::IntoResponse;
use belay_core::event::OperatorDecision;
use belay_core::{Event, SessionKey, Timestamp};
use belay_store::{Store, StoreError};
use tokio::task::JoinError;

/// Access to the engine and the store. The methods may block, so the endpoints call them on a blocking thread; only
/// [`authorize`](Self::authorize) and [`now`](Self::now) must not block.
pub trait Backend: Send + Sync + 'static {
    type Error: IntoResponse + From<StoreError> + From<JoinError> + Send + 'static;

    /// Reads from the store.
    fn read<T>(&self, read: impl FnOnce(&dyn Store) -> Result<T, StoreError>) -> Result<T, Self::Error>;

    /// Records events in order. Fails if any of them is refused.
    fn observe(&self, events: Vec<Event>) -> Result<(), Self::Error>;

    /// Records an operator's decision.
    fn decide(&self, session: &SessionKey, decision: OperatorDecision, note: &str) -> Result<(), Self::Error>;

    /// Whether the sender of a request may decide.
    fn authorize(&self, headers: &HeaderMap) -> Result<(), Self::Error>;

    fn now(&self) -> Timestamp;
}

/// Runs `work` on a blocking thread.
pub(super) async fn blocking<B: Backend, T: Send + 'static>(
    backend: &Arc<B>,
    work: impl FnOnce(&B) -> Result<T, B::Error> + Send + 'static,
) -> Result<T, B::Error> {
    let backend = Arc::clone(backend);
    tokio::task::spawn_blocking(move || work(&backend)).await?
}
