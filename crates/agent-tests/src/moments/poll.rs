//! Waiting for what only another program knows.

use std::io;
use std::time::{Duration, Instant};

/// How often a condition is looked at. tmux does not tell when its screen changes, and a CLI does not tell when it has
/// written a file, so both are asked again.
const INTERVAL: Duration = Duration::from_millis(100);

/// Looks until `found` returns something; `None` after the timeout.
pub(super) fn until<T>(timeout: Duration, mut found: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(found) = found()? {
            return Ok(Some(found));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    }
}
