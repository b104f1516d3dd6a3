//! Permission prompts of agents that a person can answer in Belay.

use belay_core::event::{Caller, PermissionAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::views::PendingApproval;

/// Parameters of [`Operation::Approvals`](crate::Operation::Approvals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalsRequest {}

/// Parameters of [`Operation::Answer`](crate::Operation::Answer).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The approval.
    pub id: String,
    pub answer: PermissionAnswer,
    /// [`PendingApproval::hash`] of what the person was shown, or at least its first 16 digits.
    pub hash: String,
    /// Why; the model reads it if the answer is a denial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The process that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Box<Caller>>,
}

/// Result of [`Operation::Answer`](crate::Operation::Answer).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerResponse {
    /// What was answered.
    pub approval: PendingApproval,
    pub answer: PermissionAnswer,
}

/// Parameters of [`Operation::AwaitAnswer`](crate::Operation::AwaitAnswer).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitAnswerRequest {
    /// The ticket.
    pub id: String,
}

/// Result of [`Operation::AwaitAnswer`](crate::Operation::AwaitAnswer).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitAnswerResponse {
    /// For the hook's standard output; empty if there is no answer, so that the agent continues as without Belay.
    pub stdout: String,
}
