//! Leaving, as a message everybody can wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Set once, never unset.
#[derive(Debug, Default)]
pub struct ShutdownFlag {
    flag: AtomicBool,
    reason: Mutex<Option<&'static str>>,
    bell: Condvar,
    waker: tokio::sync::Notify,
}

impl ShutdownFlag {
    /// Tells everybody to finish. The first reason counts.
    pub fn set(&self, reason: &'static str) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(reason);
        self.flag.store(true, Ordering::Release);
        self.bell.notify_all();
        // Both: those who wait now, and the one who comes to wait later.
        self.waker.notify_waiters();
        self.waker.notify_one();
    }

    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    pub fn reason(&self) -> Option<&'static str> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the time to pass; `true` when it was cut short by the end.
    pub fn wait_for(&self, time: Duration) -> bool {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.bell.wait_timeout_while(reason, time, |reason| reason.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    pub async fn wait(&self) {
        loop {
            let notified = self.waker.notified();
            if self.is_set() {
                return;
            }
            notified.await;
        }
    }
}
