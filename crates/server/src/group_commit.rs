//! One engine, many callers.
//!
//! Callers put their events into a queue. Whoever finds nobody at work becomes the *lead*: it takes
//! everything that has queued up, has the engine commit it in one transaction, hands out the
//! answers, and passes the lead on. So a lonely caller pays no thread switch at all, and under load
//! the events of many callers share one commit. The queue is bounded: beyond that callers wait.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belay_core::{Body, Event, EventOutcome, SessionKey};
use belay_engine::{Engine, EngineAccess, ObserveError};

use crate::budget_cache::BudgetCache;
use crate::hold_index::HoldIndex;

/// Most events of several callers that are committed together; those of one caller always are.
const MAX_BATCH_EVENTS: usize = 256;

/// Events that may wait in the queue.
const MAX_QUEUED_EVENTS: usize = 4096;

/// How long a caller waits for room in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);

/// The result for one event.
type ObserveResult = Result<EventOutcome, ObserveError>;

/// The engine behind its queue.
#[derive(Debug)]
pub struct GroupCommitter {
    engine: Mutex<Engine>,
    queue: Mutex<CommitQueue>,
    room: Condvar,
    committed: CommitNotifier,
    /// Kept right by every answer, before anybody else is let to the engine: whoever asks it after a pause finds the
    /// session held, and after an answer what it has left to spend.
    holds: Arc<HoldIndex>,
    budgets: Arc<BudgetCache>,
}

#[derive(Debug, Default)]
struct CommitQueue {
    jobs: VecDeque<PendingBatch>,
    events: usize,
    /// Somebody is at work, or has been told to be.
    led: bool,
    /// Callers who wait for room.
    outside: usize,
}

#[derive(Debug)]
struct PendingBatch {
    events: Vec<Event>,
    seat: Arc<Waiter>,
}

/// Where a caller waits. Ringing asks the system for something even if nobody listens, so it is done only for those
/// who do.
#[derive(Debug, Default)]
struct Waiter {
    place: Mutex<WaiterSlot>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct WaiterSlot {
    call: Option<WaiterSignal>,
    listening: bool,
}

#[derive(Debug)]
enum WaiterSignal {
    /// Your answers.
    Done(Vec<ObserveResult>),
    /// It is your turn to lead.
    Lead,
}

impl Waiter {
    fn call(&self, call: WaiterSignal) {
        let mut place = lock(&self.place);
        place.call = Some(call);
        if place.listening {
            self.bell.notify_one();
        }
    }

    fn wait(&self) -> WaiterSignal {
        let mut place = lock(&self.place);
        loop {
            place.listening = place.call.is_none();
            match place.call.take() {
                Some(call) => return call,
                None => place = self.bell.wait(place).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A panic is caught where it happens (see [`Writer::lead`]), so what a lock guards is always whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GroupCommitter {
    pub(crate) fn new(engine: Engine, holds: Arc<HoldIndex>, budgets: Arc<BudgetCache>) -> Self {
        Self {
            holds,
            budgets,
            engine: Mutex::new(engine),
            queue: Mutex::default(),
            room: Condvar::new(),
            committed: CommitNotifier::default(),
        }
    }

    /// Takes events in; one answer each, after the commit.
    pub fn observe(&self, events: Vec<Event>) -> Vec<ObserveResult> {
        if events.is_empty() {
            return Vec::new();
        }
        let count = events.len();
        let seat = Arc::new(Waiter::default());
        let leads = match self.enqueue(events, &seat) {
            Some(leads) => leads,
            None => return (0..count).map(|_| Err(ObserveError::Busy)).collect(),
        };
        let mut call = if leads { WaiterSignal::Lead } else { seat.wait() };
        loop {
            match call {
                WaiterSignal::Done(answers) => return answers,
                WaiterSignal::Lead => {
                    self.lead();
                    call = seat.wait();
                }
            }
        }
    }

    /// Whether the caller leads; `None` when there is no room.
    fn enqueue(&self, events: Vec<Event>, seat: &Arc<Waiter>) -> Option<bool> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let mut queue = lock(&self.queue);
        while queue.events > 0 && queue.events + events.len() > MAX_QUEUED_EVENTS {
            let left = deadline.checked_duration_since(Instant::now())?;
            queue.outside += 1;
            queue = self.room.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
            queue.outside -= 1;
        }
        queue.events += events.len();
        queue.jobs.push_back(PendingBatch { events, seat: Arc::clone(seat) });
        Some(!std::mem::replace(&mut queue.led, true))
    }

    /// Commits one batch, answers it, and passes the lead on. The caller's own job is in the first
    /// batch after it was queued or called, because jobs are taken in order.
    fn lead(&self) {
        let (sizes, seats, events) = self.next_batch();
        let (sessions, about) = whom(&events);
        let answers = match catch_unwind(AssertUnwindSafe(|| {
            let mut engine = lock(&self.engine);
            let touched = self.budgets.changes_for(&events);
            let answers = engine.observe_batch(events);
            for ((session, asked), answer) in about.iter().zip(&answers) {
                if let Ok(observed) = answer {
                    self.holds.apply_decision(&sessions[*session], *asked, &observed.decision);
                }
            }
            self.budgets.apply(&touched, &mut engine);
            answers
        })) {
            Ok(answers) => answers.into_iter().map(|answer| answer.map_err(ObserveError::from)).collect(),
            // The transaction rolled back as the panic passed it, and the engine trusts no session
            // that was not put back: it is whole. The agent goes on.
            Err(_) => {
                tracing::error!("the engine panicked; the events of this batch are not kept");
                Vec::new()
            }
        };
        let mut answers: VecDeque<ObserveResult> = answers.into();
        self.committed.tell();
        let mut queue = lock(&self.queue);
        match queue.jobs.front() {
            Some(next) => next.seat.call(WaiterSignal::Lead),
            None => queue.led = false,
        }
        drop(queue);
        for (size, seat) in sizes.into_iter().zip(seats) {
            let own = (0..size).map(|_| answers.pop_front().unwrap_or(Err(ObserveError::Panicked))).collect();
            seat.call(WaiterSignal::Done(own));
        }
    }

    fn next_batch(&self) -> (Vec<usize>, Vec<Arc<Waiter>>, Vec<Event>) {
        let mut queue = lock(&self.queue);
        let (mut sizes, mut seats, mut events) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(job) = queue.jobs.pop_front() {
            if !events.is_empty() && events.len() + job.events.len() > MAX_BATCH_EVENTS {
                queue.jobs.push_front(job);
                break;
            }
            sizes.push(job.events.len());
            seats.push(job.seat);
            match events.is_empty() {
                true => events = job.events,
                false => events.extend(job.events),
            }
        }
        queue.events -= events.len();
        if queue.outside > 0 {
            self.room.notify_all();
        }
        (sizes, seats, events)
    }

    /// The engine itself, for decisions, status and housekeeping; between two batches.
    pub fn with_engine<R>(&self, work: impl FnOnce(&mut Engine) -> R) -> R {
        let result = work(&mut lock(&self.engine));
        self.committed.tell();
        result
    }

    /// Events that wait.
    pub fn queued(&self) -> usize {
        lock(&self.queue).events
    }

    /// Rings after commits.
    pub fn commits(&self) -> &CommitNotifier {
        &self.committed
    }
}

impl EngineAccess for GroupCommitter {
    fn observe(&self, events: Vec<Event>) -> Vec<ObserveResult> {
        Self::observe(self, events)
    }

    fn with_engine(&self, work: &mut dyn FnMut(&mut Engine)) {
        Self::with_engine(self, work);
    }
}

/// Whose the events are, by their place among the sessions, and which of them ask. Events of one session come in rows.
fn whom(events: &[Event]) -> (Vec<SessionKey>, Vec<(usize, bool)>) {
    let mut sessions: Vec<SessionKey> = Vec::new();
    let mut about = Vec::with_capacity(events.len());
    for event in events {
        if sessions.last() != Some(&event.session) {
            sessions.push(event.session.clone());
        }
        about.push((sessions.len() - 1, matches!(event.body, Body::ModelAsked(_))));
    }
    (sessions, about)
}

/// Wakes those who follow the log.
#[derive(Debug, Default)]
pub struct CommitNotifier {
    count: Mutex<CommitCounter>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct CommitCounter {
    commits: u64,
    followers: usize,
}

impl CommitNotifier {
    fn tell(&self) {
        let mut count = lock(&self.count);
        count.commits += 1;
        if count.followers > 0 {
            self.bell.notify_all();
        }
    }

    /// Waits for a commit after the one with this number, or for the time to pass; the newest number.
    pub fn wait(&self, seen: u64, timeout: Duration) -> u64 {
        let mut count = lock(&self.count);
        count.followers += 1;
        let waited = self.bell.wait_timeout_while(count, timeout, |count| count.commits == seen);
        let mut count = waited.unwrap_or_else(PoisonError::into_inner).0;
        count.followers -= 1;
        count.commits
    }
}

#[cfg(test)]
mod tests;
