//! How long nothing may move.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Fires when a connection has been quiet for too long, in an exchange or between two. One timer serves a
/// connection for all its life: moving bytes only note the time, and a timer that fires too early is set again.
#[derive(Debug)]
pub(crate) struct Quiet {
    timer: Option<Pin<Box<Sleep>>>,
    limit: Duration,
    moved: Instant,
    progress: u64,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        Self { timer: None, limit: Duration::MAX, moved: Instant::now(), progress: 0 }
    }

    /// Something else begins that may be quiet for so long.
    pub(crate) fn begin(&mut self, limit: Duration) {
        (self.limit, self.moved, self.progress) = (limit, Instant::now(), 0);
        if self.timer.as_ref().is_some_and(|timer| timer.deadline() > self.moved + limit) {
            self.timer = None;
        }
    }

    /// Ready when nothing has moved for the whole limit; `progress` counts what has moved so far. To
    /// be polled after everything that could move has moved.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, progress: u64) -> Poll<()> {
        if progress != self.progress {
            (self.moved, self.progress) = (Instant::now(), progress);
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(self.moved + self.limit)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let due = self.moved + self.limit;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// How long it takes to fire, if nothing moves.
    async fn fires_after(quiet: &mut Quiet) -> Duration {
        let began = Instant::now();
        poll_fn(|cx| quiet.poll(cx, 0)).await;
        began.elapsed()
    }

    async fn is_quiet(quiet: &mut Quiet, progress: u64) -> bool {
        poll_fn(|cx| Poll::Ready(quiet.poll(cx, progress).is_ready())).await
    }

    #[tokio::test(start_paused = true)]
    async fn one_timer_serves_short_and_long_limits_in_turn() {
        let mut quiet = Quiet::new();
        for seconds in [600, 10, 600, 600, 3] {
            let limit = Duration::from_secs(seconds);
            quiet.begin(limit);
            assert!(!is_quiet(&mut quiet, 0).await, "the timer is set, and something else begins");
            tokio::time::advance(Duration::from_secs(1)).await;
            quiet.begin(limit);
            let fired = fires_after(&mut quiet).await;
            assert!((limit..limit + Duration::from_millis(10)).contains(&fired), "{fired:?} for {limit:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_moves_puts_it_off() {
        let mut quiet = Quiet::new();
        quiet.begin(Duration::from_secs(10));
        for progress in 1..5 {
            tokio::time::advance(Duration::from_secs(9)).await;
            assert!(!is_quiet(&mut quiet, progress).await);
        }
        tokio::time::advance(Duration::from_secs(11)).await;
        assert!(is_quiet(&mut quiet, 4).await);
    }
}
