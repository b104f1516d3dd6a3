//! Tool calls, their results, and facts learned about them later.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Usage;
use super::wire_format::{ToolCalledWire, ToolReturnedWire};
use crate::action::{Action, Tool, ToolKind};
use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::outcome::{CallStatus, Outcome};

/// The agent requested a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ToolCalledWire")]
pub struct ToolCalled {
    /// The agent's tool call id; matches the result to the call and makes the event idempotent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Kind and native name.
    pub tool: Tool,
    /// Fingerprints of the input.
    pub action: Action,
    /// Redacted head and tail of the salient input: the command, path, pattern or hunk.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub input: Excerpt,
}

impl ToolCalled {
    /// The file that the call reads or writes, as the agent named it; `None` for commands and for several files.
    pub fn file(&self) -> Option<&str> {
        if !matches!(self.tool.kind, ToolKind::Read | ToolKind::Edit | ToolKind::Write) || self.action.target.is_none()
        {
            return None;
        }
        let input = self.input.as_str();
        let in_patch = |line| PATCH_FILE_MARKERS.iter().find_map(|marker| str::strip_prefix(line, marker));
        let file = input.lines().find_map(in_patch).or_else(|| input.lines().next())?.trim();
        (!file.is_empty() && file.len() <= MAX_FILE_BYTES && !file.starts_with('{')).then_some(file)
    }
}

/// Lines of a patch that name its file.
const PATCH_FILE_MARKERS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];

/// A longer first line is not a path.
const MAX_FILE_BYTES: usize = 512;

/// A tool returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ToolReturnedWire")]
pub struct ToolReturned {
    /// The call this result belongs to. Without it: the latest call without a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// For agents without call ids: fingerprint ([`Action::key`]) of the call this result belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Digest>,
    /// Status reported by the agent.
    pub status: CallStatus,
    /// Exit code of a command, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Facts from the complete output: digest, error family, failing tests.
    pub outcome: Outcome,
    /// Redacted head and tail of the output.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub output: Excerpt,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A fact about an earlier event that was not known at the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LateFact {
    /// The tool call in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Exit code of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The response the usage belongs to.
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
            // The usage of a response is the same fact whether it arrives with the response or later.
            (None, Some(response)) => ("answer:", Cow::Borrowed(response)),
            (None, None) => ("learned:", Cow::Borrowed("nothing")),
        }
    }
}
