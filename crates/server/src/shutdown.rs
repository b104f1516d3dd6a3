//! A shutdown flag that threads and tasks can wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::sync::lock;

/// Set once, never unset.
#[derive(Debug, Default)]
pub struct ShutdownFlag {
    flag: AtomicBool,
    reason: Mutex<Option<&'static str>>,
    changed: Condvar,
    waker: tokio::sync::Notify,
}

impl ShutdownFlag {
    /// Starts the shutdown. The first reason is retained.
    pub fn set(&self, reason: &'static str) {
        let mut first = lock(&self.reason);
        first.get_or_insert(reason);
        self.flag.store(true, Ordering::Release);
        self.changed.notify_all();
        // Wakes current waiters, and stores a permit for one that is about to wait.
        self.waker.notify_waiters();
        self.waker.notify_one();
    }

    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    pub fn reason(&self) -> Option<&'static str> {
        *lock(&self.reason)
    }

    /// Waits for `time` or the shutdown; returns whether the shutdown has started.
    pub fn wait_for(&self, time: Duration) -> bool {
        let reason = lock(&self.reason);
        let waited = self.changed.wait_timeout_while(reason, time, |reason| reason.is_none());
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
