//! Counters since the engine was made.

use serde::Serialize;

/// What the engine has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Events taken, duplicates aside.
    pub events: u64,
    /// Events that had been seen before.
    pub duplicates: u64,
    /// Batches handed in.
    pub batches: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions done again with full sync because a session was paused or killed.
    pub redone: u64,
    /// Sessions loaded from the store.
    pub loads: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// Times the store failed.
    pub faults: u64,
    /// Events decided in memory because the store failed.
    pub unsaved: u64,
    /// Events whose time was set right.
    pub retimed: u64,
}
