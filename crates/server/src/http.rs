//! HTTP on a loopback address: the page, the health checks, the API.
//!
//! The API is asynchronous at its edge only; questions to the store run on blocking threads.

mod api;
mod border;
mod guard;
mod metrics;
mod page;
mod watchdog;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use belay_proxy::{Later, Ours, Relay, Rewound};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::resident::Shared;
use border::ApiError;
pub(crate) use watchdog::legacy_status;

/// Largest body: the largest event.
const MAX_BODY: usize = belay_core::event::MAX_EVENT_BYTES;

/// How long requests under way may take when we leave.
const DRAIN: Duration = Duration::from_secs(5);

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page::index))
        // Where Loop Watchdog's page was.
        .route("/dashboard", get(page::index))
        .route("/style.css", get(page::style))
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
        .merge(watchdog::routes())
        .fallback(|| async { ApiError::not_found("there is nothing here; see /api/v1/status") })
        .method_not_allowed_fallback(|| async { ApiError::method() })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard::check))
        .with_state(shared)
}

/// Our own pages, for connections the relay hands over.
pub(crate) struct Pages(Router);

impl Pages {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(router(shared))
    }
}

impl Ours for Pages {
    fn serve(&self, io: Rewound, _: SocketAddr) -> Later<()> {
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
    shared: &Arc<Shared>,
    relay: &Arc<Relay>,
) -> std::io::Result<()> {
    let mut doors = JoinSet::new();
    loop {
        tokio::select! {
            Some(listener) = listeners.recv() => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                doors.spawn(Arc::clone(relay).listen(listener));
            }
            Some(Ok(error)) = doors.join_next() => return Err(error),
            () = shared.stop.wait() => break,
        }
    }
    doors.abort_all();
    if tokio::time::timeout(DRAIN, relay.finished()).await.is_err() {
        tracing::warn!("some HTTP requests did not finish in time");
    }
    Ok(())
}

/// Runs a question to the store where it may block.
async fn blocking<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, ApiError> + Send + 'static,
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
