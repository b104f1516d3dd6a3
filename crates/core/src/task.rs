//! What all driven work has: amounts, results of gates, workspaces.

mod spend;
mod workspace_mode;

use serde::{Deserialize, Serialize};

pub use spend::Spend;
pub use workspace_mode::{UnknownWorkspace, WorkspaceMode};

/// The result of a gate, bound to the tree it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    pub command: String,
    pub tree: String,
    pub passed: bool,
    /// One line: what failed.
    pub summary: String,
}
