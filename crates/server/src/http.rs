//! HTTP on a loopback address: the page, the health checks, the API.
//!
//! The API is asynchronous at its edge only; questions to the store run on blocking threads.

mod api;
mod error;
mod index_page;
mod loop_watchdog;
mod metrics;
mod request_guard;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use belay_proxy::{BoxFuture, LocalService, PrefixedIo, Relay};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::state::DaemonState;
use error::ApiError;
pub(crate) use loop_watchdog::loop_watchdog_status;

/// Largest body: the largest event.
const MAX_BODY_BYTES: usize = belay_core::event::MAX_EVENT_BYTES;

/// How long requests under way may take when we leave.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

fn router(shared: Arc<DaemonState>) -> Router {
    Router::new()
        .route("/", get(index_page::index))
        // Where Loop Watchdog's page was.
        .route("/dashboard", get(index_page::index))
        .route("/style.css", get(index_page::stylesheet))
        .route("/healthz", get(api::healthz))
        .route("/readyz", get(api::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/sessions", get(api::sessions))
        .route("/api/v1/sessions/{id}", get(api::session))
        .route("/api/v1/sessions/{id}/events", get(api::events_of))
        .route("/api/v1/sessions/{id}/decisions", post(api::decide))
        .route("/api/v1/events", get(api::events).post(api::post_events))
        .route("/api/v1/incidents", get(api::incidents))
        .route("/api/v1/incidents/{id}", get(api::incident))
        .merge(loop_watchdog::routes())
        .fallback(|| async { ApiError::not_found("there is nothing here; see /api/v1/status") })
        .method_not_allowed_fallback(|| async { ApiError::method() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), request_guard::check_origin))
        .with_state(shared)
}

/// Our own pages, for connections the relay hands over.
pub(crate) struct HttpService(Router);

impl HttpService {
    pub(crate) fn new(shared: Arc<DaemonState>) -> Self {
        Self(router(shared))
    }
}

impl LocalService for HttpService {
    fn serve(&self, io: PrefixedIo, _: SocketAddr) -> BoxFuture<()> {
        let service = TowerToHyperService::new(self.0.clone());
        // One request only: the next one on this connection may be for a model.
        let serving = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(io), service);
        Box::pin(async move {
            // A client that leaves in the middle is no fault of ours.
            let _ = serving.await;
        })
    }
}

/// Serves at every door that opens until told to leave; requests under way are answered.
pub(crate) async fn serve(
    mut listeners: UnboundedReceiver<std::net::TcpListener>,
    shared: &Arc<DaemonState>,
    relay: &Arc<Relay>,
) -> std::io::Result<()> {
    let mut doors = JoinSet::new();
    loop {
        tokio::select! {
            Some(listener) = listeners.recv() => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                doors.spawn(Arc::clone(relay).accept_loop(listener));
            }
            Some(Ok(error)) = doors.join_next() => return Err(error),
            () = shared.lifecycle.shutdown.wait() => break,
        }
    }
    doors.abort_all();
    if tokio::time::timeout(DRAIN_TIMEOUT, relay.wait_idle()).await.is_err() {
        tracing::warn!("some HTTP requests did not finish in time");
    }
    Ok(())
}

/// Runs a question to the store where it may block.
async fn blocking<T: Send + 'static>(
    shared: &Arc<DaemonState>,
    work: impl FnOnce(&DaemonState) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let shared = Arc::clone(shared);
    match tokio::task::spawn_blocking(move || work(&shared)).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "a request panicked");
            Err(ApiError::internal())
        }
    }
}
