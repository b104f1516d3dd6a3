//! What happens to the conversation itself: beginning, end, prompts, turns, waits, sub-agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TextFingerprint;
use crate::effect::Spend;
use crate::excerpt::Excerpt;
use crate::key::SessionKey;
use crate::time::Timestamp;

/// A conversation began or was taken up again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionStarted {
    /// Fresh, resumed, forked, cleared, or begun again after compaction.
    pub how: StartKind,
    /// Model in use, as the agent names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Version of the agent CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Repository or folder the work belongs to; tombstones are scoped to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Branch checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Task name or id, if the user gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agent's session file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Process id of the agent, for a last-resort interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// How a conversation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    #[default]
    New,
    Resumed,
    Forked,
    Cleared,
    Compacted,
}

/// A conversation ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionEnded {
    /// The agent's word for why (exit, logout, error, ...).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Exit status of the agent process, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// Somebody told the agent what to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Prompt {
    /// Who: only a person's turn resets what a person's turn should reset.
    pub by: Author,
    /// Redacted beginning and end of the text.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
}

/// Who wrote a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    #[default]
    Person,
    /// A hook, a goal feature or a harness that makes the agent continue.
    Continuation,
    /// Another agent (the parent of a sub-agent).
    Agent,
    /// A schedule, a notification of the agent itself.
    System,
}

/// The agent's turn ended by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TurnEnded {
    /// Last words, redacted.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
    /// Sketch of the last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<TextFingerprint>,
    /// The turn ended because the model call failed.
    pub failed: bool,
}

/// The agent declares that it waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waiting {
    /// Until when, at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// For what: a file, a command, a process, a person.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// A declared wait is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WaitEnded {
    /// Whether what it waited for came true (else the ceiling was reached).
    pub met: bool,
}

/// The agent asks a person for permission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionRequested {
    /// Tool call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What is asked, redacted.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// The conversation was condensed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compacted {
    /// By the agent itself rather than by a person's command.
    pub automatic: bool,
    /// Tokens in the window before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// What sub-agents have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubAgentSpend {
    /// All of them together, theirs included, since the session began.
    pub beneath: Spend,
}

/// What several sessions have cost together on one day, this one included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SharedSpend {
    /// Days since 1970 (UTC).
    pub day: i64,
    /// All sessions of the project.
    pub project: TokenCost,
    /// All sessions that the same account pays for.
    pub account: TokenCost,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenCost {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubAgent {
    /// The child's session.
    pub child: SessionKey,
    /// Its type or role, when named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}
