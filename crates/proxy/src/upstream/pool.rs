//! Pool of idle connections.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::socket::Socket;
use crate::sync::lock;

/// Maximum number of idle connections per upstream.
const MAX_IDLE_PER_UPSTREAM: usize = 64;

/// Idle connections to one upstream, the most recently used last.
#[derive(Debug)]
pub(super) struct IdleConnections {
    idle: Mutex<VecDeque<(Instant, Socket)>>,
    keep: Duration,
}

impl IdleConnections {
    pub(super) fn new(keep: Duration) -> Self {
        Self { idle: Mutex::new(VecDeque::new()), keep }
    }

    /// The most recently used connection, if it is still usable.
    pub(super) fn pop(&self) -> Option<Socket> {
        let mut idle = lock(&self.idle);
        while let Some((since, mut link)) = idle.pop_back() {
            if since.elapsed() >= self.keep {
                // All others have been idle for longer.
                idle.clear();
                return None;
            }
            if !link.is_stale() {
                return Some(link);
            }
        }
        None
    }

    pub(super) fn push(&self, link: Socket) {
        let mut idle = lock(&self.idle);
        let now = Instant::now();
        while idle.len() >= MAX_IDLE_PER_UPSTREAM || idle.front().is_some_and(|(since, _)| now - *since >= self.keep) {
            idle.pop_front();
        }
        idle.push_back((now, link));
    }
}
