//! Slows writers of event batches down while the store is far above its limit, so that they cannot write more than
//! retention deletes. Hooks, decisions and the proxy never wait here.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long a batch waits at most. It is then written nevertheless.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// How often a task that waits looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of events that may be written at once after a wait.
const MAX_CREDIT: i64 = 2048;

#[derive(Debug, Default)]
pub(crate) struct WriteThrottle {
    /// The number of events that may be written now; `None` if writers need not wait. Negative if a batch was larger than
    /// what was left, or waited in vain.
    credit: Mutex<Option<i64>>,
    changed: Condvar,
}

impl WriteThrottle {
    /// Waits until `events` events may be written, at most [`MAX_WAIT`].
    pub(crate) fn admit(&self, events: usize) {
        let deadline = Instant::now() + MAX_WAIT;
        let mut credit = lock(&self.credit);
        while is_used_up(*credit)
            && let Some(left) = deadline.checked_duration_since(Instant::now())
        {
            credit = self.changed.wait_timeout(credit, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        spend(&mut credit, events);
    }

    /// Like [`WriteThrottle::admit`], but occupies no thread: HTTP has few, and pages and decisions need them.
    pub(crate) async fn admit_async(&self, events: usize) {
        let deadline = Instant::now() + MAX_WAIT;
        while is_used_up(*lock(&self.credit)) && Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        spend(&mut lock(&self.credit), events);
    }

    /// Lets writers write as many events as were deleted.
    pub(crate) fn allow(&self, deleted: u64) {
        let deleted = i64::try_from(deleted).unwrap_or(MAX_CREDIT);
        let mut credit = lock(&self.credit);
        *credit = Some(credit.unwrap_or_default().saturating_add(deleted).min(MAX_CREDIT));
        self.changed.notify_all();
    }

    /// Lets writers write as they like.
    pub(crate) fn lift(&self) {
        *lock(&self.credit) = None;
        self.changed.notify_all();
    }
}

fn is_used_up(credit: Option<i64>) -> bool {
    credit.is_some_and(|credit| credit <= 0)
}

fn spend(credit: &mut Option<i64>, events: usize) {
    if let Some(credit) = credit {
        *credit = credit.saturating_sub(i64::try_from(events).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_writer_waits_for_deletions_only_while_it_is_throttled() {
        let throttle = Arc::new(WriteThrottle::default());
        throttle.admit(1_000_000);
        throttle.allow(40);
        throttle.admit(40);
        let (sender, receiver) = channel();
        let writer = {
            let throttle = Arc::clone(&throttle);
            std::thread::spawn(move || {
                throttle.admit(50);
                sender.send("written").unwrap();
            })
        };
        assert!(receiver.try_recv().is_err());
        throttle.allow(1);
        assert_eq!(receiver.recv(), Ok("written"));
        writer.join().unwrap();
        assert_eq!(*lock(&throttle.credit), Some(-49), "the next writer waits for 50 deletions");
        throttle.lift();
        throttle.admit(1_000_000);
    }

    #[test]
    fn a_writer_never_waits_for_long() {
        let throttle = WriteThrottle::default();
        throttle.allow(0);
        throttle.admit(10);
        assert_eq!(*lock(&throttle.credit), Some(-10), "written nevertheless");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(throttle.admit_async(10));
        assert_eq!(*lock(&throttle.credit), Some(-20), "written nevertheless");
    }
}
