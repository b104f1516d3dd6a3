//! The relay: state shared by all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belay_net::PeerUser;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use belay_core::SessionKey;
use belay_core::repetition::RepetitionRules;

use crate::buffer_pool::{BufferPool, MemoryCharge};
use crate::connection_limit::ConnectionLimit;
use crate::inspect::Inspector;
use crate::local_service::LocalService;
use crate::routes::Routes;
use crate::supervisor::Supervisor;
use crate::upstream::{UpstreamConfig, UpstreamConfigError};
use crate::{access, connection, upstream};

/// Rejected connections that get a response at the same time; further ones are closed without.
const MAX_REJECTIONS: usize = 32;

/// The settings of the relay.
#[derive(Clone, Debug)]
pub struct Config {
    /// Model APIs, the known providers included.
    pub upstreams: Vec<UpstreamConfig>,
    /// Maximum bytes that all bodies in flight may occupy together.
    pub buffered: usize,
    /// Longest request body that is inspected.
    pub inspected: usize,
    /// When a response counts as degenerate. `None` switches the check off.
    pub chant: Option<RepetitionRules>,
    /// How long a request of a held session waits for an operator's decision.
    pub hold: Duration,
    /// Insert nudges into requests of agents without hooks.
    pub nudge: bool,
    /// Relay WebSockets that carry turns without inspection, instead of declining them.
    pub sockets: bool,
    /// Determines the user at the other end of a connection.
    pub identify_peer: fn(&TcpStream) -> PeerUser,
    /// Maximum number of open connections of clients.
    pub max_connections: usize,
}

impl Default for Config {
    fn default() -> Self {
        let known = [
            ("anthropic", "https://api.anthropic.com"),
            ("openai", "https://api.openai.com"),
            ("chatgpt", "https://chatgpt.com/backend-api/codex"),
            ("gemini", "https://generativelanguage.googleapis.com"),
            ("openrouter", "https://openrouter.ai/api"),
        ];
        Self {
            upstreams: known.iter().map(|(name, url)| upstream::UpstreamConfig::new(*name, *url)).collect(),
            buffered: 512 * 1024 * 1024,
            inspected: 64 * 1024 * 1024,
            chant: Some(RepetitionRules::default()),
            hold: Duration::from_secs(45),
            nudge: true,
            sockets: false,
            identify_peer: access::peer_of,
            max_connections: 1024,
        }
    }
}

/// Why the relay does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Upstream(#[from] UpstreamConfigError),
    #[error("the relay's threads cannot be started: {0}")]
    Threads(#[from] std::io::Error),
}

/// Serves connections of agents.
pub struct Relay {
    pub(crate) routes: Routes,
    pub(crate) buffers: BufferPool,
    pub(crate) max_inspected: usize,
    pub(crate) hold: Duration,
    pub(crate) nudge: bool,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) sockets: bool,
    pub(crate) identify_peer: fn(&TcpStream) -> PeerUser,
    pub(crate) local: Arc<dyn LocalService>,
    connections: Arc<ConnectionLimit>,
    /// Slots for connections that are being rejected.
    pub(crate) rejections: Semaphore,
    in_flight: AtomicUsize,
    /// Notified when no request is in flight.
    idle: Notify,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("routes", &self.routes).finish_non_exhaustive()
    }
}

impl Relay {
    pub fn new(
        config: &Config,
        local: Arc<dyn LocalService>,
        supervisor: Arc<dyn Supervisor>,
    ) -> Result<Self, StartError> {
        Ok(Self {
            hold: config.hold,
            nudge: config.nudge,
            inspector: Arc::new(Inspector::new(supervisor, config.chant)?),
            routes: Routes::new(&config.upstreams)?,
            buffers: BufferPool::new(config.buffered),
            max_inspected: config.inspected,
            sockets: config.sockets,
            identify_peer: config.identify_peer,
            local,
            connections: ConnectionLimit::new(config.max_connections),
            rejections: Semaphore::new(MAX_REJECTIONS),
            in_flight: AtomicUsize::new(0),
            idle: Notify::new(),
        })
    }

    /// Counts a request as in flight while the guard lives.
    pub(crate) fn track_request(&self) -> InFlightGuard<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlightGuard(self)
    }

    /// Resolves when no request is in flight.
    pub async fn wait_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Registers a run with the model APIs that its user configured. Only this run uses them.
    pub fn begin_run(&self, run: &str, upstreams: &[UpstreamConfig]) -> Result<(), UpstreamConfigError> {
        self.routes.begin_run(run, upstreams)
    }

    /// Ends a run: its key is no longer accepted.
    pub fn end_run(&self, run: &str) {
        self.routes.end_run(run);
    }

    /// Whether this is the key of a run that has not ended.
    pub fn is_active_run(&self, run: &str) -> bool {
        self.routes.is_active_run(run)
    }

    /// Binds a run to a session that was identified by other means than its requests.
    pub fn bind_run_session(&self, run: &str, session: &SessionKey) {
        self.routes.bind_run_session(run, session);
    }

    /// Waits until the supervisor has observed every exchange of a run: an agent has the last byte of a response, and may
    /// exit, before the response is recorded. `false` after the timeout.
    pub fn drain_run(&self, run: &str, timeout: Duration) -> bool {
        let drained = self.routes.wait_for_exchanges(run, timeout);
        self.inspector.flush(timeout);
        drained
    }

    /// Waits until the supervisor has observed everything recorded so far, or until the timeout.
    pub fn flush_recorder(&self, timeout: Duration) {
        self.inspector.flush(timeout);
    }

    /// The session of a run, once it is known.
    pub fn run_session(&self, run: &str) -> Option<SessionKey> {
        self.routes.session_of(run)
    }

    /// Accounts for memory outside the proxy that counts towards its budget.
    pub fn new_memory_charge(&self) -> MemoryCharge {
        self.buffers.new_charge()
    }

    /// Bytes buffered for requests and responses in flight.
    pub fn bytes_buffered(&self) -> usize {
        self.buffers.bytes_in_use()
    }

    /// Counts `bytes` that another part of the process buffers towards the budget, while the guard lives. `None` if they
    /// exceed it.
    pub fn reserve_bytes(&self, bytes: usize) -> Option<ReservedBytes> {
        let mut charge = self.buffers.new_charge();
        charge.set(bytes).then_some(ReservedBytes { _charge: charge })
    }

    /// Accepts connections until the listener fails or the future is dropped. Accepted connections continue.
    pub async fn accept_loop(self: Arc<Self>, listener: TcpListener) -> std::io::Error {
        self.accept_connections(listener, None).await
    }

    /// Like [`Relay::accept_loop`], for clients on other machines. Every request needs a token.
    pub async fn accept_tls_loop(self: Arc<Self>, listener: TcpListener, tls: Arc<ServerConfig>) -> std::io::Error {
        self.accept_connections(listener, Some(tls.into())).await
    }

    async fn accept_connections(self: Arc<Self>, listener: TcpListener, tls: Option<TlsAcceptor>) -> std::io::Error {
        if let Ok(address) = listener.local_addr() {
            self.routes.add_own_address(address);
        }
        loop {
            match listener.accept().await {
                Ok((io, _)) => match self.connections.admit() {
                    Some(guard) => {
                        let serving = connection::serve_connection(Arc::clone(&self), io, tls.clone(), guard);
                        drop(tokio::spawn(serving));
                    }
                    None if tls.is_some() || self.rejections.available_permits() == 0 => drop(io),
                    None => drop(tokio::spawn(connection::refuse_connection(Arc::clone(&self), io))),
                },
                Err(error) if is_transient(&error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return error,
            }
        }
    }
}

/// Bytes that count towards the relay's budget.
#[derive(Debug)]
pub struct ReservedBytes {
    _charge: MemoryCharge,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlightGuard<'r>(&'r Relay);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// Whether a later `accept` may succeed: the peer reset the connection, or the process has no free file descriptors.
fn is_transient(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
        || matches!(error.raw_os_error(), Some(23 | 24 | 105 | 12))
}
