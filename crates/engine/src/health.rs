//! Health and counters of the engine.

use belay_core::Timestamp;
use serde::Serialize;

/// Health of the engine, for `belay status`, `belay doctor` and `/readyz`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Health {
    /// The current store fault, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<StoreFault>,
    /// Events in memory that are not yet written.
    pub spooled: usize,
    /// Events since the start that did not fit into the spool and are missing from the log.
    pub dropped: u64,
}

/// Why the store cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreFault {
    pub since: Timestamp,
    pub problem: String,
    /// What the user can do about it.
    pub hint: String,
}

impl Health {
    /// Whether every outcome is also stored.
    pub fn is_healthy(&self) -> bool {
        self.fault.is_none()
    }
}

/// Counters since the engine was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Events recorded, excluding duplicates.
    pub events: u64,
    /// Duplicate events.
    pub duplicates: u64,
    /// Batches submitted.
    pub batches: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions repeated with full sync because a session was paused or killed.
    pub redone: u64,
    /// Sessions loaded from the store.
    pub loads: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// Store failures.
    pub faults: u64,
    /// Events decided in memory because the store had failed.
    pub unsaved: u64,
    /// Events that did not fit into the spool during earlier faults.
    pub dropped: u64,
    /// Events whose timestamp was in the future and was replaced.
    pub retimed: u64,
}
