//! What work waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Why nothing of a task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Awaited {
    /// A usage limit of the account.
    Limit { account: String, until: Timestamp },
    /// Another task works in the same directory.
    Lock { holder: String },
    /// Belay or a person paused the agent's session.
    Pause { session: String, reason: String },
}
