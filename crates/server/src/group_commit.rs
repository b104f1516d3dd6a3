//! Group commit: many callers share one engine.
//!
//! Callers put their events into a queue. A caller that finds the engine free becomes the *leader*: it takes the queued
//! events, commits them in one transaction, distributes the outcomes and passes leadership on. A single caller needs no
//! thread switch; concurrent callers share one commit. The queue is bounded; if it is full, callers wait.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use belay_core::{Body, Event, EventOutcome, SessionKey};
use belay_engine::{Engine, EngineAccess, ObserveError};

use crate::budget_cache::BudgetCache;
use crate::hold_index::HoldIndex;
use crate::sync::lock;

/// Maximum number of events of several callers in one commit. The events of one caller are never split.
const MAX_BATCH_EVENTS: usize = 256;

/// Capacity of the queue.
const MAX_QUEUED_EVENTS: usize = 4096;

/// How long a caller waits for space in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);

/// The result for one event.
type ObserveResult = Result<EventOutcome, ObserveError>;

/// The engine behind its queue.
#[derive(Debug)]
pub struct GroupCommitter {
    engine: Mutex<Engine>,
    queue: Mutex<CommitQueue>,
    space: Condvar,
    committed: CommitNotifier,
    /// Updated with every outcome before the engine is released, so that it is never behind the engine.
    holds: Arc<HoldIndex>,
    budgets: Arc<BudgetCache>,
}

#[derive(Debug, Default)]
struct CommitQueue {
    batches: VecDeque<PendingBatch>,
    events: usize,
    /// A caller leads, or was signalled to.
    has_leader: bool,
    /// Callers that wait for space.
    blocked: usize,
}

#[derive(Debug)]
struct PendingBatch {
    events: Vec<Event>,
    waiter: Arc<Waiter>,
}

/// Where a caller waits. Notifying a condvar is a system call even without waiters, so it is skipped if the caller is not
/// waiting.
#[derive(Debug, Default)]
struct Waiter {
    slot: Mutex<WaiterSlot>,
    signalled: Condvar,
}

#[derive(Debug, Default)]
struct WaiterSlot {
    signal: Option<WaiterSignal>,
    waiting: bool,
}

#[derive(Debug)]
enum WaiterSignal {
    /// The outcomes of the caller's events.
    Done(Vec<ObserveResult>),
    /// The caller becomes the leader.
    Lead,
}

impl Waiter {
    fn signal(&self, signal: WaiterSignal) {
        let mut slot = lock(&self.slot);
        slot.signal = Some(signal);
        if slot.waiting {
            self.signalled.notify_one();
        }
    }

    fn wait(&self) -> WaiterSignal {
        let mut slot = lock(&self.slot);
        loop {
            slot.waiting = slot.signal.is_none();
            match slot.signal.take() {
                Some(signal) => return signal,
                None => slot = self.signalled.wait(slot).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl GroupCommitter {
    pub(crate) fn new(engine: Engine, holds: Arc<HoldIndex>, budgets: Arc<BudgetCache>) -> Self {
        Self {
            holds,
            budgets,
            engine: Mutex::new(engine),
            queue: Mutex::default(),
            space: Condvar::new(),
            committed: CommitNotifier::default(),
        }
    }

    /// Records events and returns one result per event after the commit.
    pub fn observe(&self, events: Vec<Event>) -> Vec<ObserveResult> {
        if events.is_empty() {
            return Vec::new();
        }
        let count = events.len();
        let waiter = Arc::new(Waiter::default());
        let leads = match self.enqueue(events, &waiter) {
            Some(leads) => leads,
            None => return (0..count).map(|_| Err(ObserveError::Busy)).collect(),
        };
        let mut signal = if leads { WaiterSignal::Lead } else { waiter.wait() };
        loop {
            match signal {
                WaiterSignal::Done(results) => return results,
                WaiterSignal::Lead => {
                    self.lead();
                    signal = waiter.wait();
                }
            }
        }
    }

    /// Returns whether the caller leads; `None` if the queue stayed full.
    fn enqueue(&self, events: Vec<Event>, waiter: &Arc<Waiter>) -> Option<bool> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let mut queue = lock(&self.queue);
        while queue.events > 0 && queue.events + events.len() > MAX_QUEUED_EVENTS {
            let left = deadline.checked_duration_since(Instant::now())?;
            queue.blocked += 1;
            queue = self.space.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
            queue.blocked -= 1;
        }
        queue.events += events.len();
        queue.batches.push_back(PendingBatch { events, waiter: Arc::clone(waiter) });
        Some(!std::mem::replace(&mut queue.has_leader, true))
    }

    /// Commits one batch, distributes the outcomes and passes leadership on. The leader's own events are always in the
    /// batch, because it leads only when they are first in the queue.
    fn lead(&self) {
        let (sizes, waiters, events) = self.next_batch();
        let (sessions, requests) = sessions_of(&events);
        let answers = match catch_unwind(AssertUnwindSafe(|| {
            let mut engine = lock(&self.engine);
            let touched = self.budgets.changes_for(&events);
            let answers = engine.observe_batch(events);
            for ((session, asked), answer) in requests.iter().zip(&answers) {
                if let Ok(observed) = answer {
                    self.holds.apply_decision(&sessions[*session], *asked, &observed.decision);
                }
            }
            self.budgets.apply(&touched, &mut engine);
            answers
        })) {
            Ok(answers) => answers.into_iter().map(|answer| answer.map_err(ObserveError::from)).collect(),
            // Unwinding rolled the transaction back, and sessions it had taken from the cache are gone, so the engine is
            // consistent. The agent continues.
            Err(_) => {
                tracing::error!("engine panicked; the events of this batch are not recorded");
                Vec::new()
            }
        };
        let mut answers: VecDeque<ObserveResult> = answers.into();
        self.committed.notify();
        let mut queue = lock(&self.queue);
        match queue.batches.front() {
            Some(next) => next.waiter.signal(WaiterSignal::Lead),
            None => queue.has_leader = false,
        }
        drop(queue);
        for (size, waiter) in sizes.into_iter().zip(waiters) {
            let own = (0..size).map(|_| answers.pop_front().unwrap_or(Err(ObserveError::Panicked))).collect();
            waiter.signal(WaiterSignal::Done(own));
        }
    }

    fn next_batch(&self) -> (Vec<usize>, Vec<Arc<Waiter>>, Vec<Event>) {
        let mut queue = lock(&self.queue);
        let (mut sizes, mut waiters, mut events) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(batch) = queue.batches.pop_front() {
            if !events.is_empty() && events.len() + batch.events.len() > MAX_BATCH_EVENTS {
                queue.batches.push_front(batch);
                break;
            }
            sizes.push(batch.events.len());
            waiters.push(batch.waiter);
            match events.is_empty() {
                true => events = batch.events,
                false => events.extend(batch.events),
            }
        }
        queue.events -= events.len();
        if queue.blocked > 0 {
            self.space.notify_all();
        }
        (sizes, waiters, events)
    }

    /// Runs `work` on the engine between two batches.
    pub fn with_engine<R>(&self, work: impl FnOnce(&mut Engine) -> R) -> R {
        let result = work(&mut lock(&self.engine));
        self.committed.notify();
        result
    }

    /// Number of queued events.
    pub fn queued(&self) -> usize {
        lock(&self.queue).events
    }

    /// Notifies after every commit.
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

/// The sessions of the events, and for each event the index of its session and whether it is a model request.
fn sessions_of(events: &[Event]) -> (Vec<SessionKey>, Vec<(usize, bool)>) {
    let mut sessions: Vec<SessionKey> = Vec::new();
    let mut requests = Vec::with_capacity(events.len());
    for event in events {
        if sessions.last() != Some(&event.session) {
            sessions.push(event.session.clone());
        }
        requests.push((sessions.len() - 1, matches!(event.body, Body::ModelAsked(_))));
    }
    (sessions, requests)
}

/// Wakes followers of the log after a commit.
#[derive(Debug, Default)]
pub struct CommitNotifier {
    count: Mutex<CommitCounter>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct CommitCounter {
    commits: u64,
    followers: usize,
}

impl CommitNotifier {
    pub(crate) fn notify(&self) {
        let mut count = lock(&self.count);
        count.commits += 1;
        if count.followers > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until the number of commits differs from `seen` or the timeout passes; returns the current number.
    pub fn wait(&self, seen: u64, timeout: Duration) -> u64 {
        let mut count = lock(&self.count);
        count.followers += 1;
        let waited = self.changed.wait_timeout_while(count, timeout, |count| count.commits == seen);
        let mut count = waited.unwrap_or_else(PoisonError::into_inner).0;
        count.followers -= 1;
        count.commits
    }
}

#[cfg(test)]
mod tests;
