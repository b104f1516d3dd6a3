//! Starts an agent under supervision and waits until it exits.
//!
//! The resident process is started if necessary. The agent's model requests go to the proxy and its hooks to Belay.
//! The agent keeps the terminal, its arguments, its signals and its exit status. The user's configuration does not
//! change, and only the record of the run outlives it.

mod child;
mod daemon_keeper;
mod error;
mod file_watcher;
mod hanging_daemon;
mod plan;
mod run_session;
mod signals;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use belay_agents::launch::LaunchCommand;
use belay_config::{DurationSetting, EnvSnapshot, Paths};
use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use belay_core::session::Budget;
use belay_ipc::{Client, RunRequest};

use daemon_keeper::DaemonKeeper;
pub use error::LaunchError;
use file_watcher::FileWatcher;
pub use plan::{LaunchPlan, LaunchPreview};
pub(crate) use run_session::RunSession;

use crate::run_dir::{self, RunDir};

/// Belay's own directories and environment.
#[derive(Clone, Copy, Debug)]
pub struct BelayEnv<'a> {
    pub paths: &'a Paths,
    pub env: &'a EnvSnapshot,
    /// `--home`, if given.
    pub home: Option<&'a Path>,
    /// An agent calls the command, so `env` is the agent's.
    pub called_by_agent: bool,
}

/// What to run, and which sensors to use.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    /// The agent or program, and its arguments.
    pub command: Vec<OsString>,
    /// The agent's program, if it is not the one in PATH.
    pub program: Option<PathBuf>,
    /// Working directory; that of this process by default.
    pub dir: Option<PathBuf>,
    /// Install the agent's hooks for this run.
    pub hooks: bool,
    /// Relay the agent's model requests.
    pub proxy: bool,
    /// Report changes in the work tree.
    pub watch: bool,
    /// Budgets of the run.
    pub budget: Budget,
    /// Settings of its sessions only: configuration keys and values.
    pub settings: BTreeMap<String, String>,
    /// Who sets budgets and settings.
    pub operator: Option<String>,
}

/// A run that is about to start its program.
#[derive(Debug)]
pub struct Started<'a> {
    /// Display name of the agent or program.
    pub name: &'a str,
    /// The session, if its id is known before the first request.
    pub session: Option<SessionKey>,
    /// URL of the proxy and the dashboard.
    pub proxy: Option<&'a str>,
    /// What the user should know about this agent.
    pub notes: &'a [String],
}

/// A run whose program has exited.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub session: Option<SessionKey>,
    /// Working directory of the agent.
    pub dir: PathBuf,
}

/// Receives the progress of a run.
pub trait Progress: Sync {
    fn started(&self, started: &Started<'_>);
    /// The resident process is gone and cannot be restarted for now. The run continues without supervision.
    fn supervision_lost(&self, error: &LaunchError);
    /// The resident process runs again.
    fn supervision_restored(&self);
}

/// Connects to the resident process and starts it if necessary. It exits after being idle for `idle_exit`.
pub fn connect_or_start(belay: BelayEnv<'_>, idle_exit: DurationSetting) -> Result<Client, LaunchError> {
    daemon_keeper::connect_or_start(belay, &std::env::current_exe()?, idle_exit, || false)
}

/// Runs the plan to its end, in this terminal. `idle_exit` applies to a resident process that has to be started.
pub fn run(
    plan: LaunchPlan,
    belay: BelayEnv<'_>,
    idle_exit: DurationSetting,
    progress: &dyn Progress,
) -> Result<Finished, LaunchError> {
    let dir = plan.dir.clone();
    let supervised = run_with(plan, belay, idle_exit, progress, |program| {
        let status = child::run(program.path, program.launch)?;
        Ok((Some(status), status))
    })?;
    Ok(Finished { status: supervised.output, session: supervised.session, dir })
}

/// A program that is about to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) path: &'a Path,
    pub(crate) launch: &'a LaunchCommand,
    pub(crate) dir: &'a Path,
    pub(crate) run_dir: &'a RunDir,
    pub(crate) session: &'a RunSession,
}

/// What a supervised run returned.
#[derive(Debug)]
pub(crate) struct Supervised<T> {
    pub(crate) output: T,
    pub(crate) session: Option<SessionKey>,
}

/// Runs a program under supervision. `execute` starts it, waits for it, and returns how it exited.
pub(crate) fn run_with<T>(
    mut plan: LaunchPlan,
    belay: BelayEnv<'_>,
    idle_exit: DurationSetting,
    progress: &dyn Progress,
    execute: impl FnOnce(Program<'_>) -> Result<(Option<ExitStatus>, T), LaunchError>,
) -> Result<Supervised<T>, LaunchError> {
    let keeper = DaemonKeeper::new(belay, idle_exit, progress)?;
    let mut client = keeper.connect(|| false)?;
    let pid = Some(std::process::id());
    let begin = RunRequest { run: plan.key(), begins: true, proxied: plan.request.proxy, pid, ..RunRequest::default() };
    plan.proxy = client.run(&begin)?.url.filter(|_| plan.request.proxy);
    let launch = plan.launch();
    run_dir::sweep(belay.paths);
    let run_dir = RunDir::create(plan.run_dir.clone(), &launch.files)?;
    let session = launch.session.clone();
    let run_session = RunSession::new(plan.key(), session.clone(), client);
    // Without hooks, nothing would tell that the dialog is over.
    let has_dialog = plan.request.hooks && !plan.is_headless && std::io::stdin().is_terminal();
    let dialog = launch.dialog.as_deref().filter(|_| has_dialog);
    // The session must exist before a budget is set for it.
    run_session.begin(&plan.dir, dialog)?;
    // A credential goes to the model API that the user had configured.
    let upstreams = launch.upstreams.iter().cloned().collect();
    let budget = Some(plan.request.budget).filter(|budget| !budget.is_unlimited());
    let (budget, by) = (budget.map(OperatorDecision::Budget).into_iter().collect(), plan.request.operator.clone());
    let settings = plan.request.settings.clone();
    let begin = RunRequest { upstreams, session, budget, settings, by, ..begin };
    run_session.register_budget(&begin)?;
    let run_session = Arc::new(run_session);
    progress.started(&Started {
        name: &plan.name,
        session: run_session.session(),
        proxy: plan.proxy.as_deref(),
        notes: &launch.notes,
    });
    let watcher = plan.request.watch.then(|| {
        let run_session = Arc::clone(&run_session);
        FileWatcher::start(&plan.dir, run_dir.fence(), move |changes| run_session.report_changes(changes))
    });
    let restart = RunRequest { at: plan.proxy.as_deref().and_then(address), ..begin };
    let (run_end, over) = UnixStream::pair()?;
    let (_, output) = std::thread::scope(|scope| {
        scope.spawn(|| keeper.keep_alive(&run_session, &restart, &over));
        let path = &plan.program;
        let executed =
            execute(Program { path, launch: &launch, dir: &plan.dir, run_dir: &run_dir, session: &run_session });
        drop(watcher);
        run_session.end(executed.as_ref().ok().and_then(|(status, _)| *status));
        drop(run_end);
        executed
    })?;
    Ok(Supervised { output, session: run_session.session() })
}

/// The address of the proxy.
fn address(url: &str) -> Option<SocketAddr> {
    url.trim_start_matches("http://").trim_end_matches('/').parse().ok()
}
