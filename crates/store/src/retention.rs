//! Retention limits.

use std::time::Duration;

use serde::Serialize;

/// Limits on what the store retains. Whole sessions are deleted, those idle longest first. Paused and killed sessions
/// and sessions with an open incident are never deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Retention {
    /// Delete sessions that have had no event for this long.
    pub max_age: Duration,
    /// Delete the oldest sessions while the store, including its write-ahead log, is larger than this.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(90 * 86_400), max_bytes: 2 << 30 }
    }
}

/// The result of one pruning slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    pub sessions: u64,
    pub events: u64,
    /// Bytes returned to the file system.
    pub freed: u64,
    /// Whether there is more to delete. Call again after letting writers proceed.
    pub more: bool,
    /// Bytes in use after the slice, including the write-ahead log.
    pub used: u64,
}
