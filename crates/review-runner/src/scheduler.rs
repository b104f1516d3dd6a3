//! Decides which steps run now. Sleeps until something happens: an idle queue costs nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_config::Config;
use belay_core::Timestamp;
use belay_core::task::{Machine as _, Spend, StepFailure};
use belay_core::wait::Awaited;
use belay_drive::limits::{AccountId, Admission, MIN_LIMIT, Slot};
use belay_review::task::{Next, Phase, Record, Step, StepOutcome, StepRun};

use crate::agent_run::CancelFlag;
use crate::error::RunnerError;
use crate::open_task::OpenTask;
use crate::perform::{self, Performed, StepContext};
use crate::runner::{Entry, InFlight, Shared, State};

/// How long a shutdown waits for running steps. Agents are killed before that.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often an account whose runs belong to another driver is checked.
const BUSY_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often a paused session is checked.
const PAUSE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Longest sleep while a time is awaited. The clock of a sleep stands still while the machine is suspended.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// How long a task waits after its journal could not be written.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Schedules steps until the shutdown, then waits for those that run.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut shutdown_by: Option<Instant> = None;
    let mut state = shared.lock();
    loop {
        if state.shutdown {
            if state.tasks.values().all(|entry| entry.in_flight.is_none()) {
                return;
            }
            // A step that cannot be stopped, such as a git command that waits for the network, must not hold up the exit.
            let left = shutdown_by
                .get_or_insert_with(|| Instant::now() + SHUTDOWN_TIMEOUT)
                .saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!("a step of a review task does not stop; it runs again after the next start");
                return;
            }
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        state.woken = false;
        let wake_at = schedule(shared, &mut state);
        if state.woken {
            continue;
        }
        state = match wake_at {
            Some(at) => {
                let wait = at.saturating_since(now()).clamp(Duration::from_millis(1), MAX_SLEEP);
                shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
            }
            None => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

/// Starts what can start. Returns when to look again.
fn schedule(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) -> Option<Timestamp> {
    let mut config = None;
    let mut wake_at: Option<Timestamp> = None;
    for id in order(state) {
        let Some(entry) = state.tasks.get(&id) else { continue };
        let task = Arc::clone(&entry.task);
        let again = match consider(shared, state, &id, &task, &mut config) {
            Ok(again) => again,
            Err(error) => {
                tracing::warn!(task = id, %error, "cannot continue a review task for now");
                Some(now() + RETRY_AFTER)
            }
        };
        wake_at = [wake_at, again].into_iter().flatten().min();
        let ended = lock(&task).task.phase.is_final();
        if ended && state.tasks.get(&id).is_some_and(|entry| entry.in_flight.is_none()) {
            state.tasks.remove(&id);
        }
    }
    wake_at
}

/// The tasks that may run: those that have begun first, then in the order of their filing.
fn order(state: &State) -> Vec<String> {
    let idle = state.tasks.iter().filter(|(_, entry)| entry.in_flight.is_none());
    let mut order: Vec<(bool, Timestamp, String)> = idle
        .map(|(id, entry)| {
            let open = lock(&entry.task);
            (matches!(open.task.phase, Phase::Queued), open.filed.at, id.clone())
        })
        .collect();
    order.sort();
    order.into_iter().map(|(_, _, id)| id).collect()
}

/// Starts the next step of a task if nothing speaks against it. Returns when to look again.
fn consider(
    shared: &Arc<Shared>,
    state: &mut MutexGuard<'_, State>,
    id: &str,
    task: &Arc<Mutex<OpenTask>>,
    config: &mut Option<Config>,
) -> Result<Option<Timestamp>, RunnerError> {
    let mut open = lock(task);
    end_wait(shared, state, id, &mut open)?;
    let run = match open.task.next(now()) {
        Next::Start(run) => run,
        Next::WaitUntil(at) => return Ok(Some(at)),
        // Whoever lifts a pause does not know about the task.
        Next::WaitForRecord if matches!(open.task.waiting(), Some(Awaited::Pause { .. })) => {
            return Ok(Some(now() + PAUSE_POLL_INTERVAL));
        }
        Next::WaitForRecord | Next::Ended => return Ok(None),
        // Nothing of this process runs it: the process before this one started it.
        Next::Await(_) => {
            let context = context(shared, &open, None, read_config(shared, config)?)?;
            drop(open);
            let slot = account(&context).map(|account| shared.limits.adopt(&account));
            start(shared, state, id, task, StepStart { context, slot, perform: perform::recover });
            return Ok(None);
        }
    };
    if state.paused {
        return Ok(None);
    }
    let config = read_config(shared, config)?.clone();
    let running = state.tasks.values().filter(|entry| entry.in_flight.is_some()).count();
    if running >= usize::try_from(config.review.workers.max(1)).unwrap_or(usize::MAX) {
        // The end of a step wakes the scheduler.
        return Ok(None);
    }
    let context = context(shared, &open, Some(&run), &config)?;
    if let Some(holder) = lock_holder(state, id, open.exclusive_dir()) {
        open.record(Record::Waits { waiting: Awaited::Lock { holder } })?;
        shared.host.task_changed(id);
        return Ok(None);
    }
    let account = account(&context);
    let slot = match account.as_ref().map(|account| shared.limits.admit(account, runs_per_account(&config), now())) {
        None => None,
        Some(Admission::Go(slot)) => Some(slot),
        // The end of an own run wakes the scheduler, but that of another driver's run does not.
        Some(Admission::Busy) => return Ok(Some(now() + BUSY_POLL_INTERVAL)),
        Some(Admission::Limited(limit)) => {
            let account = account.map(|account| account.to_string()).unwrap_or_default();
            open.record(Record::Waits { waiting: Awaited::Limit { account, until: limit.until } })?;
            shared.host.task_changed(id);
            return Ok(Some(limit.until));
        }
    };
    open.record(Record::Started { step: run.step.clone(), attempt: run.attempt })?;
    drop(open);
    shared.host.task_changed(id);
    start(shared, state, id, task, StepStart { context, slot, perform: perform::perform });
    Ok(None)
}

fn read_config<'c>(shared: &Shared, config: &'c mut Option<Config>) -> Result<&'c Config, RunnerError> {
    if config.is_none() {
        *config = Some(shared.host.config().map_err(RunnerError::Config)?);
    }
    config.as_ref().ok_or_else(|| RunnerError::Config("no configuration".to_owned()))
}

/// Ends a wait whose reason is gone.
fn end_wait(shared: &Shared, state: &State, id: &str, open: &mut OpenTask) -> Result<(), RunnerError> {
    let is_over = match open.task.waiting() {
        Some(Awaited::Lock { .. }) => lock_holder(state, id, open.exclusive_dir()).is_none(),
        Some(Awaited::Pause { session, .. }) => !shared.host.is_held(session),
        // A limit that resets sooner is not recorded.
        Some(Awaited::Limit { account, until }) => {
            until.saturating_since(now()) > MIN_LIMIT && !shared.limits.awaits_answer(&AccountId::from_name(account))
        }
        // A review waits for nothing else.
        _ => false,
    };
    if is_over {
        open.record(Record::WaitEnded)?;
        shared.host.task_changed(id);
    }
    Ok(())
}

/// How many runs of one account may be in progress.
fn runs_per_account(config: &Config) -> usize {
    usize::try_from(config.drive.runs_per_account.max(1)).unwrap_or(usize::MAX)
}

/// Whether work in one directory can disturb work in the other.
fn overlaps(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The task that works in this directory, above it or below it.
fn lock_holder(state: &State, id: &str, dir: Option<PathBuf>) -> Option<String> {
    let dir = dir?;
    // A task that has begun keeps its directory between its steps, too: its work is half done.
    let holds = |other: &String, entry: &Entry| {
        if other == id {
            return false;
        }
        match &entry.in_flight {
            Some(in_flight) => in_flight.exclusive_dir.as_ref().is_some_and(|other| overlaps(other, &dir)),
            None => {
                let open = lock(&entry.task);
                // One that waits for the directory itself holds nothing, or two would wait for each other.
                let has_begun = !matches!(open.task.phase, Phase::Queued) && !open.task.phase.is_final();
                let waits = matches!(open.task.waiting(), Some(Awaited::Lock { .. }));
                has_begun && !waits && open.exclusive_dir().is_some_and(|other| overlaps(&other, &dir))
            }
        }
    };
    state.tasks.iter().find(|(other, entry)| holds(other, entry)).map(|(other, _)| other.clone())
}

/// The account of the step's agent.
fn account(context: &StepContext) -> Option<AccountId> {
    let agent = match &context.run.step {
        Step::Build { .. } => &context.task.spec.builder.agent,
        Step::Review { reviewer, .. } => reviewer,
        Step::Prepare | Step::Gate { .. } => return None,
    };
    Some(perform::account(context, agent))
}

/// What a step needs; `run` is `None` for the step that runs already.
fn context(
    shared: &Shared,
    open: &OpenTask,
    run: Option<&StepRun>,
    config: &Config,
) -> Result<StepContext, RunnerError> {
    let run = match (run, open.task.running()) {
        (Some(run), _) => run.clone(),
        (None, Some(running)) => {
            let (step, attempt) = (running.step.clone(), running.attempt);
            StepRun { step, attempt, failures: 0, session: None }
        }
        (None, None) => return Err(RunnerError::Invalid("no step runs".to_owned())),
    };
    Ok(StepContext {
        dir: open.dir.clone(),
        filed: open.filed.clone(),
        round_used: round_used(open),
        task: open.task.clone(),
        run,
        config: config.clone(),
        config_dir: shared.config_dir.clone(),
        belay: shared.belay.clone(),
        belay_home: shared.belay_home.clone(),
        worktrees: shared.worktrees.clone(),
        limits: shared.limits.clone(),
        host: Arc::clone(&shared.host),
        cancel: Arc::new(CancelFlag::default()),
    })
}

/// Time that the current round has used in steps that succeeded.
fn round_used(open: &OpenTask) -> Duration {
    let Some(current) = open.task.current_round().map(|round| round.number) else { return Duration::ZERO };
    let millis = open.entries.iter().rev().map_while(|entry| match &entry.record {
        Record::Finished { step, .. } if round_of(step) != Some(current) => None,
        Record::Finished {
            outcome: StepOutcome::Failed(StepFailure::TimedOut) | StepOutcome::Failed(StepFailure::Crashed { .. }),
            ..
        } => Some(0),
        Record::Finished { spend, .. } => Some(spend.millis),
        _ => Some(0),
    });
    Duration::from_millis(millis.sum())
}

pub(crate) fn round_of(step: &Step) -> Option<u32> {
    match step {
        Step::Prepare => None,
        Step::Build { round } | Step::Gate { round, .. } | Step::Review { round, .. } => Some(*round),
    }
}

/// A step that is about to run.
struct StepStart {
    context: StepContext,
    /// The place of its agent among the runs of the account.
    slot: Option<Slot>,
    perform: fn(&StepContext) -> Performed,
}

/// Runs a step in a thread of its own.
fn start(
    shared: &Arc<Shared>,
    state: &mut State,
    id: &str,
    task: &Arc<Mutex<OpenTask>>,
    StepStart { context, slot, perform }: StepStart,
) {
    let Some(entry) = state.tasks.get_mut(id) else { return };
    let exclusive_dir = lock(task).exclusive_dir();
    entry.in_flight = Some(InFlight { cancel: Arc::clone(&context.cancel), exclusive_dir });
    let (thread_shared, task, name) = (Arc::clone(shared), Arc::clone(task), id.to_owned());
    let spawned = std::thread::Builder::new().name(format!("review {id}")).spawn(move || {
        // A panic must not leave the task in flight forever.
        let performed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| perform(&context)));
        let performed = performed.unwrap_or_else(|_| Performed::Finished {
            outcome: StepOutcome::Failed(StepFailure::Crashed {
                why: "an internal error of Belay; see the log".to_owned(),
            }),
            spend: Spend::default(),
        });
        // Nothing of the attempt is left to be found by it.
        let _ = std::fs::remove_file(context.dir.marker(context.run.attempt));
        finish(&thread_shared, &task, &context, performed);
        // Before the scheduler looks for what can run now.
        drop(slot);
        if let Some(entry) = thread_shared.lock().tasks.get_mut(&name) {
            entry.in_flight = None;
        }
        thread_shared.wake();
        thread_shared.host.task_changed(&name);
    });
    if let Err(error) = spawned {
        tracing::error!(%error, task = id, "cannot start a thread for a review step");
        entry.in_flight = None;
    }
}

/// Records how a step ended, as soon as the journal can be written.
fn finish(shared: &Shared, task: &Mutex<OpenTask>, context: &StepContext, performed: Performed) {
    let (step, attempt) = (context.run.step.clone(), context.run.attempt);
    let record = match performed {
        Performed::Finished { outcome, spend } => Record::Finished { step, attempt, outcome, spend },
        Performed::Interrupted { spend } => Record::Interrupted { step, attempt, spend },
    };
    loop {
        let recorded = lock(task).record(record.clone());
        match recorded {
            // A person's decision was faster.
            Ok(()) | Err(RunnerError::Record(_)) => return,
            Err(error) => tracing::error!(%error, "cannot write the journal of a review task; trying again"),
        }
        let state = shared.lock();
        if state.shutdown {
            return;
        }
        let _ = shared.changed.wait_timeout(state, RETRY_AFTER);
    }
}

fn lock(task: &Mutex<OpenTask>) -> MutexGuard<'_, OpenTask> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}
