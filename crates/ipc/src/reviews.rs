//! Filing review tasks and deciding about them.

use belay_core::task::WorkspaceMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceMode>,
    /// The environment of the shell that files the task. Only over the socket: the HTTP API ignores it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
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
