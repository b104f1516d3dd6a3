//! Review tasks in the resident process: the host of their runner, and the operations of the socket and of HTTP.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use belay_agents::AgentSpec;
use belay_config::{Config, Loader, Strictness};
use belay_core::event::Usage;
use belay_core::task::Spend;
use belay_core::{SessionKey, Subject};
use belay_ipc::views::{LandedView, OverviewView, ReviewSummaryView, ReviewView, ReviewsView};
use belay_ipc::{
    DecideReviewRequest, ErrorBody, ErrorCode, FileReviewRequest, LandReviewRequest, PauseReviewsRequest,
    ReviewRequest, ReviewsRequest,
};
use belay_review_runner::{FiledBy, Runner, RunnerError, read, root};
use belay_store::SessionQuery;
use belay_tasks::{DriverHost, TaskError};

use crate::state::DaemonState;

/// Sessions whose projects count as seen.
const MAX_SEEN_SESSIONS: usize = 1000;

/// The runner of this process, or why there is none. It starts after everything that its agents need.
#[derive(Debug, Default)]
pub(crate) struct Reviews(OnceLock<Result<Runner, String>>);

impl Reviews {
    /// Continues unfinished tasks.
    pub(crate) fn start(daemon: &Arc<DaemonState>) {
        let host = Arc::new(ResidentHost(Arc::downgrade(daemon)));
        let runner = Runner::start(&daemon.config.paths, host, Arc::clone(&daemon.resources)).map_err(|error| {
            tracing::error!(%error, "cannot start the runner of review tasks");
            format!("cannot start the runner of review tasks: {error}")
        });
        let _ = daemon.reviews.0.set(runner);
    }

    /// The socket is served a moment before the runner starts. A request that comes first waits for it: it is usually
    /// the one that started this process.
    fn runner(&self) -> Result<&Runner, ErrorBody> {
        self.0.wait().as_ref().map_err(|why| ErrorBody::new(ErrorCode::Internal, why.clone()))
    }

    /// Whether the tasks can be listed without waiting for the runner.
    pub(crate) fn has_started(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether the process has to stay for a task.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.0.get(), Some(Ok(runner)) if runner.is_busy())
    }

    pub(crate) fn shut_down(&self) {
        if let Some(Ok(runner)) = self.0.get() {
            runner.shut_down();
        }
    }
}

/// What drivers need from the resident process. Weak, because the state owns the drivers.
#[derive(Debug)]
struct ResidentHost(Weak<DaemonState>);

impl DriverHost for ResidentHost {
    fn config(&self) -> Result<Config, String> {
        let daemon = self.0.upgrade().ok_or("the resident process is stopping")?;
        user_config(&daemon)
    }

    fn task_changed(&self, task: &Subject) {
        if let Some(daemon) = self.0.upgrade() {
            daemon.lifecycle.mark_active();
            daemon.need_changes.note();
            daemon.live.notify_about(&task.key(), "review");
        }
    }

    fn is_held(&self, session: &str) -> bool {
        let Some(daemon) = self.0.upgrade() else { return true };
        let Some(key) = SessionKey::parse(session) else { return false };
        // If the store does not answer, nothing goes on.
        let Ok(row) = daemon.readers.get().and_then(|store| store.session(&key)) else { return true };
        row.is_some_and(|row| row.state.is_paused())
    }

    fn session_spend(&self, session: &str) -> Option<Spend> {
        let (daemon, key) = (self.0.upgrade()?, SessionKey::parse(session)?);
        let row = daemon.readers.get().ok()?.session(&key).ok()??;
        let all = [row.details.spent, row.descendants];
        // A model without a price is charged as `belay run` does.
        let micros = all.iter().map(|spent| spent.cost_micros.saturating_add(spent.unpriced_micros)).sum();
        let mut usage = Usage::default();
        all.iter().for_each(|spent| usage.add(&spent.usage));
        Some(Spend::of_usage(usage, micros))
    }

    fn has_live_session(&self, dir: &Path) -> bool {
        let Some(daemon) = self.0.upgrade() else { return true };
        let query = SessionQuery {
            states: vec!["active".to_owned(), "paused".to_owned()],
            limit: MAX_SEEN_SESSIONS,
            ..SessionQuery::default()
        };
        // If the store does not answer, the directory stays.
        let Ok(page) = daemon.readers.get().and_then(|store| store.sessions(&query)) else { return true };
        page.rows.iter().any(|row| {
            let facts = &row.details.facts;
            // A session that was paused before it ended stays paused.
            facts.ended_at.is_none() && facts.cwd.as_deref().is_some_and(|cwd| Path::new(cwd).starts_with(dir))
        })
    }
}

/// The user's configuration, read again. Projects have no say in it.
fn user_config(daemon: &DaemonState) -> Result<Config, String> {
    let source = &daemon.config;
    let loader = Loader::new(&source.paths, &source.env).strictness(Strictness::Lenient);
    let loader = source.flags.iter().fold(loader, |loader, (flag, key, value)| loader.flag(flag, key, value));
    loader.load().map(|loaded| loaded.config).map_err(|error| error.to_string())
}

/// Files a task from the user's own shell.
pub(crate) fn file_from_shell(
    daemon: &DaemonState,
    request: &FileReviewRequest,
) -> Result<ReviewSummaryView, ErrorBody> {
    daemon.reviews.runner()?.file(request, &FiledBy::Shell).map_err(to_ipc_error)
}

/// Files a task over HTTP: with the environment of this process, in a project that Belay has seen.
pub(crate) fn file_from_browser(
    daemon: &DaemonState,
    request: &FileReviewRequest,
) -> Result<ReviewSummaryView, ErrorBody> {
    let roots = roots(daemon)?;
    let filed_by = FiledBy::Browser { env: &daemon.config.env, roots: &roots };
    let request = FileReviewRequest { env: Vec::new(), ..request.clone() };
    daemon.reviews.runner()?.file(&request, &filed_by).map_err(to_ipc_error)
}

/// Directories in which a browser may file tasks.
pub(crate) fn roots(daemon: &DaemonState) -> Result<Vec<PathBuf>, ErrorBody> {
    let config = user_config(daemon).map_err(|error| ErrorBody::new(ErrorCode::Internal, error))?;
    if !config.review.roots.is_empty() {
        let roots = config.review.roots.iter().map(PathBuf::from);
        return Ok(roots.filter_map(|root| root.canonicalize().ok()).collect());
    }
    Ok(seen_projects(daemon))
}

/// Rounds of a task whose author does not say, and the minutes that each may take.
pub(crate) fn default_limits(daemon: &DaemonState) -> Result<(u32, Option<u64>), ErrorBody> {
    let config = user_config(daemon).map_err(|error| ErrorBody::new(ErrorCode::Internal, error))?;
    let minutes = config.review.round_timeout.get().map(|timeout| timeout.as_secs().div_ceil(60));
    Ok((config.review.rounds, minutes))
}

/// Whether a task filed in the browser finds the agent's program.
pub(crate) fn is_installed(daemon: &DaemonState, agent: &AgentSpec) -> bool {
    let configured = user_config(daemon).ok().and_then(|config| config.agent_program(agent.id));
    match configured {
        Some(program) => program.is_file(),
        None => daemon.config.env.find_executable(agent.executable).is_some(),
    }
}

/// All tasks, newest first; none if the runner could not start.
pub(crate) fn all(daemon: &DaemonState) -> Vec<ReviewSummaryView> {
    let request = ReviewsRequest { limit: Some(usize::MAX), ..ReviewsRequest::default() };
    daemon.reviews.runner().map(|runner| runner.summaries(&request).tasks).unwrap_or_default()
}

/// The tasks that the overview lists.
pub(crate) fn for_overview(daemon: &DaemonState) -> Vec<ReviewSummaryView> {
    OverviewView::listed_reviews(all(daemon))
}

/// Number of tasks that wait for a person, for the navigation of every page.
pub(crate) fn waiting_for_person(daemon: &DaemonState) -> u64 {
    all(daemon).iter().filter(|task| task.needs_person()).count() as u64
}

/// The projects of past sessions, newest first.
pub(crate) fn seen_projects(daemon: &DaemonState) -> Vec<PathBuf> {
    let query = SessionQuery { archived: true, limit: MAX_SEEN_SESSIONS, ..SessionQuery::default() };
    let Ok(page) = daemon.readers.get().and_then(|store| store.sessions(&query)) else { return Vec::new() };
    let mut projects: Vec<PathBuf> = Vec::new();
    let worktrees = daemon.config.paths.state();
    for row in page.rows {
        let facts = row.details.facts;
        let Some(project) = facts.project.or(facts.cwd).and_then(|project| PathBuf::from(project).canonicalize().ok())
        else {
            continue;
        };
        let holds_home = daemon.config.paths.user_home().is_some_and(|home| home.starts_with(&project));
        // Belay's own worktrees are not projects, and neither is the home directory or the whole disk.
        let is_project = !holds_home && project.parent().is_some() && !project.starts_with(worktrees);
        if is_project && !projects.contains(&project) && project.is_dir() {
            projects.push(project);
        }
    }
    projects
}

pub(crate) fn decide(daemon: &DaemonState, request: &DecideReviewRequest) -> Result<ReviewSummaryView, ErrorBody> {
    let by = request.by.as_deref().unwrap_or("unknown");
    daemon.reviews.runner()?.decide(&request.id, &request.decision, by).map_err(to_ipc_error)
}

pub(crate) fn land(daemon: &DaemonState, request: &LandReviewRequest) -> Result<LandedView, ErrorBody> {
    let by = request.by.as_deref().unwrap_or("unknown");
    daemon.reviews.runner()?.land(request, by).map_err(to_ipc_error)
}

pub(crate) fn list(daemon: &DaemonState, request: &ReviewsRequest) -> Result<ReviewsView, ErrorBody> {
    daemon.reviews.runner()?.list(request).map_err(to_ipc_error)
}

pub(crate) fn pause(daemon: &DaemonState, request: PauseReviewsRequest) -> Result<ReviewsView, ErrorBody> {
    daemon.reviews.runner()?.set_paused(request.paused).map_err(to_ipc_error)?;
    list(daemon, &ReviewsRequest::default())
}

pub(crate) fn view(daemon: &DaemonState, request: &ReviewRequest) -> Result<ReviewView, ErrorBody> {
    let dir = read::resolve(&root(&daemon.config.paths), &request.id).map_err(to_ipc_error)?;
    read::view(&dir).map_err(to_ipc_error)
}

pub(crate) fn to_ipc_error(error: RunnerError) -> ErrorBody {
    let code = match &error {
        RunnerError::Task(TaskError::NotFound { .. }) | RunnerError::NoArtifact(_) => ErrorCode::NotFound,
        RunnerError::Task(TaskError::Ambiguous { .. }) => ErrorCode::Ambiguous,
        RunnerError::Task(TaskError::QueueFull { .. }) => ErrorCode::QueueFull,
        RunnerError::OutsideRoots(_) => ErrorCode::Forbidden,
        RunnerError::Task(TaskError::StillRunning | TaskError::Claimed)
        | RunnerError::Unapproved { .. }
        | RunnerError::Record(_)
        | RunnerError::Land(_) => ErrorCode::Conflict,
        RunnerError::Task(_) | RunnerError::Write { .. } => ErrorCode::Internal,
        _ => ErrorCode::Refused,
    };
    let hint = error.hint();
    let body = ErrorBody::new(code, error_chain(&error));
    match hint {
        Some(hint) => body.hint(hint),
        None => body,
    }
}

/// An error and its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
