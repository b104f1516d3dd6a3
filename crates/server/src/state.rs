//! Shared state of the resident process.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_config::{ApprovalsConfig, EnvSnapshot, Loader, Paths, Strictness};
use belay_core::{SessionKey, Timestamp};
use belay_drive::limits::Limits;
use belay_engine::{Engine, Health};
use belay_ipc::{ErrorBody, HealthView, PROTOCOL_VERSION, StatusResponse};
use belay_proxy::Relay;
use belay_store::StoreUrl;
use belay_tasks::Resources;

use crate::approvals::Approvals;
use crate::audits::Audits;
use crate::budget_cache::BudgetCache;
use crate::dashboard::OverviewCache;
use crate::group_commit::GroupCommitter;
use crate::hold_index::{HoldIndex, HoldWatcher};
use crate::intake;
use crate::listeners::Listeners;
use crate::live::LiveHub;
use crate::logins::Logins;
use crate::mail::Mail;
use crate::needs::NeedChanges;
use crate::pending_run_decisions::PendingRunDecisions;
use crate::read_pool::ReadPool;
use crate::request_memory::LargeRequests;
use crate::reviews::Reviews;
use crate::run_store::RunStore;
use crate::shutdown::ShutdownFlag;
use crate::tickets::Tickets;
use crate::token::ApiToken;
use crate::trial::GuidedTrial;
use crate::write_throttle::WriteThrottle;

/// Sessions deleted in one transaction, which takes a few milliseconds.
const DELETED_AT_ONCE: usize = 64;

#[derive(Debug)]
pub(crate) struct DaemonState {
    pub(crate) decisions: Decisions,
    pub(crate) runs: Runs,
    pub(crate) throttle: WriteThrottle,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) readers: ReadPool,
    pub(crate) hold_watcher: HoldWatcher,
    pub(crate) token: ApiToken,
    pub(crate) logins: Logins,
    /// Loop Watchdog's clients may decide without the token.
    pub(crate) loop_watchdog_without_token: bool,
    pub(crate) hook_state: belay_hooks::HookState,
    pub(crate) large_requests: LargeRequests,
    pub(crate) config: ConfigSource,
    pub(crate) live: LiveHub,
    pub(crate) overview_cache: OverviewCache,
    pub(crate) trial: GuidedTrial,
    pub(crate) audits: Audits,
    /// What runs may start; shared by everything that starts agents.
    pub(crate) limits: Limits,
    /// What the tasks of all drivers compete for.
    pub(crate) resources: Arc<Resources>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) mail: Mail,
    pub(crate) approvals: Approvals,
    pub(crate) reviews: Reviews,
    pub(crate) need_changes: NeedChanges,
}

/// The engine, with in-memory indexes for callers that cannot wait for it.
#[derive(Debug)]
pub(crate) struct Decisions {
    pub(crate) committer: GroupCommitter,
    pub(crate) holds: Arc<HoldIndex>,
    pub(crate) budgets: Arc<BudgetCache>,
}

impl Decisions {
    pub(crate) fn new(engine: Engine) -> Self {
        let (holds, budgets) = (Arc::<HoldIndex>::default(), Arc::<BudgetCache>::default());
        Self { committer: GroupCommitter::new(engine, Arc::clone(&holds), Arc::clone(&budgets)), holds, budgets }
    }

    /// Deletes sessions, held or not, in slices between which others use the store. Returns how many existed.
    pub(crate) fn delete_sessions(&self, sessions: &[SessionKey]) -> Result<u64, ErrorBody> {
        let mut deleted = 0;
        for slice in sessions.chunks(DELETED_AT_ONCE) {
            let began = Instant::now();
            let result = self.committer.with_engine(|engine| engine.delete_sessions(slice));
            deleted += result.map_err(|error| intake::to_ipc_error(error.into()))?;
            slice.iter().for_each(|session| self.holds.release(session));
            if slice.len() == DELETED_AT_ONCE {
                std::thread::sleep(began.elapsed());
            }
        }
        Ok(deleted)
    }

    /// Loads what must be known before the first request: the held sessions, also if the store cannot be read, and the
    /// budgets.
    pub(crate) fn load(&self, readers: &ReadPool) -> belay_store::Result<()> {
        self.committer.with_engine(|engine| self.holds.load_from(engine));
        self.budgets.load(&*readers.get()?)
    }
}

/// Runs of agents through the proxy.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) pending_decisions: PendingRunDecisions,
    /// The model APIs of runs.
    pub(crate) store: RunStore,
    /// Weak, because the relay refers to this state.
    relay: OnceLock<Weak<Relay>>,
    pub(crate) listeners: Listeners,
}

impl Runs {
    pub(crate) fn new(store: RunStore, listeners: Listeners) -> Self {
        Self { pending_decisions: PendingRunDecisions::default(), store, relay: OnceLock::new(), listeners }
    }

    /// Sets the relay; the first call wins.
    pub(crate) fn set_relay(&self, relay: &Arc<Relay>) {
        let _ = self.relay.set(Arc::downgrade(relay));
    }

    /// The relay; `None` during startup and shutdown.
    pub(crate) fn relay(&self) -> Option<Arc<Relay>> {
        self.relay.get().and_then(Weak::upgrade)
    }
}

/// The sources of the configuration.
#[derive(Debug)]
pub(crate) struct ConfigSource {
    pub(crate) paths: Paths,
    pub(crate) env: EnvSnapshot,
    /// Settings on the command line of this process.
    pub(crate) flags: belay_engine::Flags,
}

impl ConfigSource {
    /// How permission prompts are offered, read again: turning it on needs no restart. Projects have no say in it.
    pub(crate) fn approvals(&self) -> Option<ApprovalsConfig> {
        let loader = Loader::new(&self.paths, &self.env).strictness(Strictness::Lenient);
        let loader = self.flags.iter().fold(loader, |loader, (flag, key, value)| loader.flag(flag, key, value));
        Some(loader.load().ok()?.config.approvals)
    }

    /// The store of the state directory.
    pub(crate) fn store(&self) -> StoreUrl {
        StoreUrl::local(self.paths.database())
    }

    /// What a person must know about how this process is configured: that it only observes, and what its environment
    /// changes for every session.
    pub(crate) fn notices(&self) -> Vec<String> {
        let loader = Loader::new(&self.paths, &self.env).strictness(Strictness::Lenient);
        let loader = self.flags.iter().fold(loader, |loader, (flag, key, value)| loader.flag(flag, key, value));
        loader.load().map(|loaded| loaded.notices()).unwrap_or_default()
    }

    /// The notices, and the problems of the configuration: what is ignored, and where it stands.
    pub(crate) fn notices_and_problems(&self) -> Vec<String> {
        let problems = self.problems().into_iter().map(|problem| format!("Ignored in the configuration: {problem}."));
        self.notices().into_iter().chain(problems).collect()
    }

    /// The problems of the user's configuration, read again.
    pub(crate) fn problems(&self) -> Vec<String> {
        let loaded = Loader::new(&self.paths, &self.env).strictness(Strictness::Lenient).load();
        loaded.map_or_else(
            |error| vec![error.to_string()],
            |loaded| loaded.notes.iter().map(ToString::to_string).collect(),
        )
    }
}

/// Start time, last activity and shutdown of the process.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    /// Where tasks run that no thread should wait for.
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) shutdown: ShutdownFlag,
    pub(crate) socket: PathBuf,
    /// Open socket connections.
    pub(crate) connections: AtomicUsize,
    started: Instant,
    started_at: Timestamp,
    /// Time of the last request, in milliseconds after `started`.
    last_active: AtomicI64,
    /// The user requested that the process does not exit when idle.
    idle_exit_disabled: AtomicBool,
}

impl Lifecycle {
    pub(crate) fn new(socket: PathBuf, runtime: tokio::runtime::Handle) -> Self {
        Self {
            runtime,
            shutdown: ShutdownFlag::default(),
            socket,
            connections: AtomicUsize::new(0),
            started: Instant::now(),
            started_at: now(),
            last_active: AtomicI64::new(0),
            idle_exit_disabled: AtomicBool::new(false),
        }
    }

    pub(crate) fn disable_idle_exit(&self) {
        self.idle_exit_disabled.store(true, Ordering::Relaxed);
    }

    /// Records activity; called for every request.
    pub(crate) fn mark_active(&self) {
        let millis = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.last_active.store(millis, Ordering::Relaxed);
    }

    /// Whether the process has been idle for at least `limit` and may exit.
    pub(crate) fn is_idle(&self, limit: Duration) -> bool {
        !self.idle_exit_disabled.load(Ordering::Relaxed) && self.idle_for() >= limit
    }

    fn idle_for(&self) -> Duration {
        let active = u64::try_from(self.last_active.load(Ordering::Relaxed)).unwrap_or(0);
        self.started.elapsed().saturating_sub(Duration::from_millis(active))
    }
}

impl DaemonState {
    pub(crate) fn health(&self) -> HealthView {
        health_view(self.decisions.committer.with_engine(|engine| engine.health()))
    }

    /// A link that logs one browser in; `None` without HTTP. `asked_by`: the process that gets it, and its ancestors.
    pub(crate) fn login_link(&self, asked_by: String) -> io::Result<Option<String>> {
        let Some(url) = self.runs.listeners.url() else { return Ok(None) };
        Ok(Some(format!("{url}login?code={}", self.logins.issue_code(asked_by, now())?)))
    }

    pub(crate) fn status(&self, token: bool) -> StatusResponse {
        let committer = &self.decisions.committer;
        let (health, metrics) = committer.with_engine(|engine| (engine.health(), engine.metrics()));
        StatusResponse {
            pid: std::process::id(),
            version: crate::VERSION.to_owned(),
            protocol: PROTOCOL_VERSION,
            started_at: self.lifecycle.started_at,
            url: self.runs.listeners.url(),
            socket: self.lifecycle.socket.display().to_string(),
            token: token.then(|| self.token.expose_secret().to_owned()),
            health: health_view(health),
            notices: self.config.notices_and_problems(),
            logins: self.logins.list(now()),
            queued: committer.queued(),
            connections: self.lifecycle.connections.load(Ordering::Relaxed),
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
