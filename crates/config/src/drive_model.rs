//! Configuration of driven agents: `[drive]`, `[agents]` and `[review]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::DurationSetting;

/// What driven agents start with: reviews, and later goals and fleets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveConfig {
    /// Environment variables of driven agents, added to those of the shell that files the work.
    pub env: BTreeMap<String, String>,
    /// Files of the project that git ignores and a new worktree needs, such as `.env`.
    pub copy: Vec<String>,
    /// Commands that prepare a new worktree, such as `npm ci`.
    pub setup: Vec<String>,
    /// Driven runs of one account at a time.
    pub runs_per_account: u32,
}

/// One agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Path of the agent's program; empty to find it in PATH.
    #[serde(default)]
    pub program: String,
}

/// Review loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewConfig {
    /// Most rounds of a task.
    pub rounds: u32,
    /// Longest duration of a round. The step that exceeds it is tried once more, with the full time.
    pub round_timeout: DurationSetting,
    /// Tasks that may wait; more are refused.
    pub queue_depth: u32,
    /// Tasks that run at once.
    pub workers: u32,
    /// Directory of prompts, outputs and diffs; empty for the directory of the task in the state directory.
    pub artifacts_dir: String,
    /// Directories in which the dashboard and the HTTP API may file tasks; empty for the projects that Belay has seen.
    pub roots: Vec<String>,
    /// Agent that builds.
    pub builder: String,
    /// Agents that review.
    pub reviewers: Vec<String>,
}
