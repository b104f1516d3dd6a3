//! Decides which steps run now. Sleeps until something happens: an idle queue costs nothing.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_config::Config;
use belay_core::Timestamp;
use belay_core::task::{Journalled as _, Machine, Next, Record, StepRun};
use belay_core::wait::Awaited;
use belay_drive::headless::CancelHandle;
use belay_drive::limits::{AccountId, Admission, MIN_LIMIT, Slot};

use crate::error::TaskError;
use crate::open_task::OpenTask;
use crate::performer::{Performer, StepContext, StepEnd};
use crate::tasks::{Shared, SharedTask, lock_task};
use crate::wait::is_met;

/// How long a shutdown waits for running steps. Agents are killed before that.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often an account whose runs belong to another driver is checked.
const BUSY_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often a paused session is checked.
const PAUSE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a file or a process is looked at.
const CONDITION_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Longest sleep while a time is awaited. The clock of a sleep stands still while the machine is suspended.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// How long a task waits after it could not be continued, such as while its journal cannot be written.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Schedules steps until the shutdown, then waits for those that run.
pub(crate) fn run<P: Performer>(shared: &Arc<Shared<P>>) {
    let mut shutdown_by: Option<Instant> = None;
    loop {
        let mut state = shared.lock();
        if state.shutdown {
            if state.tasks.values().all(|slot| slot.in_flight.is_none()) {
                return;
            }
            // A step that cannot be stopped, such as a git command that waits for the network, must not hold up the exit.
            let by = *shutdown_by.get_or_insert_with(|| Instant::now() + SHUTDOWN_TIMEOUT);
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(tasks = P::NAMES.dir, "a step does not stop; it runs again after the next start");
                return;
            }
            drop(shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner));
            continue;
        }
        state.woken = false;
        drop(state);
        let wake_at = schedule(shared);
        let state = shared.lock();
        if state.woken || state.shutdown {
            continue;
        }
        match wake_at {
            Some(at) => {
                let wait = at.saturating_since(now()).clamp(Duration::from_millis(1), MAX_SLEEP);
                drop(shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner));
            }
            None => drop(shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Starts what can start. Returns when to look again.
fn schedule<P: Performer>(shared: &Arc<Shared<P>>) -> Option<Timestamp> {
    let mut config = None;
    let mut wake_at: Option<Timestamp> = None;
    for IdleTask { id, task, retry_in } in idle_tasks(shared) {
        let again = match retry_in {
            Some(left) => Some(now() + left),
            None => consider(shared, &id, &task, &mut config).unwrap_or_else(|error| {
                tracing::warn!(task = id, %error, "cannot continue a task for now");
                if let Some(slot) = shared.lock().tasks.get_mut(&id) {
                    slot.retry_at = Some(Instant::now() + RETRY_AFTER);
                }
                Some(now() + RETRY_AFTER)
            }),
        };
        wake_at = [wake_at, again].into_iter().flatten().min();
    }
    wake_at
}

/// A task of which nothing runs.
struct IdleTask<M: Machine> {
    id: String,
    task: SharedTask<M>,
    /// It could not be continued a moment ago.
    retry_in: Option<Duration>,
}

/// The tasks that may run: those that have begun first, then in the order of their filing.
fn idle_tasks<P: Performer>(shared: &Shared<P>) -> Vec<IdleTask<P::Machine>> {
    let now = Instant::now();
    let state = shared.lock();
    let mut idle: Vec<_> = state.tasks.iter().filter(|(_, slot)| slot.in_flight.is_none()).collect();
    idle.sort_by_key(|(id, slot)| (!slot.has_begun, slot.filed_at, (*id).clone()));
    let idle = idle.into_iter().map(|(id, slot)| IdleTask {
        id: id.clone(),
        task: Arc::clone(&slot.task),
        retry_in: slot.retry_at.filter(|at| *at > now).map(|at| at - now),
    });
    idle.collect()
}

/// Starts the next step of a task if nothing speaks against it. Returns when to look again.
fn consider<P: Performer>(
    shared: &Arc<Shared<P>>,
    id: &str,
    task: &SharedTask<P::Machine>,
    config: &mut Option<Config>,
) -> Result<Option<Timestamp>, TaskError> {
    let mut open = lock_task(task);
    if !shared.is_current(id, task) {
        return Ok(None);
    }
    if open.machine().has_ended() {
        shared.lock().tasks.remove(id);
        return Ok(None);
    }
    end_wait(shared, id, &mut open)?;
    let (run, is_new) = match open.machine().next(now()) {
        Next::Start(run) => (run, true),
        // Nothing of this process runs it: the process before this one started it.
        Next::Await(_) => (running(&open)?, false),
        Next::WaitUntil(at) => return Ok(Some(at)),
        Next::WaitForRecord => {
            return Ok(open.machine().steps().waiting().and_then(poll_interval).map(|poll| now() + poll));
        }
        Next::Ended => return Ok(None),
    };
    let config = read_config(shared, config)?;
    let Some(cancel) = reserve(shared, id, is_new.then(|| shared.performer.workers(config))) else {
        // The end of a step wakes the scheduler, and so does a person who resumes the queue.
        return Ok(None);
    };
    let context = context(shared, &open, run, config, cancel);
    let account = shared.performer.account(&context);
    let admitted = match is_new {
        true => admit(shared, id, &mut open, &context, account.as_ref()),
        // It runs already, whatever the limits say.
        false => Ok(Admitted::Start(account.map(|account| shared.resources.limits.adopt(&account)))),
    };
    match admitted {
        Ok(Admitted::Start(slot)) => {
            drop(open);
            shared.notify_host(id);
            start(shared, task, StepStart { context, slot, is_new })?;
            Ok(None)
        }
        other => {
            if let Some(slot) = shared.lock().tasks.get_mut(id) {
                slot.in_flight = None;
            }
            shared.refresh_occupied(&open);
            match other? {
                Admitted::Waits(until) => {
                    shared.notify_host(id);
                    Ok(until)
                }
                // The end of an own run wakes the scheduler, but that of another driver's run does not.
                Admitted::Busy => Ok(Some(now() + BUSY_POLL_INTERVAL)),
                Admitted::Start(_) => Ok(None),
            }
        }
    }
}

/// How often it is checked whether something has happened that nobody reports.
fn poll_interval(awaited: &Awaited) -> Option<Duration> {
    match awaited {
        // Whoever lifts a pause does not know about the task.
        Awaited::Pause { .. } => Some(PAUSE_POLL_INTERVAL),
        Awaited::File { .. } | Awaited::Process { .. } => Some(CONDITION_POLL_INTERVAL),
        Awaited::Time { .. } | Awaited::Command { .. } | Awaited::Limit { .. } | Awaited::Lock { .. } => None,
    }
}

/// Whether a step may start.
enum Admitted {
    /// Its start is recorded. The place of its agent among the runs of the account.
    Start(Option<Slot>),
    /// Its wait is recorded. When to look again, if that is known.
    Waits(Option<Timestamp>),
    /// The account has as many runs as it may have.
    Busy,
}

/// Takes what the step needs and records its start, or why it waits.
fn admit<P: Performer>(
    shared: &Arc<Shared<P>>,
    id: &str,
    open: &mut OpenTask<P::Machine>,
    context: &StepContext<P::Machine>,
    account: Option<&AccountId>,
) -> Result<Admitted, TaskError> {
    let dir = next_dir(&shared.performer, open.machine());
    let holder = dir.as_ref().and_then(|dir| shared.resources.holder(id, dir));
    if let Some(holder) = holder {
        return wait_for_dir(shared, open, holder);
    }
    let slot = match account {
        None => None,
        Some(account) => match shared.resources.limits.admit(account, runs_per_account(&context.config), now()) {
            Admission::Go(slot) => Some(slot),
            Admission::Busy => return Ok(Admitted::Busy),
            Admission::Limited(limit) => {
                let waiting = Awaited::Limit { account: account.to_string(), until: limit.until };
                shared.record(open, Record::Waits { waiting })?;
                return Ok(Admitted::Waits(Some(limit.until)));
            }
        },
    };
    // Last, so that nothing is released that another task would be woken for in vain.
    if let Some(Err(holder)) = dir.map(|dir| shared.resources.occupy(id, &dir)) {
        return wait_for_dir(shared, open, holder);
    }
    let StepRun { step, attempt, .. } = context.run.clone();
    shared.record(open, Record::Started { step, attempt })?;
    Ok(Admitted::Start(slot))
}

/// How many runs of one account may be in progress.
fn runs_per_account(config: &Config) -> usize {
    usize::try_from(config.drive.runs_per_account.max(1)).unwrap_or(usize::MAX)
}

fn wait_for_dir<P: Performer>(
    shared: &Shared<P>,
    open: &mut OpenTask<P::Machine>,
    holder: String,
) -> Result<Admitted, TaskError> {
    shared.record(open, Record::Waits { waiting: Awaited::Lock { holder } })?;
    Ok(Admitted::Waits(None))
}

/// Marks the task as in flight before anything is written. `workers`: how many may be, unless it runs already.
fn reserve<P: Performer>(shared: &Shared<P>, id: &str, workers: Option<u32>) -> Option<CancelHandle> {
    let mut state = shared.lock();
    let in_flight = state.tasks.values().filter(|slot| slot.in_flight.is_some()).count();
    let is_full = |workers: u32| in_flight >= usize::try_from(workers.max(1)).unwrap_or(usize::MAX);
    if state.shutdown || workers.is_some_and(|workers| state.paused || is_full(workers)) {
        return None;
    }
    let slot = state.tasks.get_mut(id)?;
    let cancel = CancelHandle::default();
    slot.in_flight = Some(cancel.clone());
    Some(cancel)
}

fn read_config<'c, P: Performer>(shared: &Shared<P>, config: &'c mut Option<Config>) -> Result<&'c Config, TaskError> {
    if config.is_none() {
        *config = Some(shared.host.config().map_err(TaskError::Config)?);
    }
    config.as_ref().ok_or_else(|| TaskError::Config("no configuration".to_owned()))
}

/// Ends a wait whose reason is gone.
fn end_wait<P: Performer>(shared: &Shared<P>, id: &str, open: &mut OpenTask<P::Machine>) -> Result<(), TaskError> {
    let is_over = match open.machine().steps().waiting() {
        Some(Awaited::Lock { .. }) => {
            let dir = next_dir(&shared.performer, open.machine());
            dir.is_none_or(|dir| shared.resources.holder(id, &dir).is_none())
        }
        Some(Awaited::Pause { session, .. }) => !shared.host.is_held(session),
        // A limit that resets sooner is not recorded.
        Some(Awaited::Limit { account, until }) => {
            let account = AccountId::from_name(account);
            until.saturating_since(now()) > MIN_LIMIT && !shared.resources.limits.awaits_answer(&account)
        }
        Some(awaited @ (Awaited::File { .. } | Awaited::Process { .. })) => is_met(awaited, now(), Duration::ZERO),
        // A time needs no record. This process never runs a command that an agent has declared.
        Some(Awaited::Time { .. } | Awaited::Command { .. }) | None => false,
    };
    if is_over {
        shared.record(open, Record::WaitEnded)?;
        shared.notify_host(id);
    }
    Ok(())
}

/// The directory that the task uses alone once its next step has started.
fn next_dir<P: Performer>(performer: &P, machine: &P::Machine) -> Option<PathBuf> {
    let mut machine = machine.clone();
    let now = now();
    let _ = machine.apply(now, &Record::WaitEnded);
    if let Next::Start(StepRun { step, attempt, .. }) = machine.next(now) {
        let _ = machine.apply(now, &Record::Started { step, attempt });
    }
    performer.occupies(&machine)
}

/// The step that runs already.
fn running<M: Machine>(open: &OpenTask<M>) -> Result<StepRun<M::Step>, TaskError> {
    let running = open.machine().steps().running();
    let running = running.ok_or_else(|| TaskError::Invalid("no step runs".to_owned()))?;
    Ok(StepRun { step: running.step.clone(), attempt: running.attempt, failures: 0, session: None })
}

fn context<P: Performer>(
    shared: &Shared<P>,
    open: &OpenTask<P::Machine>,
    run: StepRun<<P::Machine as Machine>::Step>,
    config: &Config,
    cancel: CancelHandle,
) -> StepContext<P::Machine> {
    StepContext {
        dir: open.dir.clone(),
        filed: open.filed.clone(),
        task: open.machine().clone(),
        entries: open.entries().to_vec(),
        run,
        config: config.clone(),
        paths: Arc::clone(&shared.paths),
        limits: shared.resources.limits.clone(),
        host: Arc::clone(&shared.host),
        cancel,
        subject: (P::NAMES.subject)(open.dir.id()),
    }
}

/// A step that is about to run.
struct StepStart<M: Machine> {
    context: StepContext<M>,
    /// The place of its agent among the runs of the account.
    slot: Option<Slot>,
    /// No process has started it before.
    is_new: bool,
}

/// Runs a step in a thread of its own. Without a thread, its start is recorded and it is recovered later.
fn start<P: Performer>(
    shared: &Arc<Shared<P>>,
    task: &SharedTask<P::Machine>,
    StepStart { context, slot, is_new }: StepStart<P::Machine>,
) -> Result<(), TaskError> {
    let id = context.dir.id().to_owned();
    let (thread_shared, task, name) = (Arc::clone(shared), Arc::clone(task), id.clone());
    let spawned = std::thread::Builder::new().name(format!("task {id}")).spawn(move || {
        let performer = &thread_shared.performer;
        // A panic must not leave the task in flight forever.
        let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match is_new {
            true => performer.perform(&context),
            false => performer.recover(&context),
        }));
        let end = end.unwrap_or_else(|_| {
            StepEnd::crashed("an internal error of Belay; see the log", belay_core::task::Spend::default())
        });
        // Nothing of the attempt is left to be found by it.
        let _ = std::fs::remove_file(context.dir.run_file(context.run.attempt, "marker"));
        finish(&thread_shared, &task, &context, end);
        // Before the scheduler looks for what can run now.
        drop(slot);
        leave(&thread_shared, &name, &task);
        thread_shared.wake();
        thread_shared.notify_host(&name);
    });
    let mut state = shared.lock();
    if let Some(slot) = state.tasks.get_mut(&id) {
        slot.has_begun = true;
        if spawned.is_err() {
            slot.in_flight = None;
        }
    }
    drop(state);
    spawned.map(drop).map_err(|error| TaskError::Invalid(format!("cannot start a thread for a step: {error}")))
}

/// Nothing of the task is in flight anymore. One that has ended leaves the map.
fn leave<P: Performer>(shared: &Shared<P>, id: &str, task: &SharedTask<P::Machine>) {
    let open = lock_task(task);
    let mut state = shared.lock();
    if open.machine().has_ended() {
        state.tasks.remove(id);
    } else if let Some(slot) = state.tasks.get_mut(id) {
        slot.in_flight = None;
    }
}

/// Records how a step ended, as soon as the journal can be written.
fn finish<P: Performer>(
    shared: &Shared<P>,
    task: &SharedTask<P::Machine>,
    context: &StepContext<P::Machine>,
    end: StepEnd<P::Machine>,
) {
    let (step, attempt) = (context.run.step.clone(), context.run.attempt);
    let record = match end {
        StepEnd::Finished { outcome, spend } => Record::Finished { step, attempt, outcome, spend },
        StepEnd::Interrupted { spend } => Record::Interrupted { step, attempt, spend },
    };
    loop {
        let mut open = lock_task(task);
        match shared.record(&mut open, record.clone()) {
            // A person's decision was faster.
            Ok(()) | Err(TaskError::Misfit(_)) => return shared.refresh_occupied(&open),
            Err(error) => tracing::error!(%error, "cannot write the journal of a task; trying again"),
        }
        drop(open);
        let state = shared.lock();
        if state.shutdown {
            return;
        }
        drop(shared.changed.wait_timeout(state, RETRY_AFTER).unwrap_or_else(PoisonError::into_inner));
    }
}
