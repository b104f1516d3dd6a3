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
use axum::routing::{get, post, put};
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

fn router(shared: Arc<DaemonState>) -> Router {
    Router::new()
        .merge(pages::routes())
        .route(login::PATH, get(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/healthz", get(api::healthz))
        .route("/readyz", get(api::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/login", get(login::show))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/sessions", get(api::sessions))
        .route("/api/v1/sessions/{id}", get(api::session))
        .route("/api/v1/sessions/{id}/events", get(api::events_of))
        .route("/api/v1/sessions/{id}/page", get(api::records::session_page))
        .route("/api/v1/sessions/{id}/findings", get(api::records::findings))
        .route("/api/v1/sessions/{id}/notes", get(api::records::notes))
        .route("/api/v1/sessions/{id}/decisions", post(api::decisions::decide))
        .route("/api/v1/decisions", post(api::decisions::decide_bulk))
        .route("/api/v1/findings/{id}", get(api::records::finding))
        .route("/api/v1/overview", get(api::records::overview))
        .route("/api/v1/quotas", get(api::records::quotas))
        .route("/api/v1/tombstones", get(api::records::tombstones))
        .route("/api/v1/spend", get(api::records::spend))
        .route("/api/v1/audits", get(api::history::audits).post(api::history::start_audit))
        .route("/api/v1/audits/try", post(api::history::try_setting))
        .route("/api/v1/audits/{id}", get(api::history::audit))
        .route("/api/v1/audits/{id}/cancel", post(api::history::cancel_audit))
        .route("/api/v1/history/clear", post(api::history::clear))
        .route("/api/v1/config", get(api::config::config))
        .route("/api/v1/config/{key}", put(api::config::set))
        .route("/api/v1/reviews", get(api::reviews::list).post(api::reviews::file))
        .route("/api/v1/reviews/queue", post(api::reviews::pause))
        .route("/api/v1/reviews/{id}", get(api::reviews::task))
        .route("/api/v1/reviews/{id}/journal", get(api::reviews::journal))
        .route("/api/v1/reviews/{id}/decisions", post(api::reviews::decide))
        .route("/api/v1/reviews/{id}/land", post(api::reviews::land))
        .route("/api/v1/reviews/{id}/artifacts", get(api::reviews::artifacts))
        .route("/api/v1/reviews/{id}/artifacts/{name}", get(api::reviews::artifact))
        .route("/api/v1/openapi.json", get(openapi::document))
        .route("/api/v1/events", get(api::events).post(api::post_events))
        .route("/api/v1/approvals", get(api::approvals::list))
        .route("/api/v1/approvals/{id}", post(api::approvals::answer))
        .route("/api/v1/live", get(live::live))
        .route("/api/v1/incidents", get(api::incidents))
        .route("/api/v1/incidents/{id}", get(api::incident))
        .merge(belay_compat::loop_watchdog::routes())
        .fallback(|| async { ApiError::not_found("no such path; see /api/v1/status") })
        .method_not_allowed_fallback(|| async { ApiError::method() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(BodyMemory::new(Arc::clone(&shared)), request_body::read))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), request_guard::guard))
        .with_state(shared)
}

/// Belay's own pages, for connections that the relay hands over.
pub(crate) struct HttpService {
    router: Router,
    shared: Arc<DaemonState>,
}

impl HttpService {
    pub(crate) fn new(shared: Arc<DaemonState>) -> Self {
        Self { router: router(Arc::clone(&shared)), shared }
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
        let token = &self.shared.token;
        token.matches(offered) || constant_time_eq(&token.proxy_token(), offered)
    }
}

/// Serves on every listener until shutdown, then waits for requests in flight.
pub(crate) async fn serve(
    mut listeners: UnboundedReceiver<BoundListener>,
    shared: &Arc<DaemonState>,
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
            () = shared.lifecycle.shutdown.wait() => break,
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
    shared: &Arc<DaemonState>,
    work: impl FnOnce(&DaemonState) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let shared = Arc::clone(shared);
    let _slot = BLOCKING_SLOTS.acquire().await;
    tokio::task::spawn_blocking(move || work(&shared)).await?
}
