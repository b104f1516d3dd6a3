//! Reads the bodies of requests to the API, bounded in time and memory.
//!
//! Bodies are read before their handlers run. All bodies together take a fixed share of memory, which also counts towards
//! the relay's budget; a body that does not fit waits unread.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use belay_ipc::{ErrorBody, ErrorCode};
use belay_proxy::ReservedBytes;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::MAX_BODY_BYTES;
use super::error::ApiError;
use crate::state::DaemonState;

/// How long a client may take to send a body, including the wait for memory.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Memory for the bodies of all requests at once.
const MAX_TOTAL_BYTES: usize = 4 * MAX_BODY_BYTES;

/// The unit in which memory is granted.
const UNIT_BYTES: usize = 1024;

/// Counts bytes towards another budget. `None` if there is no other budget; an error if they exceed it.
type Charge = dyn Fn(usize) -> Result<Option<ReservedBytes>, ApiError> + Send + Sync;

/// The memory for bodies.
#[derive(Clone)]
pub(super) struct BodyMemory {
    units: Arc<Semaphore>,
    charge: Arc<Charge>,
}

impl BodyMemory {
    /// Bodies also count towards the relay's budget.
    pub(super) fn new(daemon: Arc<DaemonState>) -> Self {
        Self::with_charge(move |bytes| match daemon.runs.relay() {
            Some(relay) => relay.reserve_bytes(bytes).ok_or_else(busy).map(Some),
            None => Ok(None),
        })
    }

    fn with_charge(charge: impl Fn(usize) -> Result<Option<ReservedBytes>, ApiError> + Send + Sync + 'static) -> Self {
        Self { units: Arc::new(Semaphore::new(MAX_TOTAL_BYTES / UNIT_BYTES)), charge: Arc::new(charge) }
    }

    /// Waits until `bytes` are free.
    async fn reserve(&self, bytes: usize) -> Result<(OwnedSemaphorePermit, Option<ReservedBytes>), ApiError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.units).acquire_many_owned(units).await.map_err(|_| ApiError::internal())?;
        Ok((permit, (self.charge)(bytes)?))
    }
}

fn busy() -> ApiError {
    ErrorBody::new(ErrorCode::Busy, "too many request bodies are in flight").hint("try again").into()
}

/// Replaces the body of a request by one that is completely read.
pub(super) async fn read(State(memory): State<BodyMemory>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let size = declared_length(&head.headers).map_or(MAX_BODY_BYTES, |length| length.min(MAX_BODY_BYTES));
    let read = tokio::time::timeout(READ_TIMEOUT, async {
        let reserved = memory.reserve(size).await?;
        Ok::<_, ApiError>((reserved, collect(body, size).await?))
    });
    match read.await {
        Ok(Ok((_reserved, body))) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(error)) => error.into_response(),
        Err(_) => ApiError::timeout(READ_TIMEOUT).into_response(),
    }
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body of about `size` bytes into one buffer.
async fn collect(mut body: Body, size: usize) -> Result<Bytes, ApiError> {
    let mut bytes = Vec::with_capacity(size);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::bad_request(format!("cannot read the body: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > MAX_BODY_BYTES {
                return Err(ApiError::too_long());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests;
