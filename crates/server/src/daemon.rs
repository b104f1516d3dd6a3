//! Putting it together: lock, engine, socket, HTTP, housekeeping; and taking it apart in order.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use belay_config::{Config, Diagnostic, EnvSnapshot, PathError, Paths};
use belay_core::Timestamp;
use belay_engine::Health;
use belay_ipc::{HealthView, PROTOCOL_VERSION, StatusResponse};
use belay_proxy::Relay;
use belay_store::Store;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::alert_dispatcher;
use crate::budget_cache::BudgetCache;
use crate::group_commit::GroupCommitter;
use crate::hold_index::HoldIndex;
use crate::housekeeping::{self, HousekeepingConfig, now};
use crate::http;
use crate::instance_lock::{InstanceInfo, InstanceLock, LockOutcome, runtime_dir_lock};
use crate::ipc_server::{BoundSocket, WorkerPool};
use crate::listeners::Listeners;
use crate::pending_run_budgets::PendingRunBudgets;
use crate::proxy_service::EngineSupervisor;
use crate::read_pool::ReadPool;
use crate::run_store::RunStore;
use crate::shutdown::ShutdownFlag;
use crate::token::ApiToken;

/// How long requests under way may take when we leave.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// What the resident process is told.
#[derive(Debug)]
pub struct ServeOptions {
    pub places: Paths,
    pub env: EnvSnapshot,
    pub config: Config,
    /// Flags that set keys, for reading the configuration again.
    pub flags: Vec<(String, String, String)>,
}

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another one does, for the same state folder.
    #[error("another resident process serves this state folder")]
    AlreadyRunning(Option<InstanceInfo>),
    #[error("port {} is taken by another program", .0.port())]
    PortTaken(SocketAddr),
    #[error("{0} cannot be listened on: {1}")]
    Listen(SocketAddr, io::Error),
    #[error(transparent)]
    Place(#[from] PathError),
    #[error("the socket {} cannot be opened: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Upstream(#[from] crate::proxy_service::UpstreamError),
    #[error(transparent)]
    Relay(#[from] belay_proxy::StartError),
    #[error("the resident process cannot be started: {0}")]
    Start(#[from] io::Error),
}

/// What all parts share.
#[derive(Debug)]
pub(crate) struct DaemonState {
    pub(crate) writer: GroupCommitter,
    pub(crate) readers: ReadPool,
    pub(crate) stop: ShutdownFlag,
    pub(crate) token: ApiToken,
    /// Loop Watchdog's clients may decide without it.
    pub(crate) loop_watchdog_without_token: bool,
    /// What hooks remember from one call to the next.
    pub(crate) hook_state: belay_hooks::HookState,
    pub(crate) connections: AtomicUsize,
    /// How sessions stand, for those who cannot wait for the store.
    pub(crate) standings: Arc<HoldIndex>,
    /// What sessions may still spend, likewise.
    pub(crate) purses: Arc<BudgetCache>,
    started: Instant,
    started_at: Timestamp,
    socket: PathBuf,
    pub(crate) listeners: Listeners,
    /// What runs were promised.
    pub(crate) pending_run_budgets: PendingRunBudgets,
    /// Where their users wanted them to go.
    pub(crate) runs: RunStore,
    /// The relay, for those who begin runs. It knows us, so it is not ours to keep alive.
    pub(crate) relay: OnceLock<Weak<Relay>>,
    /// Milliseconds after `started` of the last request.
    active: AtomicI64,
}

impl DaemonState {
    /// Somebody asked for something.
    pub(crate) fn mark_active(&self) {
        let millis = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.active.store(millis, Ordering::Relaxed);
    }

    /// What must be known before the first request.
    fn recall(&self, store: &dyn Store) -> belay_store::Result<()> {
        self.purses.load(store)?;
        self.standings.load(store)
    }

    pub(crate) fn idle_for(&self) -> Duration {
        let active = u64::try_from(self.active.load(Ordering::Relaxed)).unwrap_or(0);
        self.started.elapsed().saturating_sub(Duration::from_millis(active))
    }

    pub(crate) fn health(&self) -> HealthView {
        health_view(self.writer.with_engine(|engine| engine.health()))
    }

    pub(crate) fn status(&self, token: bool) -> StatusResponse {
        let (health, metrics) = self.writer.with_engine(|engine| (engine.health(), engine.metrics()));
        StatusResponse {
            pid: std::process::id(),
            version: crate::VERSION.to_owned(),
            protocol: PROTOCOL_VERSION,
            started_at: self.started_at,
            url: self.listeners.url(),
            socket: self.socket.display().to_string(),
            token: token.then(|| self.token.expose_secret().to_owned()),
            health: health_view(health),
            queued: self.writer.queued(),
            connections: self.connections.load(Ordering::Relaxed),
            counters: serde_json::to_value(metrics).unwrap_or_default(),
        }
    }
}

fn health_view(health: Health) -> HealthView {
    let ok = health.is_healthy();
    let (problem, hint, since) = match health.fault {
        Some(fault) => (Some(fault.problem), Some(fault.hint), Some(fault.since)),
        None => (None, None, None),
    };
    HealthView { ok, problem, hint, since, spooled: health.spooled, dropped: health.dropped }
}

/// A resident process that is ready to serve.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<DaemonState>,
    pool: Arc<WorkerPool>,
    relay: Arc<Relay>,
    listeners: UnboundedReceiver<std::net::TcpListener>,
    url: Option<String>,
    plan: HousekeepingConfig,
    channels: belay_alerts::Channels,
    runtime: tokio::runtime::Runtime,
    signals: ShutdownSignals,
    // Last: the lock goes when everything else has gone.
    _instance: InstanceLock,
}

impl Daemon {
    /// Takes the lock, opens store, socket and port. From here on callers are answered.
    pub fn start(options: ServeOptions) -> Result<Self, ServeError> {
        let ServeOptions { places, env, config, flags } = options;
        let (mut instance, socket_path) = claim(&places)?;
        let (doors, listeners) = Listeners::new(config.serve.listen.socket_addr());
        if config.serve.http {
            let wanted = config.serve.listen.socket_addr();
            doors.bind_configured().map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => ServeError::PortTaken(wanted),
                _ => ServeError::Listen(wanted, error),
            })?;
        }
        // Before anybody can know that we serve: a signal from now on means "leave in order".
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
        let signals = ShutdownSignals::catch(&runtime)?;
        let url = doors.url();
        let socket = BoundSocket::bind(&socket_path)
            .map_err(|source| ServeError::Socket { path: socket_path.clone(), source })?;
        let on_diagnostic = |note: &Diagnostic| tracing::warn!(%note, "a setting is ignored");
        let engine = belay_engine::open_with_fallback(&places, &env, flags, Box::new(on_diagnostic));
        let (standings, purses) = (Arc::<HoldIndex>::default(), Arc::<BudgetCache>::default());
        let shared = Arc::new(DaemonState {
            writer: GroupCommitter::new(engine, Arc::clone(&standings), Arc::clone(&purses)),
            readers: ReadPool::new(places.database()),
            stop: ShutdownFlag::default(),
            token: ApiToken::load_or_make(&places.token())?,
            loop_watchdog_without_token: config.compat.loop_watchdog_without_token,
            hook_state: belay_hooks::HookState::default(),
            connections: AtomicUsize::new(0),
            standings,
            purses,
            started: Instant::now(),
            started_at: now(),
            socket: socket_path,
            listeners: doors,
            pending_run_budgets: PendingRunBudgets::default(),
            runs: RunStore::load(places.state().join("runs.json")),
            relay: OnceLock::new(),
            active: AtomicI64::new(0),
        });
        if config.detect.budget.is_shared() {
            shared.purses.enable_shared();
        }
        match shared.readers.get().and_then(|store| shared.recall(&*store)) {
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "who is held back could not be read; it shows with the next event"),
        }
        let relayed = crate::proxy_service::relay_config(&config.proxy, config.detect.repetition, &env)?;
        let pages = Arc::new(http::HttpService::new(Arc::clone(&shared)));
        let relay = Arc::new(Relay::new(&relayed, pages, Arc::new(EngineSupervisor(Arc::clone(&shared))))?);
        let _ = shared.relay.set(Arc::downgrade(&relay));
        shared.runs.restore_into(&relay);
        let pool = WorkerPool::start(socket, Arc::clone(&shared))?;
        instance.write_info(&InstanceInfo {
            pid: std::process::id(),
            version: crate::VERSION.to_owned(),
            url: url.clone(),
        });
        let plan = HousekeepingConfig::new(&config);
        let channels = alert_dispatcher::build_channels(&config, &env);
        Ok(Self { shared, pool, relay, listeners, url, plan, channels, runtime, signals, _instance: instance })
    }

    /// Where the page is.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub fn socket(&self) -> &Path {
        &self.shared.socket
    }

    /// Whether what is answered is also kept.
    pub fn health(&self) -> HealthView {
        self.shared.health()
    }

    /// Serves until told to leave, and leaves in order. Returns why.
    pub fn run(self) -> Result<&'static str, ServeError> {
        let Self { shared, pool, relay, listeners, url: _, plan, channels, runtime, signals, _instance } = self;
        let keeper = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("housekeeping".to_owned())
                .spawn(move || housekeeping::run(&shared, plan))?
        };
        // Nobody waits for it at the end: what it is just telling is told again by the next one.
        let telling = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("courier".to_owned())
            .spawn(move || alert_dispatcher::run(&telling, channels))?;
        let served = runtime.block_on(serve(&shared, &relay, listeners, signals));
        shared.stop.set("the listener failed");
        if !pool.drain(DRAIN_TIMEOUT) {
            tracing::warn!("some connections did not finish in time");
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        // With the relay goes what it still had to tell.
        drop(relay);
        if keeper.join().is_err() {
            tracing::error!("housekeeping panicked");
        }
        let health = shared.writer.with_engine(belay_engine::Engine::flush);
        if health.spooled > 0 {
            tracing::error!(events = health.spooled, "events that waited in memory for the store are lost");
        }
        served?;
        let reason = shared.stop.reason().unwrap_or("asked to");
        tracing::info!(reason, "leaving");
        Ok(reason)
    }
}

/// Signals that mean "leave in order".
#[derive(Debug)]
struct ShutdownSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl ShutdownSignals {
    fn catch(runtime: &tokio::runtime::Runtime) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let _inside = runtime.enter();
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }
}

async fn serve(
    shared: &Arc<DaemonState>,
    relay: &Arc<Relay>,
    listeners: UnboundedReceiver<std::net::TcpListener>,
    mut signals: ShutdownSignals,
) -> Result<(), ServeError> {
    let signals = async {
        tokio::select! {
            _ = signals.terminate.recv() => shared.stop.set("SIGTERM"),
            _ = signals.interrupt.recv() => shared.stop.set("SIGINT"),
            () = shared.stop.wait() => {}
        }
    };
    let (served, ()) = tokio::join!(http::serve(listeners, shared, relay), signals);
    Ok(served?)
}

/// The lock and the socket's path. Where the state folder cannot be written both go to the runtime folder.
fn claim(places: &Paths) -> Result<(InstanceLock, PathBuf), ServeError> {
    let near = places.create().map_err(ServeError::from).and_then(|()| {
        InstanceLock::acquire(&places.lock())
            .map_err(|source| ServeError::Place(PathError::Io { path: places.lock(), source }))
    });
    let (claim, socket) = match near {
        Ok(claim) => (claim, places.socket().to_path_buf()),
        Err(error) => {
            tracing::error!(%error, "the state folder cannot be written; nothing will be kept");
            places.create_runtime_dir()?;
            let lock = runtime_dir_lock(places.runtime_socket());
            let claim = InstanceLock::acquire(&lock).map_err(|source| PathError::Io { path: lock, source })?;
            (claim, places.runtime_socket().to_path_buf())
        }
    };
    match claim {
        LockOutcome::Acquired(instance) => Ok((instance, socket)),
        LockOutcome::HeldByOther(holder) => Err(ServeError::AlreadyRunning(holder)),
    }
}
