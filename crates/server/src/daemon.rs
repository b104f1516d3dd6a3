//! Starting and stopping: lock, engine, socket, HTTP, housekeeping; and an orderly shutdown.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belay_config::{Config, Diagnostic, EnvSnapshot, PathError, Paths};
use belay_ipc::HealthView;
use belay_proxy::Relay;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::alert_dispatcher;
use crate::housekeeping::{self, HousekeepingConfig};
use crate::http;
use crate::instance_lock::{InstanceInfo, InstanceLock, LockOutcome, runtime_dir_lock};
use crate::ipc_server::{BoundSocket, WorkerPool};
use crate::listeners::Listeners;
use crate::proxy_service::EngineSupervisor;
use crate::read_pool::ReadPool;
use crate::run_store::RunStore;
use crate::state::{DaemonState, Decisions, Lifecycle, Runs};
use crate::token::ApiToken;

/// How long requests in flight may take at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How the resident process is set up.
#[derive(Debug)]
pub struct ServeOptions {
    pub places: Paths,
    pub env: EnvSnapshot,
    pub config: Config,
    /// Flags that set keys, for reloading the configuration.
    pub flags: Vec<(String, String, String)>,
}

/// Why the resident process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process serves the same state folder.
    #[error("another resident process serves this state folder")]
    AlreadyRunning(Option<InstanceInfo>),
    #[error("port {} is in use by another program", .0.port())]
    PortTaken(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    #[error(transparent)]
    Place(#[from] PathError),
    #[error("cannot open the socket {}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Upstream(#[from] crate::proxy_service::UpstreamError),
    #[error(transparent)]
    Relay(#[from] belay_proxy::StartError),
    #[error("cannot start the resident process: {0}")]
    Start(#[from] io::Error),
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
    // Last: the lock is released after everything else.
    _instance: InstanceLock,
}

impl Daemon {
    /// Takes the lock, opens store, socket and port. From then on callers are answered.
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
        // Before anything tells that this process serves: from now on a signal means an orderly shutdown.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
        let signals = ShutdownSignals::catch(&runtime)?;
        let url = doors.url();
        let socket = BoundSocket::bind(&socket_path)
            .map_err(|source| ServeError::Socket { path: socket_path.clone(), source })?;
        let on_diagnostic = |note: &Diagnostic| tracing::warn!(%note, "a setting is ignored");
        let engine = belay_engine::open_with_fallback(&places, &env, flags, Box::new(on_diagnostic));
        let shared = Arc::new(DaemonState {
            decisions: Decisions::new(engine),
            runs: Runs::new(RunStore::load(places.state().join("runs.json")), doors),
            lifecycle: Lifecycle::new(socket_path),
            readers: ReadPool::new(places.database()),
            token: ApiToken::load_or_make(&places.token())?,
            loop_watchdog_without_token: config.compat.loop_watchdog_without_token,
            hook_state: belay_hooks::HookState::default(),
        });
        if config.detect.budget.is_shared() {
            shared.decisions.budgets.enable_shared();
        }
        if let Err(error) = shared.readers.get().and_then(|store| shared.decisions.load(&*store)) {
            tracing::warn!(%error, "cannot load the held sessions; their next event shows that they are held");
        }
        let relayed = crate::proxy_service::relay_config(&config.proxy, config.detect.repetition, &env)?;
        let pages = Arc::new(http::HttpService::new(Arc::clone(&shared)));
        let relay = Arc::new(Relay::new(&relayed, pages, Arc::new(EngineSupervisor(Arc::clone(&shared))))?);
        shared.runs.set_relay(&relay);
        shared.runs.store.restore_into(&relay);
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

    /// The URL of the web page.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub fn socket(&self) -> &Path {
        &self.shared.lifecycle.socket
    }

    /// Whether decisions are also stored.
    pub fn health(&self) -> HealthView {
        self.shared.health()
    }

    /// Serves until an orderly shutdown. Returns the reason for it.
    pub fn run(self) -> Result<&'static str, ServeError> {
        let Self { shared, pool, relay, listeners, url: _, plan, channels, runtime, signals, _instance } = self;
        let keeper = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("housekeeping".to_owned())
                .spawn(move || housekeeping::run(&shared, plan))?
        };
        // Not joined at shutdown: the next process sends again what was not confirmed.
        let alerting = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("courier".to_owned())
            .spawn(move || alert_dispatcher::run(&alerting, channels))?;
        let served = runtime.block_on(serve(&shared, &relay, listeners, signals));
        shared.lifecycle.shutdown.set("the listener failed");
        if !pool.drain(DRAIN_TIMEOUT) {
            tracing::warn!("some connections did not finish in time");
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        // Dropping the relay records what it has left.
        drop(relay);
        if keeper.join().is_err() {
            tracing::error!("housekeeping panicked");
        }
        let health = shared.decisions.committer.with_engine(belay_engine::Engine::flush);
        if health.spooled > 0 {
            tracing::error!(events = health.spooled, "events in memory that could not be stored are lost");
        }
        served?;
        let reason = shared.lifecycle.shutdown.reason().unwrap_or("asked to");
        tracing::info!(reason, "leaving");
        Ok(reason)
    }
}

/// Signals that start an orderly shutdown.
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
            _ = signals.terminate.recv() => shared.lifecycle.shutdown.set("SIGTERM"),
            _ = signals.interrupt.recv() => shared.lifecycle.shutdown.set("SIGINT"),
            () = shared.lifecycle.shutdown.wait() => {}
        }
    };
    let (served, ()) = tokio::join!(http::serve(listeners, shared, relay), signals);
    Ok(served?)
}

/// The lock and the socket's path. If the state folder is not writable, both are in the runtime folder.
fn claim(places: &Paths) -> Result<(InstanceLock, PathBuf), ServeError> {
    let near = places.create().map_err(ServeError::from).and_then(|()| {
        InstanceLock::acquire(&places.lock())
            .map_err(|source| ServeError::Place(PathError::Io { path: places.lock(), source }))
    });
    let (claim, socket) = match near {
        Ok(claim) => (claim, places.socket().to_path_buf()),
        Err(error) => {
            tracing::error!(%error, "the state folder is not writable; nothing will be stored");
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
