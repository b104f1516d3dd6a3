//! Waking up later, beside the runtime.
//!
//! Every exchange waits for things that hardly ever happen: an upstream that has been silent for minutes, a client that does
//! not ask again. A timer of the runtime has the runtime arm and disarm one of the kernel whenever it goes to sleep, twice a
//! request. On a virtual machine that took 10 of the 47 microseconds a request cost us, and it kept the runtime from
//! falling asleep in time for the first byte of an answer. So a thread of its own sleeps until the next alarm is due.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread and its alarms. Whoever drops it stops the thread; alarms that are left never ring.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    alarms: Mutex<Alarms>,
    /// Rings when the next alarm is another one.
    changed: Condvar,
    /// The time in tests.
    #[cfg(test)]
    pretended: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Alarms {
    due: BTreeMap<Entry, Arc<Bell>>,
    /// Tells alarms of the same time apart.
    count: u64,
    stopped: bool,
}

/// When a bell rings, and its place among those of the same time.
type Entry = (Instant, u64);

#[derive(Debug, Default)]
struct Bell {
    rung: AtomicBool,
    wakes: Mutex<Option<Waker>>,
}

impl Clock {
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("clock".to_owned()).spawn(move || run(&worker))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// An alarm that is not set yet.
    pub(crate) fn alarm(&self) -> Alarm {
        Alarm { clock: Arc::clone(&self.shared), bell: Arc::default(), due: None, entry: None, waker: None }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the clock panicked");
        }
    }
}

fn run(shared: &Shared) {
    let mut alarms = shared.lock();
    while !alarms.stopped {
        alarms = match shared.ring(&mut alarms) {
            None => shared.changed.wait(alarms).unwrap_or_else(PoisonError::into_inner),
            Some(wait) => shared.changed.wait_timeout(alarms, wait).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Alarms> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        #[cfg(test)]
        if let Some(pretended) = *self.pretended.lock().unwrap_or_else(PoisonError::into_inner) {
            return pretended;
        }
        Instant::now()
    }

    /// Rings all that are due; how long it is to the next one.
    fn ring(&self, alarms: &mut Alarms) -> Option<Duration> {
        loop {
            let (at, _) = alarms.due.first_key_value()?.0;
            let left = at.saturating_duration_since(self.now());
            if !left.is_zero() {
                return Some(left);
            }
            if let Some((_, bell)) = alarms.due.pop_first() {
                bell.ring();
            }
        }
    }
}

impl Bell {
    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        if let Some(waker) = &*self.wakes.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake_by_ref();
        }
    }
}

/// Rings once its time has come. To put it off costs nothing: the clock keeps the time it knows, and only when that has
/// come it hears of the new one.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Arc<Shared>,
    bell: Arc<Bell>,
    due: Option<Instant>,
    /// What the clock knows of us: never later than `due` once we have been polled.
    entry: Option<Entry>,
    /// Whom the bell wakes.
    waker: Option<Waker>,
}

impl Alarm {
    /// Rings after this time, and not when it was to ring before.
    pub(crate) fn set(&mut self, wait: Duration) {
        // What cannot be reckoned never comes.
        self.due = self.clock.now().checked_add(wait);
    }

    /// Ready when the time has come, until it is set anew.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            // The one before may be the last of its task, and must not be dropped while the bell is locked.
            let _before = self.bell.wakes.lock().unwrap_or_else(PoisonError::into_inner).replace(cx.waker().clone());
        }
        let rung = self.bell.rung.load(Ordering::Acquire);
        let Some(due) = self.due else { return Poll::Pending };
        if !rung && self.entry.is_some_and(|(at, _)| at <= due) {
            return Poll::Pending;
        }
        if due <= self.clock.now() {
            return Poll::Ready(());
        }
        self.enter(due);
        Poll::Pending
    }

    /// Tells the clock.
    fn enter(&mut self, due: Instant) {
        let mut alarms = self.clock.lock();
        if let Some(entry) = self.entry.take() {
            alarms.due.remove(&entry);
        }
        // Bells are rung under the lock: whatever has rung so far was for a time before this one.
        self.bell.rung.store(false, Ordering::Release);
        alarms.count += 1;
        let entry = (due, alarms.count);
        self.entry = Some(entry);
        alarms.due.insert(entry, Arc::clone(&self.bell));
        if alarms.due.first_key_value().is_some_and(|(first, _)| *first == entry) {
            self.clock.changed.notify_one();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.clock.lock().due.remove(&entry);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
