//! The computer's clocks. `core` has none: time reaches it in events, which the other crates stamp with [`now`].

use std::time::{Duration, Instant, SystemTime};

use belay_core::Timestamp;

/// The current time (UTC).
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// A source of time that tests can replace.
pub trait Clock: Send {
    /// The current time (UTC); may jump.
    fn now(&self) -> Timestamp;
    /// Time since a fixed moment; never jumps.
    fn elapsed(&self) -> Duration;
}

/// The computer's clocks.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
