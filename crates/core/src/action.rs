//! What a tool call does: fingerprints free of volatile parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

/// A tool as the agent names it, and what kind of thing it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// What it does, in our words.
    pub kind: ToolKind,
    /// The agent's own name for it.
    pub name: String,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Runs a command.
    Shell,
    /// Looks at a file or folder.
    Read,
    /// Changes part of a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Searches files or the web.
    Search,
    /// Fetches a page or resource.
    Fetch,
    /// Starts or talks to another agent.
    SubAgent,
    /// A tool of an MCP server.
    Mcp,
    /// Keeps a plan or a thought; its answer is an acknowledgement.
    Plan,
    /// Asks how something that runs is doing, or waits for it.
    Poll,
    /// Claims that the work is done.
    Finish,
    /// Asks a person.
    Ask,
    #[default]
    Other,
}

/// Fingerprints of one tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Action {
    /// Equal when the same thing is asked for again, volatile parts aside.
    pub key: Digest,
    /// Equal when the same is asked of the same target with other words (coarser than `key`).
    pub shape: Digest,
}

/// Kind of a tool nobody told us about, from its name and the shape of its input.
pub fn classify(_name: &str, _input: &Value) -> ToolKind {
    ToolKind::Other
}

impl Action {
    /// Fingerprints of an input, and its salient part as text.
    pub fn of(_kind: ToolKind, name: &str, input: &Value) -> (Self, String) {
        let text = input.to_string();
        (Self { key: Digest::of_parts([name.as_bytes(), text.as_bytes()]), shape: Digest::of(name) }, text)
    }
}
