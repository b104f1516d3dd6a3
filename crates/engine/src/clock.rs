//! What time it is: asked here and nowhere deeper.

use std::time::{Duration, Instant, SystemTime};

use belay_core::Timestamp;

/// Where the engine gets its time from.
pub trait Clock: Send {
    /// The time of day (UTC); may jump.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment; never jumps.
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
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
