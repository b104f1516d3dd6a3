//! HTTP: the index page, logins, health checks, metrics and the API.
//!
//! Handlers are asynchronous, but queries to the store run on blocking threads.

mod api;
mod compat_backend;
mod error;
mod live;
mod login;
mod metrics;
mod notice_page;
mod openapi;
mod operations;
mod pages;
mod request_body;
mod request_guard;
mod signed_request;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use belay_net::PeerUser;
use belay_proxy::{BoxFuture, LocalService, PrefixedIo, Relay};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::listeners::BoundListener;
use crate::state::DaemonState;
use crate::token::constant_time_eq;
use error::ApiError;
use request_body::BodyMemory;

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = belay_core::event::MAX_EVENT_BYTES;

/// How long to wait for requests in flight at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

fn router(daemon: Arc<DaemonState>) -> Router {
    Router::new()
        .merge(pages::routes())
        .route(login::PATH, get(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/healthz", get(api::healthz))
        .route("/readyz", get(api::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/login", get(login::show))
        .route("/api/v1/live", get(live::live))
        .route("/api/v1/openapi.json", get(openapi::document))
        .merge(operations::routes())
        .merge(belay_compat::loop_watchdog::routes())
        .fallback(|| async { ApiError::not_found("no such path; see /api/v1/status") })
        .method_not_allowed_fallback(|| async { ApiError::method() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(BodyMemory::new(Arc::clone(&daemon)), request_body::read))
        .layer(middleware::from_fn_with_state(Arc::clone(&daemon), request_guard::guard))
        .with_state(daemon)
}

/// Belay's own pages, for connections that the relay hands over.
pub(crate) struct HttpService {
    router: Router,
    daemon: Arc<DaemonState>,
}

impl HttpService {
    pub(crate) fn new(daemon: Arc<DaemonState>) -> Self {
        Self { router: router(Arc::clone(&daemon)), daemon }
    }
}

impl LocalService for HttpService {
    fn serve(&self, io: PrefixedIo, peer: PeerUser) -> BoxFuture<Option<PrefixedIo>> {
        let router = TowerToHyperService::new(self.router.clone());
        let has_body = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_body);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            noted.store(!request.body().is_end_stream(), Ordering::Relaxed);
            request.extensions_mut().insert(peer);
            router.call(request)
        });
        // Serve one request; the next one on this connection may be for a model.
        let mut serving = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(io), service);
        Box::pin(async move {
            // A client may disconnect at any time.
            (&mut serving).await.ok()?;
            has_body.load(Ordering::Relaxed).then(|| serving.into_parts().io.into_inner())
        })
    }

    fn accepts_token(&self, offered: &str) -> bool {
        let token = &self.daemon.token;
        token.matches(offered) || constant_time_eq(&token.proxy_token(), offered)
    }
}

/// Serves on every listener until shutdown, then waits for requests in flight.
pub(crate) async fn serve(
    mut listeners: UnboundedReceiver<BoundListener>,
    daemon: &Arc<DaemonState>,
    relay: &Arc<Relay>,
) -> std::io::Result<()> {
    let mut accept_loops = JoinSet::new();
    loop {
        tokio::select! {
            Some(BoundListener { listener, tls }) = listeners.recv() => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                match tls {
                    None => accept_loops.spawn(Arc::clone(relay).accept_loop(listener)),
                    Some(tls) => accept_loops.spawn(Arc::clone(relay).accept_tls_loop(listener, tls)),
                };
            }
            Some(Ok(error)) = accept_loops.join_next() => return Err(error),
            () = daemon.lifecycle.shutdown.wait() => break,
        }
    }
    accept_loops.abort_all();
    if tokio::time::timeout(DRAIN_TIMEOUT, relay.wait_idle()).await.is_err() {
        tracing::warn!("some HTTP requests did not finish in time");
    }
    Ok(())
}

/// Runs `work` on a blocking thread.
/// Handlers that read the store or wait at once. Connections of agents resolve names on the same threads.
static BLOCKING_SLOTS: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(5);

async fn blocking<T: Send + 'static>(
    daemon: &Arc<DaemonState>,
    work: impl FnOnce(&DaemonState) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let daemon = Arc::clone(daemon);
    let _slot = BLOCKING_SLOTS.acquire().await;
    tokio::task::spawn_blocking(move || work(&daemon)).await?
}
