//! The runner: files tasks, takes decisions, lands results.

mod land;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use belay_config::Paths;
use belay_core::session::Budget;
use belay_drive::limits::Limits;
use belay_ipc::views::{ReviewSummaryView, ReviewsView};
use belay_ipc::{FileReviewRequest, ReviewDecision, ReviewsRequest};
use belay_review::task::{Answer, Decision, Record};

use crate::agent_run::{CancelFlag, end_leftovers};
use crate::error::RunnerError;
use crate::filing::{self, FiledBy};
use crate::host::Host;
use crate::open_task::OpenTask;
use crate::read::SummaryCache;
use crate::task_dir::{TaskDir, create_private_dir};
use crate::{read, scheduler};

/// Runs the review tasks of one state directory.
#[derive(Debug)]
pub struct Runner {
    shared: Arc<Shared>,
    scheduler: Mutex<Option<JoinHandle<()>>>,
    summaries: Mutex<SummaryCache>,
}

/// What the scheduler, the steps and the callers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) host: Arc<dyn Host>,
    /// Directory of all tasks.
    pub(crate) root: PathBuf,
    pub(crate) worktrees: PathBuf,
    pub(crate) paths: Paths,
    pub(crate) config_dir: PathBuf,
    /// The program of this process. Resolved once: after an upgrade, the system names a file that is gone.
    pub(crate) belay: PathBuf,
    pub(crate) belay_home: Option<PathBuf>,
    pub(crate) limits: Limits,
    state: Mutex<State>,
    pub(crate) changed: Condvar,
}

/// The unfinished tasks.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) tasks: BTreeMap<String, Entry>,
    /// Ended tasks whose result is being landed or archived.
    claimed: BTreeSet<String>,
    /// Nothing new starts.
    pub(crate) paused: bool,
    pub(crate) shutdown: bool,
    /// Something changed since the scheduler looked.
    pub(crate) woken: bool,
}

/// An unfinished task.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) task: Arc<Mutex<OpenTask>>,
    pub(crate) in_flight: Option<InFlight>,
}

/// A step that runs.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) cancel: Arc<CancelFlag>,
    pub(crate) exclusive_dir: Option<PathBuf>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the scheduler look again.
    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_all();
    }
}

impl Runner {
    /// Loads the unfinished tasks and continues them. `limits`: those of everything that this process starts.
    pub fn start(paths: &Paths, host: Arc<dyn Host>, limits: Limits) -> std::io::Result<Self> {
        let config_dir = paths.config_file().parent().unwrap_or(Path::new("/")).to_owned();
        let root = root(paths);
        let shared = Arc::new(Shared {
            host,
            worktrees: paths.state().join("worktrees"),
            // State and configuration are in one directory only if a home directory was chosen.
            belay_home: (config_dir == paths.state()).then(|| config_dir.clone()),
            paths: paths.clone(),
            config_dir,
            belay: std::env::current_exe()?,
            limits,
            state: Mutex::new(State { paused: pause_file(&root).exists(), ..State::default() }),
            changed: Condvar::new(),
            root,
        });
        // Of tasks that were cancelled just before the last process was killed: nobody else ends what they run.
        let mut leftovers = Vec::new();
        for dir in read::task_dirs(&shared.root) {
            if dir.read_summary().is_some_and(|summary| summary.phase.has_ended()) {
                leftovers.extend(dir.markers());
                continue;
            }
            match OpenTask::open(dir) {
                Ok(open) if open.task.phase.is_final() => {
                    open.write_derived();
                    leftovers.extend(open.dir.markers());
                }
                Ok(open) => insert(&mut shared.lock(), open),
                Err(error) => tracing::error!(%error, "cannot continue a review task"),
            }
        }
        if !leftovers.is_empty() {
            std::thread::Builder::new()
                .name("review leftovers".to_owned())
                .spawn(move || leftovers.into_iter().for_each(end_leftovers))?;
        }
        let scheduler = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("reviews".to_owned()).spawn(move || scheduler::run(&shared))?
        };
        Ok(Self { shared, scheduler: Mutex::new(Some(scheduler)), summaries: Mutex::default() })
    }

    /// Files a task.
    pub fn file(&self, request: &FileReviewRequest, filed_by: &FiledBy<'_>) -> Result<ReviewSummaryView, RunnerError> {
        let config = self.shared.host.config().map_err(RunnerError::Config)?;
        let filing = filing::check(request, filed_by, &config, &self.shared.paths)?;
        // Counted and inserted under one lock, so that two requests cannot both take the last place.
        let mut state = self.shared.lock();
        let queued = state.tasks.values().filter(|entry| is_queued(entry)).count();
        let depth = config.review.queue_depth;
        let free = usize::try_from(config.review.workers)
            .unwrap_or(1)
            .saturating_sub(state.tasks.values().filter(|entry| entry.in_flight.is_some()).count());
        if queued >= usize::try_from(depth).unwrap_or(usize::MAX).saturating_add(free) {
            return Err(RunnerError::QueueFull { depth });
        }
        let open = filing::store(&self.shared.root, &config.review, filing)?;
        let summary = open.summary();
        insert(&mut state, open);
        state.woken = true;
        drop(state);
        self.shared.changed.notify_all();
        self.shared.host.task_changed(&summary.id);
        Ok(summary)
    }

    /// Takes a person's decision. It is durable when this returns.
    pub fn decide(&self, id: &str, decision: &ReviewDecision, by: &str) -> Result<ReviewSummaryView, RunnerError> {
        let dir = self.resolve(id)?;
        let decision = match decision {
            ReviewDecision::Cancel => Decision::Cancel,
            ReviewDecision::Resume { rounds, budget_micros, budget_tokens } => {
                let budget = Budget { cost_micros: *budget_micros, tokens: *budget_tokens };
                Decision::Resume { rounds: *rounds, budget: (!budget.is_unlimited()).then_some(budget) }
            }
            ReviewDecision::Waive { issue, why } => {
                let issue = issue.parse().map_err(RunnerError::Invalid)?;
                Decision::Waive { issue, why: why.clone() }
            }
            ReviewDecision::Answer { done, fix } => {
                // An empty text must not accept the work by accident.
                let fix = fix.as_deref().map(str::trim).filter(|fix| !fix.is_empty());
                let answer = match (done, fix) {
                    (true, None) => Answer::Done,
                    (false, Some(text)) => Answer::Fix { text: text.to_owned() },
                    _ => {
                        return Err(RunnerError::Invalid(
                            "say either that the work is done, or what to fix".to_owned(),
                        ));
                    }
                };
                Decision::Answer { answer }
            }
            ReviewDecision::Archive => return self.archive(&dir, by),
        };
        let mut state = self.shared.lock();
        if state.claimed.contains(dir.id()) {
            return Err(RunnerError::Landing);
        }
        let task = match state.tasks.get(dir.id()) {
            Some(entry) => Arc::clone(&entry.task),
            None => Arc::new(Mutex::new(OpenTask::open(dir.clone())?)),
        };
        let summary = {
            let mut open = task.lock().unwrap_or_else(PoisonError::into_inner);
            open.record(Record::Decided { by: by.to_owned(), decision })?;
            let is_final = open.task.phase.is_final();
            let summary = open.summary();
            drop(open);
            match state.tasks.get(dir.id()) {
                // The process ends; its late result is not recorded.
                Some(Entry { in_flight: Some(in_flight), .. }) if is_final => in_flight.cancel.set(),
                Some(_) if is_final => drop(state.tasks.remove(dir.id())),
                None if !is_final => {
                    state.tasks.insert(dir.id().to_owned(), Entry { task, in_flight: None });
                }
                _ => {}
            }
            summary
        };
        state.woken = true;
        drop(state);
        self.shared.changed.notify_all();
        self.shared.host.task_changed(dir.id());
        Ok(summary)
    }

    /// Pauses or resumes the queue. Running steps finish.
    pub fn set_paused(&self, paused: bool) -> Result<(), RunnerError> {
        let path = pause_file(&self.shared.root);
        let written = match paused {
            true => create_private_dir(&self.shared.root)
                .and_then(|()| belay_fs::replace_file(&path, b"", belay_fs::FileMode::Private)),
            false => match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        written.map_err(|source| RunnerError::Write { path, source })?;
        self.shared.lock().paused = paused;
        self.shared.wake();
        self.shared.host.task_changed("");
        Ok(())
    }

    /// The tasks, without the settings of the queue.
    pub fn summaries(&self, request: &ReviewsRequest) -> ReviewsView {
        let mut cache = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        read::list_cached(&self.shared.root, request, &mut cache)
    }

    /// The queue and the tasks.
    pub fn list(&self, request: &ReviewsRequest) -> Result<ReviewsView, RunnerError> {
        let config = self.shared.host.config().map_err(RunnerError::Config)?;
        let mut view = self.summaries(request);
        let state = self.shared.lock();
        view.paused = state.paused;
        view.workers = config.review.workers;
        view.queue_depth = config.review.queue_depth;
        Ok(view)
    }

    /// The directory of the task with this id, or with the only id that begins like this.
    pub fn resolve(&self, name: &str) -> Result<TaskDir, RunnerError> {
        read::resolve(&self.shared.root, name)
    }

    /// Whether the process has to stay for a task.
    pub fn is_busy(&self) -> bool {
        !self.shared.lock().tasks.is_empty()
    }

    /// Ends the running steps. They run again after the next start.
    pub fn shut_down(&self) {
        {
            let mut state = self.shared.lock();
            state.shutdown = true;
            for in_flight in state.tasks.values().filter_map(|entry| entry.in_flight.as_ref()) {
                in_flight.cancel.set();
            }
        }
        self.shared.changed.notify_all();
        let scheduler = self.scheduler.lock().unwrap_or_else(PoisonError::into_inner).take();
        if scheduler.is_some_and(|scheduler| scheduler.join().is_err()) {
            tracing::error!("the scheduler of review tasks panicked");
        }
    }
}

/// The directory of all tasks.
pub fn root(paths: &Paths) -> PathBuf {
    paths.state().join("reviews")
}

/// Exists while the queue is paused.
pub(crate) fn pause_file(root: &Path) -> PathBuf {
    root.join("paused")
}

fn insert(state: &mut State, open: OpenTask) {
    let id = open.dir.id().to_owned();
    state.tasks.insert(id, Entry { task: Arc::new(Mutex::new(open)), in_flight: None });
}

fn is_queued(entry: &Entry) -> bool {
    let open = entry.task.lock().unwrap_or_else(PoisonError::into_inner);
    entry.in_flight.is_none() && matches!(open.task.phase, belay_review::task::Phase::Queued)
}
