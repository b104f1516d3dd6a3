//! How long a connection may go without progress.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Longer limits could overflow the clock.
const MAX_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Fires when nothing has moved for a while, in an exchange or between two.
///
/// One timer serves a connection for its lifetime. Progress only stores the time; the timer is armed again when it fires
/// early, so that a busy connection does not touch the runtime's timers for every byte.
#[derive(Debug)]
pub(crate) struct IdleTimeout {
    timer: Pin<Box<Sleep>>,
    limit: Duration,
    progress: u64,
    last_progress: Instant,
}

impl IdleTimeout {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { timer: Box::pin(sleep(limit)), limit, progress: 0, last_progress: Instant::now() }
    }

    /// Starts a new wait with this limit.
    pub(crate) fn reset(&mut self, limit: Duration) {
        (self.limit, self.progress, self.last_progress) = (limit.min(MAX_LIMIT), 0, Instant::now());
        if self.deadline() < self.timer.deadline() {
            self.rearm();
        }
    }

    /// Ready when nothing has moved for the limit. `progress` counts what has moved so far. Poll this last: whatever can
    /// move must have moved before.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>, progress: u64) -> Poll<()> {
        if progress != self.progress {
            (self.progress, self.last_progress) = (progress, Instant::now());
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.deadline() <= Instant::now() {
                return Poll::Ready(());
            }
            self.rearm();
        }
    }

    fn deadline(&self) -> Instant {
        self.last_progress + self.limit
    }

    fn rearm(&mut self) {
        let deadline = self.deadline();
        self.timer.as_mut().reset(deadline);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::time::advance;

    use super::*;

    fn is_expired(idle: &mut IdleTimeout, progress: u64) -> bool {
        idle.poll_expired(&mut Context::from_waker(Waker::noop()), progress).is_ready()
    }

    #[tokio::test(start_paused = true)]
    async fn short_and_long_limits_alternate() {
        let mut idle = IdleTimeout::new(Duration::from_secs(600));
        for seconds in [600, 10, 600, 600, 3] {
            let limit = Duration::from_secs(seconds);
            idle.reset(limit);
            assert!(!is_expired(&mut idle, 0));
            advance(Duration::from_secs(1)).await;
            idle.reset(limit);
            advance(limit - Duration::from_millis(1)).await;
            assert!(!is_expired(&mut idle, 0), "{limit:?}");
            advance(Duration::from_millis(2)).await;
            assert!(is_expired(&mut idle, 0), "{limit:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn progress_postpones_the_timeout() {
        let mut idle = IdleTimeout::new(Duration::from_secs(10));
        for progress in 1..5 {
            advance(Duration::from_secs(9)).await;
            assert!(!is_expired(&mut idle, progress));
        }
        advance(Duration::from_secs(11)).await;
        assert!(is_expired(&mut idle, 4));
    }
}
