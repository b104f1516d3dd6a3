//! Starts the resident process (lock, engine, socket, HTTP, housekeeping) and shuts it down in order.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belay_config::{Config, Diagnostic, EnvSnapshot, PathError, Paths};
use belay_drive::limits::Limits;
use belay_hooks::process_chain::ProcessChain;
use belay_ipc::HealthView;
use belay_proxy::Relay;
use belay_store::StoreUrl;
use belay_tasks::Resources;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::alert_dispatcher;
use crate::approvals::Approvals;
use crate::audits::Audits;
use crate::dashboard::OverviewCache;
use crate::follower::{LogFollower, LogSubscriber};
use crate::hold_index::HoldWatcher;
use crate::housekeeping::{self, HousekeepingConfig};
use crate::http;
use crate::instance_lock::{InstanceInfo, InstanceLock, LockOutcome, runtime_dir_lock};
use crate::ipc_server::{BoundSocket, WorkerPool};
use crate::limits::LimitFeed;
use crate::listeners::{BoundListener, ListenError, Listeners};
use crate::live::{LiveFeed, LiveHub};
use crate::logins::Logins;
use crate::mail::{Mail, MailProofs};
use crate::needs::{NeedChanges, NeedWatcher};
use crate::proxy_service::{self, EngineSupervisor};
use crate::read_pool::ReadPool;
use crate::request_memory::{self, LargeRequests};
use crate::reviews::Reviews;
use crate::run_store::RunStore;
use crate::session_files;
use crate::state::{ConfigSource, DaemonState, Decisions, Lifecycle, Runs};
use crate::tickets::Tickets;
use crate::token::ApiToken;
use crate::trial::GuidedTrial;
use crate::write_throttle::WriteThrottle;

/// How long to wait for requests in flight at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Configuration of the resident process.
#[derive(Debug)]
pub struct ServeOptions {
    pub paths: Paths,
    pub env: EnvSnapshot,
    pub config: Config,
    /// Command-line flags that set configuration keys, for reloading the configuration.
    pub flags: Vec<(String, String, String)>,
}

/// Why the resident process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process serves the same state directory.
    #[error("another resident process serves this state directory")]
    AlreadyRunning(Option<InstanceInfo>),
    #[error("port {} is in use by another program", .0.port())]
    PortTaken(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, ListenError),
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
    daemon: Arc<DaemonState>,
    pool: Arc<WorkerPool>,
    relay: Arc<Relay>,
    listeners: UnboundedReceiver<BoundListener>,
    url: Option<String>,
    plan: HousekeepingConfig,
    channels: Vec<Box<dyn belay_alerts::Channel>>,
    runtime: tokio::runtime::Runtime,
    signals: ShutdownSignals,
    // Last: the lock is released after everything else.
    _instance: InstanceLock,
}

impl Daemon {
    /// Takes the lock and opens store, socket and port. Requests are served from then on.
    pub fn start(options: ServeOptions) -> Result<Self, ServeError> {
        let ServeOptions { paths, env, config, flags } = options;
        request_memory::configure_allocator();
        let (mut instance, socket_path) = acquire_lock(&paths)?;
        let serve = &config.serve;
        let (http_listeners, listeners) =
            Listeners::new(serve.listen.socket_addr(), serve.tls.clone(), paths.state().to_path_buf());
        if config.serve.http {
            let wanted = config.serve.listen.socket_addr();
            http_listeners.bind_configured().map_err(|error| match error {
                ListenError::Io(error) if error.kind() == io::ErrorKind::AddrInUse => ServeError::PortTaken(wanted),
                error => ServeError::Listen(wanted, error),
            })?;
        }
        // Catch signals before announcing this process, so that a signal always means an orderly shutdown.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
        let signals = ShutdownSignals::catch(&runtime)?;
        let url = http_listeners.url();
        let socket = BoundSocket::bind(&socket_path)
            .map_err(|source| ServeError::Socket { path: socket_path.clone(), source })?;
        let hook_log = belay_hooks::config_problem_log(paths.logs());
        let on_diagnostic = move |note: &Diagnostic| {
            tracing::warn!(%note, "invalid configuration");
            hook_log(note);
        };
        let engine = belay_engine::open_with_fallback(&paths, &env, flags.clone(), Box::new(on_diagnostic));
        let tickets = Arc::<Tickets>::default();
        let limits = Limits::load(paths.state());
        let daemon = Arc::new(DaemonState {
            decisions: Decisions::new(engine),
            runs: Runs::new(RunStore::load(&paths), http_listeners),
            lifecycle: Lifecycle::new(socket_path, runtime.handle().clone()),
            readers: ReadPool::new(paths.database()),
            hold_watcher: HoldWatcher::new(StoreUrl::local(paths.database())),
            token: ApiToken::load_or_create(&paths.token())?,
            logins: Logins::load(paths.logins())?,
            loop_watchdog_without_token: config.compat.loop_watchdog_without_token,
            hook_state: belay_hooks::HookState::default(),
            large_requests: LargeRequests::default(),
            live: LiveHub::new(proxy_service::max_connections()),
            overview_cache: OverviewCache::default(),
            trial: GuidedTrial::default(),
            throttle: WriteThrottle::default(),
            audits: Audits::new(&paths),
            resources: Arc::new(Resources::new(limits.clone())),
            limits,
            approvals: Approvals::new(Arc::clone(&tickets)),
            tickets,
            mail: Mail::open(&paths.state().join("mailbox.jsonl")),
            reviews: Reviews::default(),
            need_changes: NeedChanges::default(),
            config: ConfigSource { paths: paths.clone(), env: env.clone(), flags },
        });
        daemon.decisions.committer.with_engine(belay_engine::Engine::sync_held_file);
        if config.detect.budget.is_shared() {
            daemon.decisions.budgets.enable_shared();
        }
        if let Err(error) = daemon.decisions.load(&daemon.readers) {
            tracing::warn!(%error, "cannot load the budgets; each is known at its session's next event");
        }
        let relayed = crate::proxy_service::relay_config(&config.proxy, config.detect.repetition, &env)?;
        let pages = Arc::new(http::HttpService::new(Arc::clone(&daemon)));
        let relay = Arc::new(Relay::new(&relayed, pages, Arc::new(EngineSupervisor(Arc::clone(&daemon))))?);
        daemon.runs.set_relay(&relay);
        daemon.runs.store.restore_into(&relay);
        belay_drive::run_dir::sweep(&paths);
        for address in daemon.runs.store.live_addresses() {
            if let Err(error) = daemon.runs.listeners.ensure_at(address) {
                tracing::warn!(%address, %error, "cannot listen where a running agent sends its requests");
            }
        }
        let pool = WorkerPool::start(socket, Arc::clone(&daemon))?;
        instance.write_info(&InstanceInfo {
            pid: std::process::id(),
            start_time: belay_process::start_time(std::process::id()),
            version: crate::VERSION.to_owned(),
            url: url.clone(),
        });
        let plan = HousekeepingConfig::new(&config);
        let channels = belay_alerts::channels::from_config(&config, &env);
        Ok(Self { daemon, pool, relay, listeners, url, plan, channels, runtime, signals, _instance: instance })
    }

    /// The URL of the web page.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The fingerprint of the certificate, if other machines can reach this process.
    pub fn fingerprint(&self) -> Option<String> {
        self.daemon.runs.listeners.first()?.fingerprint
    }

    /// A link that logs one browser in; `None` without HTTP.
    pub fn login_link(&self) -> io::Result<Option<String>> {
        let chain = ProcessChain::of_process(std::process::id(), &self.daemon.config.env);
        self.daemon.login_link(chain.describe().to_string())
    }

    pub fn socket(&self) -> &Path {
        &self.daemon.lifecycle.socket
    }

    /// Whether decisions are also stored.
    pub fn health(&self) -> HealthView {
        self.daemon.health()
    }

    /// What a person must know about how this process is configured.
    pub fn notices(&self) -> Vec<String> {
        self.daemon.config.notices()
    }

    /// Serves until an orderly shutdown. Returns the reason for it.
    pub fn run(self) -> Result<&'static str, ServeError> {
        let Self { daemon, pool, relay, listeners, url: _, plan, channels, runtime, signals, _instance } = self;
        let housekeeping_thread = {
            let daemon = Arc::clone(&daemon);
            std::thread::Builder::new()
                .name("housekeeping".to_owned())
                .spawn(move || housekeeping::run(&daemon, plan))?
        };
        let session_files_thread = {
            let daemon = Arc::clone(&daemon);
            std::thread::Builder::new().name("session-files".to_owned()).spawn(move || session_files::run(&daemon))?
        };
        let alerts = {
            let daemon = Arc::clone(&daemon);
            let needs = NeedWatcher::new(plan.retention.max_age);
            std::thread::Builder::new()
                .name("alerts".to_owned())
                .spawn(move || alert_dispatcher::run(&daemon, channels, needs))?
        };
        let follower_thread = {
            let daemon = Arc::clone(&daemon);
            let subscribers: Vec<Box<dyn LogSubscriber>> = vec![
                Box::new(LiveFeed(Arc::clone(&daemon))),
                Box::new(LimitFeed(Arc::clone(&daemon))),
                Box::new(MailProofs(Arc::clone(&daemon))),
            ];
            let follower = LogFollower::new(&daemon.readers, subscribers);
            // After the position of the follower, so that nothing is missed between the two.
            if let Ok(store) = daemon.readers.get() {
                daemon.mail.catch_up(&*store);
            }
            std::thread::Builder::new().name("log-follower".to_owned()).spawn(move || {
                follower.run(&daemon.readers, daemon.decisions.committer.commits(), &daemon.lifecycle.shutdown);
            })?
        };
        // Before something is started.
        if let Err(error) = LimitFeed(Arc::clone(&daemon)).catch_up() {
            tracing::warn!(%error, "cannot read the limits of accounts that were hit before the start");
        }
        let mail_thread = match daemon.mail.worker(&daemon.tickets) {
            Some(worker) => {
                let daemon = Arc::clone(&daemon);
                let run = move || worker.run(|| daemon.lifecycle.shutdown.is_set());
                Some(std::thread::Builder::new().name("mail".to_owned()).spawn(run)?)
            }
            None => None,
        };
        Reviews::start(&daemon);
        let served = runtime.block_on(serve(&daemon, &relay, listeners, signals));
        daemon.lifecycle.shutdown.set("the listener failed");
        // Agents that Belay drives end with it, while it can still record their last events.
        daemon.reviews.shut_down();
        if !pool.drain(DRAIN_TIMEOUT) {
            tracing::warn!("some connections did not finish in time");
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        if mail_thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("delivering messages panicked");
        }
        // Dropping the relay flushes its recorder.
        drop(relay);
        if housekeeping_thread.join().is_err() {
            tracing::error!("housekeeping panicked");
        }
        if session_files_thread.join().is_err() {
            tracing::error!("following session files panicked");
        }
        // It may rest until a commit.
        daemon.decisions.committer.commits().notify();
        if follower_thread.join().is_err() {
            tracing::error!("the follower of the log panicked");
        }
        if alerts.join().is_err() {
            tracing::error!("the alert dispatcher panicked");
        }
        daemon.logins.save_if_dirty();
        daemon.decisions.committer.with_engine(belay_engine::Engine::flush);
        match daemon.decisions.committer.with_engine(belay_engine::Engine::save_spool) {
            Ok(0) => {}
            Ok(events) => tracing::warn!(events, "the store cannot be written; saved the events of hooks for later"),
            Err(error) => tracing::error!(%error, "cannot save the events of hooks"),
        }
        let events = daemon.decisions.committer.with_engine(|engine| engine.health().spooled);
        if events > 0 {
            tracing::error!(events, "spooled events could not be stored and are lost");
        }
        // Otherwise the whole store may be in the write-ahead log, which a copy of the file would miss.
        match daemon.decisions.committer.with_engine(belay_engine::Engine::checkpoint) {
            Ok(true) => {}
            Ok(false) => tracing::info!("another process uses the store; its write-ahead log remains"),
            Err(error) => tracing::warn!(%error, "checkpoint failed"),
        }
        served?;
        let reason = daemon.lifecycle.shutdown.reason().unwrap_or("stop requested");
        tracing::info!(reason, "stopping");
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
    daemon: &Arc<DaemonState>,
    relay: &Arc<Relay>,
    listeners: UnboundedReceiver<BoundListener>,
    mut signals: ShutdownSignals,
) -> Result<(), ServeError> {
    let signals = async {
        tokio::select! {
            _ = signals.terminate.recv() => daemon.lifecycle.shutdown.set("SIGTERM"),
            _ = signals.interrupt.recv() => daemon.lifecycle.shutdown.set("SIGINT"),
            () = daemon.lifecycle.shutdown.wait() => {}
        }
    };
    let (served, ()) = tokio::join!(http::serve(listeners, daemon, relay), signals);
    daemon.tickets.close().await;
    Ok(served?)
}

/// The lock and the socket's path. If the state directory is not writable, both are in the runtime directory.
fn acquire_lock(paths: &Paths) -> Result<(InstanceLock, PathBuf), ServeError> {
    let in_state_dir = paths.create().map_err(ServeError::from).and_then(|()| {
        InstanceLock::acquire(&paths.lock())
            .map_err(|source| ServeError::Place(PathError::Io { path: paths.lock(), source }))
    });
    let (outcome, socket) = match in_state_dir {
        Ok(outcome) => (outcome, paths.socket().to_path_buf()),
        Err(error) => {
            tracing::error!(%error, "state directory not writable; nothing will be stored");
            paths.create_runtime_dir()?;
            let lock = runtime_dir_lock(paths.runtime_socket());
            let outcome = InstanceLock::acquire(&lock).map_err(|source| PathError::Io { path: lock, source })?;
            (outcome, paths.runtime_socket().to_path_buf())
        }
    };
    match outcome {
        LockOutcome::Acquired(instance) => Ok((instance, socket)),
        LockOutcome::HeldByOther(holder) => Err(ServeError::AlreadyRunning(holder)),
    }
}
