//! Where an agent works.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a driven agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// In a git worktree of the last commit. The directory must have no uncommitted changes.
    #[default]
    Worktree,
    /// In a git worktree that starts with the person's uncommitted changes.
    WorktreeWithChanges,
    /// In the directory itself, with or without git.
    InPlace,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown workspace `{0}`; use worktree, worktree_with_changes or in_place")]
pub struct UnknownWorkspace(String);

impl FromStr for WorkspaceMode {
    type Err = UnknownWorkspace;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "worktree" => Ok(Self::Worktree),
            "worktree_with_changes" => Ok(Self::WorktreeWithChanges),
            "in_place" => Ok(Self::InPlace),
            other => Err(UnknownWorkspace(other.to_owned())),
        }
    }
}
