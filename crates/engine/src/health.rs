//! Whether what is answered is also kept.

use belay_core::Timestamp;
use serde::Serialize;

/// How the engine is doing, for `belay status`, `belay doctor` and `/readyz`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Health {
    /// Why the store cannot be written; `None` when all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<StoreFault>,
    /// Events that wait in memory to be written.
    pub spooled: usize,
    /// Events that did not fit into memory and are lost to the log.
    pub dropped: u64,
}

/// Why the store cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreFault {
    /// Since when.
    pub since: Timestamp,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub hint: String,
}

impl Health {
    /// Everything answered is also kept.
    pub fn is_healthy(&self) -> bool {
        self.fault.is_none()
    }
}
