//! How long things are kept.

use std::time::Duration;

use serde::Serialize;

/// What to keep. Sessions go as a whole, the ones idle longest first; a paused or killed session, and one with an
/// open incident, stays whatever its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Retention {
    /// Sessions without an event for this long go.
    pub max_age: Duration,
    /// Above this many bytes the oldest sessions go.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(90 * 86_400), max_bytes: 2 << 30 }
    }
}

/// What one slice of cleaning up did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    pub sessions: u64,
    pub events: u64,
    /// Bytes given back to the disk.
    pub freed: u64,
    /// There is more to do; call again when writers have had their turn.
    pub more: bool,
}
