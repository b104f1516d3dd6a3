//! Waking up later, beside the runtime.
//!
//! Every exchange waits for things that hardly ever happen: an upstream that has been silent for minutes, a client that does
//! not ask again. A timer of the runtime has the runtime arm and disarm one of the kernel whenever it goes to sleep, twice a
//! request. On a virtual machine that took 10 of the 47 microseconds a request cost us, and it kept the runtime from
//! falling asleep in time for the first byte of an answer. So a thread of its own sleeps until the next alarm is due.
//!
//! Alarms are put off all the time. That is told to nobody: the clock sees it when the time has come that it knows of, and
//! looks again later. A connection that is used is looked at once in a [`BEAT`], without the runtime hearing of it; one that
//! is not used any more, when its time has come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How soon the clock looks again at an alarm that was put off: not later than the shortest wait, so that it need not be told
/// of one.
const BEAT: u64 = 20_000_000;
/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// The thread and its alarms. Whoever drops it stops the thread; alarms that are left never ring.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Times are nanoseconds since then.
    epoch: Instant,
    alarms: Mutex<Alarms>,
    /// Rings when the next alarm is another one.
    changed: Condvar,
    /// The time in tests.
    #[cfg(test)]
    pretended: Mutex<Option<u64>>,
}

#[derive(Debug, Default)]
struct Alarms {
    /// By the time at which the clock looks at them, and their number.
    entered: BTreeMap<(u64, u64), Entry>,
    /// Tells alarms apart.
    count: u64,
    stopped: bool,
}

#[derive(Debug)]
struct Entry {
    bell: Arc<Bell>,
    /// When it was due at the last look.
    seen: u64,
}

#[derive(Debug)]
struct Bell {
    /// When it is to ring.
    due: AtomicU64,
    /// When the clock looks at it. Written under the lock.
    looked_at: AtomicU64,
    rung: AtomicBool,
    wakes: Mutex<Option<Waker>>,
}

impl Clock {
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new());
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("clock".to_owned()).spawn(move || run(&worker))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// An alarm that is not set yet.
    pub(crate) fn alarm(&self) -> Alarm {
        let bell = Bell {
            due: AtomicU64::new(NEVER),
            looked_at: AtomicU64::new(NEVER),
            rung: AtomicBool::default(),
            wakes: Mutex::default(),
        };
        let mut alarms = self.shared.lock();
        alarms.count += 1;
        Alarm { clock: Arc::clone(&self.shared), bell: Arc::new(bell), number: alarms.count, waker: None }
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
    fn new() -> Self {
        Self {
            epoch: Instant::now(),
            alarms: Mutex::default(),
            changed: Condvar::new(),
            #[cfg(test)]
            pretended: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Alarms> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        #[cfg(test)]
        if let Some(pretended) = *self.pretended.lock().unwrap_or_else(PoisonError::into_inner) {
            return pretended;
        }
        nanos(self.epoch.elapsed())
    }

    /// Rings all that are due; how long it is to the next look.
    fn ring(&self, alarms: &mut Alarms) -> Option<Duration> {
        let mut now = self.now();
        loop {
            let (at, _) = *alarms.entered.first_key_value()?.0;
            if at > now {
                now = self.now();
            }
            if at > now {
                return Some(Duration::from_nanos(at - now));
            }
            let ((_, number), entry) = alarms.entered.pop_first()?;
            alarms.look(number, entry, now);
        }
    }
}

impl Alarms {
    /// The time has come that the clock knew of.
    fn look(&mut self, number: u64, Entry { bell, seen }: Entry, now: u64) {
        let mut due = bell.due.load(Ordering::Acquire);
        loop {
            let next = match due {
                _ if due <= now => {
                    bell.looked_at.store(NEVER, Ordering::Release);
                    return bell.ring();
                }
                _ if due == seen => due,
                _ => due.min(now + BEAT),
            };
            bell.looked_at.store(next, Ordering::Release);
            // Whoever has set an earlier time meanwhile may have thought that we look before that; see `Alarm::poll`.
            fence(Ordering::SeqCst);
            match bell.due.load(Ordering::Acquire) {
                earlier if earlier < next => due = earlier,
                due => {
                    if next != NEVER {
                        self.entered.insert((next, number), Entry { bell, seen: due });
                    }
                    return;
                }
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

/// Rings once its time has come.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Arc<Shared>,
    bell: Arc<Bell>,
    number: u64,
    /// Whom the bell wakes.
    waker: Option<Waker>,
}

impl Alarm {
    /// Rings after this time, and not when it was to ring before.
    pub(crate) fn set(&mut self, wait: Duration) {
        self.bell.due.store(self.clock.now().saturating_add(nanos(wait)), Ordering::Release);
    }

    /// Ready when the time has come, until it is set anew.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            // The one before may be the last of its task, and must not be dropped while the bell is locked.
            let _before = self.bell.wakes.lock().unwrap_or_else(PoisonError::into_inner).replace(cx.waker().clone());
        }
        // Either we see here what the clock has made of the last time, or it sees what was set since.
        fence(Ordering::SeqCst);
        let due = self.bell.due.load(Ordering::Relaxed);
        let rung = self.bell.rung.load(Ordering::Acquire);
        if due == NEVER || (!rung && self.bell.looked_at.load(Ordering::Acquire) <= due) {
            return Poll::Pending;
        }
        if due <= self.clock.now() {
            return Poll::Ready(());
        }
        self.enter(due);
        Poll::Pending
    }

    /// Tells the clock.
    fn enter(&mut self, due: u64) {
        let mut alarms = self.clock.lock();
        alarms.entered.remove(&(self.bell.looked_at.load(Ordering::Relaxed), self.number));
        // Bells are rung under the lock: whatever has rung so far was for a time before this one.
        self.bell.rung.store(false, Ordering::Release);
        self.bell.looked_at.store(due, Ordering::Release);
        let key = (due, self.number);
        alarms.entered.insert(key, Entry { bell: Arc::clone(&self.bell), seen: due });
        if alarms.entered.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.clock.changed.notify_one();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let mut alarms = self.clock.lock();
        alarms.entered.remove(&(self.bell.looked_at.load(Ordering::Relaxed), self.number));
    }
}

/// What cannot be reckoned never comes.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

#[cfg(test)]
pub(crate) mod tests;
