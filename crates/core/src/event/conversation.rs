//! Events about the conversation itself: start, end, prompts, turns, waits, sub-agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TextFingerprint;
use crate::effect::Spend;
use crate::excerpt::Excerpt;
use crate::key::SessionKey;
use crate::time::Timestamp;
use crate::wait::Awaited;

/// A conversation started or was resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionStarted {
    /// New, resumed, forked, cleared, or restarted after compaction.
    pub how: StartKind,
    /// Model in use, as the agent names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Version of the agent CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Repository or directory of the work; tombstones are scoped to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Task name or id, if the user set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Path of the agent's session file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Process id of the agent, for a last-resort interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// How a conversation started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    #[default]
    New,
    Resumed,
    Forked,
    Cleared,
    Compacted,
    /// Belay started the program. The agent itself has not reported anything yet.
    Launched,
}

/// A conversation ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionEnded {
    /// The agent's reason (exit, logout, error, ...).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Exit code of the agent process, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// A prompt to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Prompt {
    /// The author. Only a person's prompt resets the evidence.
    pub by: Author,
    /// Redacted head and tail of the text.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
}

/// How a text begins that a driver has sent to an agent. The text may reach the agent in ways that look like a person's
/// typing, and a person's prompt would reset the evidence. A denial begins with another prefix, because it is read in the
/// output of tools.
pub const DRIVER_TEXT_PREFIX: &str = "[Belay message ";

impl Prompt {
    /// The text of a driver never counts as a person's, whatever the agent reports. Agents indent it, or quote the feedback
    /// of a hook.
    pub(super) fn correct_author(&mut self) {
        let text = self.text.as_str().trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '-'));
        if self.by == Author::Person && text.starts_with(DRIVER_TEXT_PREFIX) {
            self.by = Author::Continuation;
        }
    }
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
    /// A schedule or a notification of the agent itself.
    System,
}

/// The agent ended its turn by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TurnEnded {
    /// The final message, redacted.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
    /// Fingerprint of the final message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<TextFingerprint>,
    /// The turn ended because the model call failed.
    pub failed: bool,
    /// A person interrupted the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// The agent declared a wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waiting {
    /// Latest end of the wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What it waits for: a file, a command, a process, a person.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
    /// The conditions, all of which must be met; empty if only the text is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<Awaited>,
}

/// A declared wait ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WaitEnded {
    /// Whether the condition was met; `false` if the wait timed out.
    pub met: bool,
}

/// The agent asked a person for permission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionRequested {
    /// The tool call in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The request, redacted.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
    /// What the person is asked for.
    #[serde(skip_serializing_if = "PermissionSubject::is_tool")]
    pub subject: PermissionSubject,
}

/// A person answered a request, in the agent's own terminal or elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionAnswered {
    /// The tool call in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether it may run.
    pub allowed: bool,
}

/// An offer to answer a permission prompt in Belay ended without an answer here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApprovalEnded {
    /// Id of the prompt.
    pub approval: String,
    pub how: ApprovalEnding,
    /// The command or input in question.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// How an offer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalEnding {
    /// Nobody answered in time, so the agent's terminal asks.
    #[default]
    TimedOut,
    /// A person answered in the agent's terminal.
    AnsweredElsewhere,
    /// The agent no longer waits for an answer here.
    Abandoned,
    /// The session was paused or killed before an answer that allows the call was delivered.
    SessionHeld,
}

impl ApprovalEnding {
    /// What happened, as the end of a sentence about the prompt.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::TimedOut => "nobody answered in time, so the agent's terminal asks",
            Self::AnsweredElsewhere => "it was answered elsewhere, in the agent's terminal",
            Self::Abandoned => "the agent no longer waits for an answer here",
            Self::SessionHeld => "its session was held before the answer was delivered",
        }
    }
}

/// What an agent asks a person for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionSubject {
    /// To run a tool.
    #[default]
    Tool,
    /// To answer a question.
    Question,
    /// To approve a plan.
    Plan,
    /// To answer a dialog of the agent itself: login, trust, update.
    Dialog,
}

impl PermissionSubject {
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

/// The agent compacted the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compacted {
    /// Triggered by the agent rather than by a person's command.
    pub automatic: bool,
    /// Tokens in the context window before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// Total cost of a session's sub-agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubAgentSpend {
    /// Sum over all descendants since the session started.
    pub beneath: Spend,
}

/// Combined cost of several sessions on one day, including this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SharedSpend {
    /// Days since 1970 (UTC).
    pub day: i64,
    /// All sessions of the project.
    pub project: TokenCost,
    /// All sessions of the same account.
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
    /// Its type or role, if named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}
