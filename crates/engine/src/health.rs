//! Whether what is answered is also kept.

use belay_core::Time;
use serde::Serialize;

/// How the engine is doing, for `belay status`, `belay doctor` and `/readyz`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Health {
    /// Why the store cannot be written; `None` when all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Events that wait in memory to be written.
    pub spooled: usize,
    /// Events that did not fit into memory and are lost to the log.
    pub dropped: u64,
}

/// Why the store cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Since when.
    pub since: Time,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub hint: String,
}

impl Health {
    /// Everything answered is also kept.
    pub fn is_good(&self) -> bool {
        self.fault.is_none()
    }
}
