//! Question and answer between the hook process and whoever decides.

use belay_core::Timestamp;
use serde::{Deserialize, Serialize};

/// One hook call, as the hook process found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookRequest {
    /// Minted by the hook process; used on both ways.
    pub id: String,
    /// The agent, as the hook was installed: an id, an alias, or `plugin`.
    pub agent: String,
    /// The event's name, where the hook was installed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What the agent wrote.
    pub payload: String,
    /// When the hook process began.
    pub at: Timestamp,
    /// The hook's parent process: the agent, or a shell the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The hook runs in continuous integration: nobody is there to be notified.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ci: bool,
    /// Where the hook was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The key of the `belay run` the agent was started by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// What the hook process is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookResponse {
    /// For standard output; empty when there is nothing to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub say: String,
    /// A process to interrupt once that is said, because its hooks cannot stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<u32>,
    /// Why, for whoever reads what that process prints: interrupted, it may not get to say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
