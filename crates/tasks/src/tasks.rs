//! The tasks of one driver: filing, deciding, observing, claiming.
//!
//! # Locks
//!
//! Each task has a lock of its own, which is held while one of its records is written. The lock of the map is held for
//! moments only and never while a task's lock is taken, so that nobody waits for the disk of another task. A thread that
//! has a task's lock may take that of the map.

mod claim;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use belay_config::Paths;
use belay_core::Timestamp;
use belay_core::task::{Machine, Record, RecordOf};
use belay_drive::headless::CancelHandle;
use belay_process::ProcessMarker;

pub use claim::Claim;

use crate::error::TaskError;
use crate::host::DriverHost;
use crate::list::{self, SummaryCache};
use crate::open_task::{NewTask, OpenTask, free_dir};
use crate::performer::{DriverPaths, Performer};
use crate::resources::Resources;
use crate::scheduler;
use crate::task_dir::{TaskDir, create_private_dir};

/// Runs the tasks of one driver.
#[derive(Debug)]
pub struct Tasks<P: Performer> {
    shared: Arc<Shared<P>>,
    scheduler: Mutex<Option<JoinHandle<()>>>,
    summaries: Mutex<SummaryCache<P::Summary>>,
}

/// What the scheduler, the steps and the callers share.
#[derive(Debug)]
pub(crate) struct Shared<P: Performer> {
    pub(crate) performer: P,
    pub(crate) host: Arc<dyn DriverHost>,
    /// Directory of all tasks.
    pub(crate) root: PathBuf,
    pub(crate) paths: Arc<DriverPaths>,
    pub(crate) resources: Arc<Resources>,
    state: Mutex<State<P::Machine>>,
    pub(crate) changed: Condvar,
}

/// The unfinished tasks.
#[derive(Debug)]
pub(crate) struct State<M: Machine> {
    pub(crate) tasks: BTreeMap<String, Slot<M>>,
    /// Tasks that are being opened or written for the first time: nobody else may have their journals open.
    opening: BTreeSet<String>,
    /// Ended tasks whose result is being landed or archived.
    claimed: BTreeSet<String>,
    /// Tasks that are being written for the first time.
    filing: usize,
    /// Nothing new starts.
    pub(crate) paused: bool,
    pub(crate) shutdown: bool,
    /// Something changed since the scheduler looked.
    pub(crate) woken: bool,
}

pub(crate) type SharedTask<M> = Arc<Mutex<OpenTask<M>>>;

/// An unfinished task.
#[derive(Debug)]
pub(crate) struct Slot<M: Machine> {
    pub(crate) task: SharedTask<M>,
    pub(crate) filed_at: Timestamp,
    pub(crate) has_begun: bool,
    /// A step runs, or is about to start.
    pub(crate) in_flight: Option<CancelHandle>,
    /// It could not be continued. It is left alone until then, however often the scheduler is woken.
    pub(crate) retry_at: Option<Instant>,
}

impl<M: Machine> Slot<M> {
    fn new(open: OpenTask<M>) -> Self {
        let (filed_at, has_begun) = (open.filed.at, open.machine().steps().have_begun());
        Self { task: Arc::new(Mutex::new(open)), filed_at, has_begun, in_flight: None, retry_at: None }
    }
}

impl<P: Performer> Shared<P> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<P::Machine>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the scheduler look again.
    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_all();
    }

    pub(crate) fn notify_host(&self, id: &str) {
        self.host.task_changed(&(P::NAMES.subject)(id));
    }

    /// Whether this is the task of the map, which is opened anew after it has ended.
    pub(crate) fn is_current(&self, id: &str, task: &SharedTask<P::Machine>) -> bool {
        self.lock().tasks.get(id).is_some_and(|slot| Arc::ptr_eq(&slot.task, task))
    }

    /// Records something, and what follows from it.
    pub(crate) fn record(
        &self,
        open: &mut OpenTask<P::Machine>,
        record: RecordOf<P::Machine>,
    ) -> Result<(), TaskError> {
        open.record(record)?;
        self.write_derived(open);
        Ok(())
    }

    /// Writes what can be derived from the journal. A failure costs a list its freshness and nothing else.
    fn write_derived(&self, open: &OpenTask<P::Machine>) -> P::Summary {
        let summary = P::summary(open.view());
        if let Err(error) = open.dir.write_json("meta.json", &summary) {
            tracing::warn!(task = open.dir.id(), %error, "cannot write the summary of a task");
        }
        self.performer.write_derived(open, &summary);
        summary
    }

    /// The directory that the task uses between its steps. While one runs, it keeps what it has.
    pub(crate) fn refresh_occupied(&self, open: &OpenTask<P::Machine>) {
        self.resources.set_occupied(open.dir.id(), self.performer.occupies(open.machine()));
    }

    /// The task of the map, which gets an ended one for this.
    fn current(&self, dir: &TaskDir) -> Result<SharedTask<P::Machine>, TaskError> {
        let id = dir.id();
        let mut state = self.lock();
        loop {
            if state.claimed.contains(id) {
                return Err(TaskError::Claimed);
            }
            if let Some(slot) = state.tasks.get(id) {
                return Ok(Arc::clone(&slot.task));
            }
            // Opening repairs the end of a journal.
            if state.opening.insert(id.to_owned()) {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let opened = OpenTask::open(dir.clone());
        let mut state = self.lock();
        state.opening.remove(id);
        let task = opened.map(|open| {
            let slot = Slot::new(open);
            let task = Arc::clone(&slot.task);
            state.tasks.insert(id.to_owned(), slot);
            task
        });
        drop(state);
        self.changed.notify_all();
        task
    }

    /// Applies a record from outside: a decision, or what was observed.
    fn apply(&self, dir: &TaskDir, record: RecordOf<P::Machine>) -> Result<P::Summary, TaskError> {
        loop {
            let task = self.current(dir)?;
            let mut open = lock_task(&task);
            if !self.is_current(dir.id(), &task) {
                continue;
            }
            let recorded = self.record(&mut open, record);
            let has_ended = open.machine().has_ended();
            let mut state = self.lock();
            let slot = state.tasks.get_mut(dir.id());
            let in_flight = slot.and_then(|slot| {
                // What was in its way may be gone.
                slot.retry_at = slot.retry_at.filter(|_| recorded.is_err());
                slot.in_flight.clone()
            });
            match &in_flight {
                // The process ends; its late result only costs.
                Some(cancel) if has_ended => cancel.cancel(),
                None if has_ended => drop(state.tasks.remove(dir.id())),
                _ => {}
            }
            state.woken = true;
            drop(state);
            recorded?;
            if in_flight.is_none() {
                self.refresh_occupied(&open);
            }
            let summary = P::summary(open.view());
            drop(open);
            self.changed.notify_all();
            self.notify_host(dir.id());
            return Ok(summary);
        }
    }
}

impl<P: Performer> Tasks<P> {
    /// Loads the unfinished tasks and continues them.
    pub fn start(
        paths: &Paths,
        performer: P,
        host: Arc<dyn DriverHost>,
        resources: Arc<Resources>,
    ) -> std::io::Result<Self> {
        let root = P::NAMES.root(paths);
        let state = State {
            tasks: BTreeMap::new(),
            opening: BTreeSet::new(),
            claimed: BTreeSet::new(),
            filing: 0,
            paused: pause_file(&root).exists(),
            shutdown: false,
            woken: false,
        };
        let shared = Arc::new(Shared {
            performer,
            host,
            paths: Arc::new(DriverPaths::new(paths)?),
            resources,
            state: Mutex::new(state),
            changed: Condvar::new(),
            root,
        });
        let leftovers = load(&shared);
        if !leftovers.is_empty() {
            std::thread::Builder::new()
                .name(format!("{} leftovers", P::NAMES.dir))
                .spawn(move || leftovers.into_iter().for_each(end_leftovers))?;
        }
        let weak: Weak<Shared<P>> = Arc::downgrade(&shared);
        shared.resources.on_release(move || {
            if let Some(shared) = weak.upgrade() {
                shared.wake();
            }
        });
        let scheduler = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name(P::NAMES.dir.to_owned()).spawn(move || scheduler::run(&shared))?
        };
        Ok(Self { shared, scheduler: Mutex::new(Some(scheduler)), summaries: Mutex::default() })
    }

    pub fn performer(&self) -> &P {
        &self.shared.performer
    }

    pub fn host(&self) -> &dyn DriverHost {
        &*self.shared.host
    }

    pub fn paths(&self) -> &DriverPaths {
        &self.shared.paths
    }

    /// The directory of all tasks.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// Files a task.
    pub fn file(&self, task: NewTask<<P::Machine as Machine>::Spec>) -> Result<P::Summary, TaskError> {
        let config = self.shared.host.config().map_err(TaskError::Config)?;
        let depth = self.shared.performer.queue_depth(&config);
        let workers = self.shared.performer.workers(&config);
        let most = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let dir = free_dir(&self.shared.root, P::NAMES.prefix)?;
        let id = dir.id();
        {
            // Counted before it is written, so that two requests cannot both take the last place.
            let mut state = self.shared.lock();
            let in_flight = state.tasks.values().filter(|slot| slot.in_flight.is_some()).count();
            let queued = state.tasks.values().filter(|slot| slot.in_flight.is_none() && !slot.has_begun).count();
            let free = most(workers).saturating_sub(in_flight);
            if queued.saturating_add(state.filing) >= most(depth).saturating_add(free) {
                return Err(TaskError::QueueFull { depth });
            }
            // It can be found as soon as it is written. A decision about it waits until it is in the map.
            if !state.opening.insert(id.to_owned()) {
                return Err(TaskError::Invalid(format!("another task `{id}` is being filed; try again")));
            }
            state.filing += 1;
        }
        let created = OpenTask::create(&dir, task);
        let written = created.map(|open| (self.shared.write_derived(&open), open));
        let mut state = self.shared.lock();
        state.filing -= 1;
        state.opening.remove(id);
        let summary = written.map(|(summary, open)| {
            state.tasks.insert(id.to_owned(), Slot::new(open));
            state.woken = true;
            summary
        });
        drop(state);
        self.shared.changed.notify_all();
        let summary = summary?;
        self.shared.notify_host(id);
        Ok(summary)
    }

    /// Takes a person's decision. It is durable when this returns.
    pub fn decide(
        &self,
        dir: &TaskDir,
        by: &str,
        decision: <P::Machine as Machine>::Decision,
    ) -> Result<P::Summary, TaskError> {
        self.shared.apply(dir, Record::Decided { by: by.to_owned(), decision })
    }

    /// Records what happened outside of any step. It is durable when this returns.
    pub fn observe(&self, dir: &TaskDir, fact: <P::Machine as Machine>::Fact) -> Result<P::Summary, TaskError> {
        self.shared.apply(dir, Record::Observed { fact })
    }

    /// Pauses or resumes the queue. Running steps finish.
    pub fn set_paused(&self, paused: bool) -> Result<(), TaskError> {
        let path = pause_file(&self.shared.root);
        let written = match paused {
            true => create_private_dir(&self.shared.root)
                .and_then(|()| belay_fs::replace_file(&path, b"", belay_fs::FileMode::Private)),
            false => match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        written.map_err(|source| TaskError::Write { path, source })?;
        self.shared.lock().paused = paused;
        self.shared.wake();
        self.shared.notify_host("");
        Ok(())
    }

    pub fn is_paused(&self) -> bool {
        self.shared.lock().paused
    }

    /// The summaries of all tasks, by id.
    pub fn summaries(&self) -> Vec<P::Summary> {
        let mut cache = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        list::summaries::<P>(&self.shared.root, &mut cache)
    }

    /// The directory of the task with this id, or with the only id that begins like this.
    pub fn resolve(&self, name: &str) -> Result<TaskDir, TaskError> {
        list::resolve(&self.shared.root, &P::NAMES, name)
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
            state.tasks.values().filter_map(|slot| slot.in_flight.as_ref()).for_each(CancelHandle::cancel);
        }
        self.shared.changed.notify_all();
        let scheduler = self.scheduler.lock().unwrap_or_else(PoisonError::into_inner).take();
        if scheduler.is_some_and(|scheduler| scheduler.join().is_err()) {
            tracing::error!(tasks = P::NAMES.dir, "the scheduler of tasks panicked");
        }
    }
}

/// Exists while the queue is paused.
pub fn pause_file(root: &Path) -> PathBuf {
    root.join("paused")
}

/// Loads the tasks that have not ended. Returns the markers of those that have: nobody else ends what they run, if the
/// last process was killed just after they were cancelled.
fn load<P: Performer>(shared: &Arc<Shared<P>>) -> Vec<PathBuf> {
    let mut leftovers = Vec::new();
    for dir in list::task_dirs(&shared.root, &P::NAMES) {
        if dir.read_summary::<P::Summary>().is_some_and(|summary| P::has_ended(&summary)) {
            leftovers.extend(dir.marker_files());
            continue;
        }
        match OpenTask::<P::Machine>::open(dir) {
            Ok(open) if open.machine().has_ended() => {
                shared.write_derived(&open);
                leftovers.extend(open.dir.marker_files());
            }
            Ok(open) => {
                shared.refresh_occupied(&open);
                shared.lock().tasks.insert(open.dir.id().to_owned(), Slot::new(open));
            }
            Err(error) => tracing::error!(%error, "cannot continue a task"),
        }
    }
    leftovers
}

/// Ends the processes of an attempt that nobody waits for.
fn end_leftovers(path: PathBuf) {
    if ProcessMarker::new(&path).end_processes() {
        let _ = std::fs::remove_file(path);
    }
}

pub(crate) fn lock_task<M: Machine>(task: &SharedTask<M>) -> MutexGuard<'_, OpenTask<M>> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}
