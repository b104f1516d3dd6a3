//! Bounds the number of open connections.
//!
//! Every user of the machine can open connections and send nothing, and each takes a file descriptor. At the limit, a new
//! connection replaces the one that has waited longest for a request. If every connection is in use, it is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::sync::lock;

#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    next: u64,
    /// Connections without a request, in the order in which they became idle.
    idle: BTreeMap<u64, Arc<Notify>>,
}

impl State {
    fn add_idle(&mut self, evicted: &Arc<Notify>) -> u64 {
        self.next += 1;
        self.idle.insert(self.next, Arc::clone(evicted));
        self.next
    }
}

impl ConnectionLimit {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, state: Mutex::default() })
    }

    /// Counts a new connection. `None` if it exceeds the limit and no other one can be closed for it.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let mut state = lock(&self.state);
        if state.open >= self.max {
            let (_, oldest) = state.idle.pop_first()?;
            oldest.notify_one();
        } else {
            state.open += 1;
        }
        let evicted = Arc::default();
        let idle = Some(state.add_idle(&evicted));
        Some(ConnectionGuard { limit: Arc::clone(self), evicted, idle, counted: true })
    }
}

/// An open connection, initially idle. Dropping it frees a slot.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    limit: Arc<ConnectionLimit>,
    evicted: Arc<Notify>,
    /// Its position in the idle list, unless it has a request.
    idle: Option<u64>,
    /// Whether it occupies a slot. An evicted connection has passed its slot on.
    counted: bool,
}

impl ConnectionGuard {
    /// Waits for `request`. `None` if the connection has to be closed for another one.
    pub(crate) async fn while_idle<T>(&mut self, request: impl Future<Output = T>) -> Option<T> {
        if self.idle.is_none() {
            self.idle = Some(lock(&self.limit.state).add_idle(&self.evicted));
        }
        let result = tokio::select! {
            biased;
            result = request => Some(result),
            () = self.evicted.notified() => None,
        };
        self.end_idle();
        if result.is_some() && !self.counted {
            // The request came while the connection was evicted. It is served beyond the limit.
            lock(&self.limit.state).open += 1;
            self.counted = true;
        }
        result
    }

    fn end_idle(&mut self) {
        if let Some(place) = self.idle.take()
            && lock(&self.limit.state).idle.remove(&place).is_none()
        {
            self.counted = false;
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.end_idle();
        if self.counted {
            lock(&self.limit.state).open -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_new_connection_replaces_the_one_that_has_been_idle_longest() {
        let limit = ConnectionLimit::new(2);
        let (mut first, mut second) = (limit.admit().unwrap(), limit.admit().unwrap());
        let mut third = limit.admit().unwrap();
        assert!(first.while_idle(pending::<()>()).await.is_none(), "the first is closed");
        assert_eq!(second.while_idle(ready(2)).await, Some(2), "the second is not");
        assert_eq!(third.while_idle(ready(3)).await, Some(3));
        drop(first);
        assert!(limit.admit().is_none(), "all slots are taken, and no connection is idle");
        drop(third);
        assert!(limit.admit().is_some());
        drop(second);
        assert_eq!(lock(&limit.state).open, 0);
        assert!(lock(&limit.state).idle.is_empty());
    }

    #[tokio::test]
    async fn a_request_that_comes_while_its_connection_is_evicted_is_served() {
        let limit = ConnectionLimit::new(1);
        let mut only = limit.admit().unwrap();
        let other = limit.admit().unwrap();
        assert_eq!(only.while_idle(ready(1)).await, Some(1));
        assert_eq!(lock(&limit.state).open, 2);
        assert!(only.while_idle(pending::<()>()).await.is_none(), "it closes afterwards");
        drop((only, other));
        assert_eq!(lock(&limit.state).open, 0);
    }
}
