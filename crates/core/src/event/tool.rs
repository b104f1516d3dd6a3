//! Tool calls, their results, and what was learned of them later.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Usage;
use super::wire_format::{ToolCalledWire, ToolReturnedWire};
use crate::action::{Action, Tool};
use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::outcome::{CallStatus, Outcome};

/// The agent asks for a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ToolCalledWire")]
pub struct ToolCalled {
    /// The agent's tool call id; ties the result to the call and makes the event idempotent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Kind and native name.
    pub tool: Tool,
    /// What the call does: fingerprints of the input.
    pub action: Action,
    /// Redacted beginning and end of the input's salient part (the command, path, pattern, hunk).
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub input: Excerpt,
}

/// A tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ToolReturnedWire")]
pub struct ToolReturned {
    /// The call this answers. Without it: the latest call that still waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// For agents that give their calls no id: fingerprint ([`Action::key`]) of the call this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Digest>,
    /// How it ended, as the agent says.
    pub status: CallStatus,
    /// Exit code of a command, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Facts drawn from the whole output: digest, error family, failing set.
    pub outcome: Outcome,
    /// Redacted beginning and end of the output.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub output: Excerpt,
    /// How long it ran, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A fact about an earlier event that was not known when it was told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LateFact {
    /// Tool call the fact is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Exit code of that call's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Response the usage is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Tokens of that response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Model of that response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl LateFact {
    pub(super) fn identity(&self) -> (&'static str, Cow<'_, str>) {
        match (&self.call, &self.response) {
            (Some(call), _) => ("learned-exit:", Cow::Borrowed(call)),
            // Usage of an answer is the same fact whether it came with the answer or after it.
            (None, Some(response)) => ("answer:", Cow::Borrowed(response)),
            (None, None) => ("learned:", Cow::Borrowed("nothing")),
        }
    }
}
