//! The relay as a whole: what all connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;

use belay_core::SessionKey;
use belay_core::repetition::RepetitionRules;

use crate::buffer_pool::BufferPool;
use crate::inspect::Inspector;
use crate::local_service::LocalService;
use crate::routes::Routes;
use crate::supervisor::Supervisor;
use crate::upstream::{UpstreamConfig, UpstreamConfigError};
use crate::{connection, upstream};

/// What the user can set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Model APIs, the known providers included.
    pub upstreams: Vec<UpstreamConfig>,
    /// Bytes that all requests in flight may hold together.
    pub buffered: usize,
    /// Longest request body that is looked at.
    pub inspected: usize,
    /// When an answer counts as degenerate; without it nobody watches.
    pub chant: Option<RepetitionRules>,
    /// How long a request of a held session is kept open for a person's decision.
    pub hold: Duration,
    /// Put a nudge into the next request, where no hook can tell the agent.
    pub nudge: bool,
    /// Let sockets to an API that carries turns pass, unseen, instead of asking for plain requests.
    pub sockets: bool,
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

/// The relay: give it connections.
pub struct Relay {
    pub(crate) routes: Routes,
    pub(crate) buffers: BufferPool,
    pub(crate) keep: usize,
    pub(crate) hold: Duration,
    pub(crate) nudge: bool,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) sockets: bool,
    pub(crate) ours: Arc<dyn LocalService>,
    /// Requests under way.
    busy: AtomicUsize,
    /// Rings when there are none any more.
    idle: Notify,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("routes", &self.routes).finish_non_exhaustive()
    }
}

impl Relay {
    pub fn new(config: &Config, ours: Arc<dyn LocalService>, judge: Arc<dyn Supervisor>) -> Result<Self, StartError> {
        Ok(Self {
            hold: config.hold,
            nudge: config.nudge,
            inspector: Arc::new(Inspector::new(judge, config.chant)?),
            routes: Routes::new(&config.upstreams)?,
            buffers: BufferPool::new(config.buffered),
            keep: config.inspected,
            sockets: config.sockets,
            ours,
            busy: AtomicUsize::new(0),
            idle: Notify::new(),
        })
    }

    /// Counts a request as under way for as long as the guard lives.
    pub(crate) fn track_request(&self) -> InFlightGuard<'_> {
        self.busy.fetch_add(1, Ordering::AcqRel);
        InFlightGuard(self)
    }

    /// Resolves when no request is under way.
    pub async fn wait_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.busy.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// A run of an agent begins, with the model APIs its user had chosen for it. They are asked for by
    /// this run only.
    pub fn begin_run(&self, run: &str, upstreams: &[UpstreamConfig]) -> Result<(), UpstreamConfigError> {
        self.routes.begin_run(run, upstreams)
    }

    /// A run's session became known by other means than its requests.
    pub fn bind_run_session(&self, run: &str, session: &SessionKey) {
        self.routes.bind_run_session(run, session);
    }

    /// Waits until all that passed is told to the judge, for so long at most.
    pub fn flush_recorder(&self, patience: Duration) {
        self.inspector.flush(patience);
    }

    /// The session that a run turned out to be.
    pub fn run_session(&self, run: &str) -> Option<SessionKey> {
        self.routes.session_of(run)
    }

    /// Bytes held for requests and answers in flight.
    pub fn bytes_buffered(&self) -> usize {
        self.buffers.bytes_in_use()
    }

    /// Takes connections until the listener fails or the future is dropped; connections taken go on.
    pub async fn accept_loop(self: Arc<Self>, listener: TcpListener) -> std::io::Error {
        if let Ok(address) = listener.local_addr() {
            self.routes.add_own_address(address);
        }
        loop {
            match listener.accept().await {
                Ok((io, peer)) => {
                    tokio::spawn(connection::serve_connection(Arc::clone(&self), io, peer));
                }
                Err(error) if is_passing(&error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return error,
            }
        }
    }
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct InFlightGuard<'r>(&'r Relay);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        if self.0.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// Whether the next connection may well be accepted: this one was reset, or we are out of files.
fn is_passing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
        || matches!(error.raw_os_error(), Some(23 | 24 | 105 | 12))
}
