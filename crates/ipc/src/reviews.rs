//! Filing review tasks and deciding about them.

use belay_core::task::WorkspaceMode;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Files a task: [`ReviewSummaryView`](crate::views::ReviewSummaryView).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileReviewRequest {
    /// The first line of the prompt by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to build.
    pub prompt: String,
    /// Absolute path of the project.
    #[serde(alias = "folder")]
    pub project_dir: String,
    /// `agent` or `agent@model`; `claude` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    /// `agent` or `agent@model` each.
    pub reviewers: Vec<String>,
    /// Decides disputes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// Approvals that suffice; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Commands that must succeed on the final tree.
    pub gates: Vec<String>,
    /// `review.rounds` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Longest duration of a round; `review.round_timeout` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_timeout_secs: Option<u64>,
    /// Millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// A worktree by default.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "workspace_mode")]
    pub workspace: Option<WorkspaceMode>,
    /// The environment of the shell that files the task. Only over the socket: the HTTP API ignores it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// An empty name, as a form sends it, is none.
fn workspace_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WorkspaceMode>, D::Error> {
    let name: Option<String> = Option::deserialize(deserializer)?;
    name.filter(|name| !name.is_empty()).map(|name| name.parse().map_err(D::Error::custom)).transpose()
}

/// Decides about a task: [`ReviewSummaryView`](crate::views::ReviewSummaryView).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecideReviewRequest {
    pub id: String,
    #[serde(flatten)]
    pub decision: ReviewDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person decides about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Stop: the agent's processes end, the workspace stays usable.
    Cancel,
    /// Try an ended task again where it ended, with more rounds or money if given.
    Resume {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_micros: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
    },
    /// Do not fix an issue.
    Waive { issue: String, why: String },
    /// A person's own verdict: done, or what to fix. Exactly one of the two.
    Answer {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        done: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<String>,
    },
    /// Keep the result as a branch and remove the worktree.
    Archive,
}

/// Merges or applies the result of a task: [`LandedView`](crate::views::LandedView).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandReviewRequest {
    pub id: String,
    /// Change the files of the project without a commit, instead of merging.
    #[serde(default)]
    pub apply: bool,
    /// Keep the commits of the agent, which nobody has reviewed one by one, in the history.
    #[serde(default)]
    pub keep_commits: bool,
    /// Land it although issues are open or nobody has approved it.
    #[serde(default)]
    pub unapproved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Lists tasks, newest first: [`ReviewsView`](crate::views::ReviewsView).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Skip this many.
    pub offset: usize,
    /// Only those that have not ended.
    pub active: bool,
}

/// One task: [`ReviewView`](crate::views::ReviewView) or null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRequest {
    pub id: String,
}

/// Pauses or resumes the queue: [`ReviewsView`](crate::views::ReviewsView).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseReviewsRequest {
    pub paused: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_workspace_is_the_default_one() {
        let workspace = |json: &str| {
            let request: serde_json::Result<FileReviewRequest> = serde_json::from_str(json);
            request.map(|request| request.workspace).map_err(|error| error.to_string())
        };
        for json in ["{}", r#"{"workspace":null}"#, r#"{"workspace":""}"#] {
            assert_eq!(workspace(json), Ok(None), "{json}");
        }
        assert_eq!(workspace(r#"{"workspace":"in_place"}"#), Ok(Some(WorkspaceMode::InPlace)));
        let error = workspace(r#"{"workspace":"moon"}"#).unwrap_err();
        assert!(error.contains("unknown workspace `moon`; use worktree"), "{error}");
    }
}
