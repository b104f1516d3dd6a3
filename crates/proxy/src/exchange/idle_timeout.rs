//! How long nothing may move.

use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::{Alarm, Clock};

/// Fires when a connection has been quiet for too long, in an exchange or between two.
#[derive(Debug)]
pub(crate) struct IdleTimeout {
    alarm: Alarm,
    limit: Duration,
    progress: u64,
}

impl IdleTimeout {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { alarm: clock.alarm(), limit: Duration::MAX, progress: 0 }
    }

    /// Something else begins that may be quiet for so long.
    pub(crate) fn reset(&mut self, limit: Duration) {
        (self.limit, self.progress) = (limit, 0);
        self.alarm.set(limit);
    }

    /// Ready when nothing has moved for the whole limit; `progress` counts what has moved so far. To
    /// be polled after everything that could move has moved.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>, progress: u64) -> Poll<()> {
        if progress != self.progress {
            self.progress = progress;
            self.alarm.set(self.limit);
        }
        self.alarm.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn is_quiet(quiet: &mut IdleTimeout, progress: u64) -> bool {
        quiet.poll_expired(&mut Context::from_waker(Waker::noop()), progress).is_ready()
    }

    #[test]
    fn short_and_long_limits_take_turns() {
        let clock = Clock::standing();
        let mut quiet = IdleTimeout::new(&clock);
        for seconds in [600, 10, 600, 600, 3] {
            let limit = Duration::from_secs(seconds);
            quiet.reset(limit);
            assert!(!is_quiet(&mut quiet, 0));
            clock.advance(Duration::from_secs(1));
            // Something else begins.
            quiet.reset(limit);
            clock.advance(limit - Duration::from_millis(1));
            assert!(!is_quiet(&mut quiet, 0), "{limit:?}");
            clock.advance(Duration::from_millis(1));
            assert!(is_quiet(&mut quiet, 0), "{limit:?}");
        }
    }

    #[test]
    fn whatever_moves_puts_it_off() {
        let clock = Clock::standing();
        let mut quiet = IdleTimeout::new(&clock);
        quiet.reset(Duration::from_secs(10));
        for progress in 1..5 {
            clock.advance(Duration::from_secs(9));
            assert!(!is_quiet(&mut quiet, progress));
        }
        clock.advance(Duration::from_secs(11));
        assert!(is_quiet(&mut quiet, 4));
    }
}
