//! What work waits for. Whether it has happened, `belay_tasks::wait` finds out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Why nothing of a task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Awaited {
    Time {
        at: Timestamp,
    },
    /// A file that does not exist yet.
    File {
        path: String,
    },
    /// A shell command that does not succeed yet. Only who declared it may run it.
    Command {
        command: String,
        dir: String,
    },
    /// A process that has not exited yet.
    Process {
        pid: u32,
        /// When it started, as the system counts: a process id is used again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<u64>,
    },
    /// A usage limit of the account.
    Limit {
        account: String,
        until: Timestamp,
    },
    /// Another task works in the same directory.
    Lock {
        holder: String,
    },
    /// Belay or a person paused the agent's session.
    Pause {
        session: String,
        reason: String,
    },
}
