//! Connections that wait for the next request.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::link::UpstreamConn;

/// Most connections kept idle to one upstream.
const MAX_IDLE_PER_UPSTREAM: usize = 64;

/// Idle connections to one upstream, the most recently used last.
#[derive(Debug)]
pub(super) struct IdleConnections {
    idle: Mutex<VecDeque<(Instant, UpstreamConn)>>,
    keep: Duration,
}

impl IdleConnections {
    pub(super) fn new(keep: Duration) -> Self {
        Self { idle: Mutex::new(VecDeque::new()), keep }
    }

    /// The connection used last, if it is still good.
    pub(super) fn pop(&self) -> Option<UpstreamConn> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, mut link)) = idle.pop_back() {
            if since.elapsed() >= self.keep {
                // All others have waited longer.
                idle.clear();
                return None;
            }
            if !link.is_stale() {
                return Some(link);
            }
        }
        None
    }

    pub(super) fn push(&self, link: UpstreamConn) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while idle.len() >= MAX_IDLE_PER_UPSTREAM || idle.front().is_some_and(|(since, _)| now - *since >= self.keep) {
            idle.pop_front();
        }
        idle.push_back((now, link));
    }
}
