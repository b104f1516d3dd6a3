//! What can happen in a session.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use super::wire::{ToolCalledWire, ToolReturnedWire};
use crate::action::{Action, Tool};
use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::key::SessionKey;
use crate::outcome::{Outcome, Status};
use crate::time::Time;

/// The kinds of events. `kind` names the variant on the wire; the other fields stand beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A conversation began or was taken up again.
    SessionStarted(SessionStarted),
    /// A conversation ended. A paused or killed session stays so.
    SessionEnded(SessionEnded),
    /// Somebody told the agent what to do.
    Prompt(Prompt),
    /// The agent asks for a tool, before it runs.
    ToolCalled(ToolCalled),
    /// A tool answered, failed, was refused, or goes on in the background.
    ToolReturned(ToolReturned),
    /// A fact about an earlier call or answer that was not known when it was told.
    Learned(Learned),
    /// A file's content changed.
    FileChanged(FileChanged),
    /// A test, build or lint run began or ended.
    CheckRan(CheckRan),
    /// A commit was made.
    Committed(Committed),
    /// A model request left the agent.
    ModelAsked(ModelAsked),
    /// A model answered.
    ModelAnswered(ModelAnswered),
    /// A model call failed for a reason outside the agent: outage, overload, refusal.
    ModelFailed(ModelFailed),
    /// A usage limit was hit.
    LimitHit(LimitHit),
    /// The agent's turn ended (it stopped by itself).
    TurnEnded(TurnEnded),
    /// The agent declares that it waits.
    Waiting(Waiting),
    /// A declared wait is over.
    WaitEnded(WaitEnded),
    /// The agent asks a person for permission.
    PermissionAsked(PermissionAsked),
    /// The conversation was condensed; the agent forgets, we do not.
    Compacted(Compacted),
    /// A sub-agent was started by this session.
    SubAgentStarted(SubAgent),
    /// A sub-agent of this session ended.
    SubAgentEnded(SubAgent),
    /// A named task began, moved or was completed.
    Task(Task),
    /// Something worth keeping, without meaning for detection.
    Note(Note),
    /// A person's decision.
    Operator(Operator),
    /// An intervention reached the agent (there is proof).
    Delivered(Delivered),
    /// Time passes. Sent by the resident process to sessions that may stall.
    Tick,
}

impl Body {
    /// The variant's name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted(_) => "session_started",
            Self::SessionEnded(_) => "session_ended",
            Self::Prompt(_) => "prompt",
            Self::ToolCalled(_) => "tool_called",
            Self::ToolReturned(_) => "tool_returned",
            Self::Learned(_) => "learned",
            Self::FileChanged(_) => "file_changed",
            Self::CheckRan(_) => "check_ran",
            Self::Committed(_) => "committed",
            Self::ModelAsked(_) => "model_asked",
            Self::ModelAnswered(_) => "model_answered",
            Self::ModelFailed(_) => "model_failed",
            Self::LimitHit(_) => "limit_hit",
            Self::TurnEnded(_) => "turn_ended",
            Self::Waiting(_) => "waiting",
            Self::WaitEnded(_) => "wait_ended",
            Self::PermissionAsked(_) => "permission_asked",
            Self::Compacted(_) => "compacted",
            Self::SubAgentStarted(_) => "sub_agent_started",
            Self::SubAgentEnded(_) => "sub_agent_ended",
            Self::Task(_) => "task",
            Self::Note(_) => "note",
            Self::Operator(_) => "operator",
            Self::Delivered(_) => "delivered",
            Self::Tick => "tick",
        }
    }

    /// Identity by the agent's own ids; `None` where the event id must do.
    pub(super) fn native_identity(&self) -> Option<String> {
        match self {
            Self::ToolCalled(call) => call.call.as_ref().map(|id| format!("call:{id}")),
            Self::ToolReturned(result) => result.call.as_ref().map(|id| format!("result:{id}")),
            Self::Learned(fact) => Some(fact.identity()),
            Self::ModelAsked(ask) => ask.request.as_ref().map(|id| format!("ask:{id}")),
            Self::ModelAnswered(answer) => answer.response.as_ref().map(|id| format!("answer:{id}")),
            Self::Committed(commit) => Some(format!("commit:{}", commit.sha)),
            Self::SubAgentStarted(sub) => Some(format!("sub-start:{}", sub.child)),
            _ => None,
        }
    }
}

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
    pub status: Status,
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
pub struct Learned {
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

impl Learned {
    fn identity(&self) -> String {
        match (&self.call, &self.response) {
            (Some(call), _) => format!("learned-exit:{call}"),
            // Usage of an answer is the same fact whether it came with the answer or after it.
            (None, Some(response)) => format!("answer:{response}"),
            (None, None) => "learned:nothing".to_owned(),
        }
    }
}

/// A file's content changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    /// Path as the agent or watcher names it.
    pub path: String,
    /// Created, modified, deleted or moved.
    #[serde(default)]
    pub change: ChangeKind,
    /// Digest of the content before, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of the content after; `None` for a deletion or when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// Lines added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// Tool call that did it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    #[default]
    Modified,
    Deleted,
    Moved,
}

/// A test, build or lint run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRan {
    /// Test, build or lint.
    pub check: CheckKind,
    /// `None` while it runs; then whether it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The command, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub command: Excerpt,
    /// How many passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// How many failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// Names of what failed (bounded by the reader to 64).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failing: BTreeSet<String>,
    /// Digest of the normalised failure text, so that a changed failure of the same test shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// Tool call that ran it, when known: then the call's own outcome says the same and this adds detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    Test,
    Build,
    Lint,
}

/// A commit was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Committed {
    /// Commit id.
    pub sha: String,
    /// Files in it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
}

/// A model request left the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAsked {
    /// Request id, when the agent sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Model asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Title, token counting and the like: not a turn.
    pub auxiliary: bool,
    /// Sketch of what is new in this request, for sensors that see no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<TextSketch>,
    /// Size of the request body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Digest of the credential it was sent with: budgets per account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Digest>,
    /// A changed plan the agent names (asked for by a conditional resume).
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub plan: Excerpt,
}

/// A model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAnswered {
    /// Response id; usage repeated under one id counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Request it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why it stopped, as the API says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Cost in millionths of a US dollar, when the sensor knows it; else priced from the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// How many tool calls it asked for; `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// Sketch of the text it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<TextSketch>,
    /// Redacted beginning and end of the text it said.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
    /// The text degenerated into repetition (found while streaming or afterwards).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chanting: bool,
    /// Title, token counting and the like: not a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auxiliary: bool,
}

/// Tokens of one model answer. Input does not include what was read from or written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Fresh input tokens.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// What the model had before it: the fill of its window.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Enough of a text to compare it with another: a digest of its normalised form and a simhash of
/// its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextSketch {
    /// Equal for texts that differ only in volatile parts.
    pub digest: Digest,
    /// Close (by Hamming distance) for similar texts.
    pub simhash: Digest,
    /// Length of the text in bytes.
    pub len: u32,
}

/// A model call failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelFailed {
    /// HTTP status, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Redacted message.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub message: Excerpt,
    /// When the provider said to come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
}

/// A usage limit was hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitHit {
    /// Which limit, in the provider's words.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
    /// When it resets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Time>,
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
    pub said: Option<TextSketch>,
    /// The turn ended because the model call failed.
    pub failed: bool,
}

/// The agent declares that it waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waiting {
    /// Until when, at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
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
pub struct PermissionAsked {
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

/// A sub-agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubAgent {
    /// The child's session.
    pub child: SessionKey,
    /// Its type or role, when named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// A named task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Began, moved or completed.
    pub phase: TaskPhase,
    /// What it is, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    Started,
    Progress,
    Completed,
}

/// Something worth keeping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Note {
    /// The text, redacted.
    pub text: Excerpt,
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operator {
    /// What was decided.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub note: Excerpt,
    /// Who (a user name), when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person can decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum OperatorDecision {
    /// Hold the session.
    Pause,
    /// Let it go on.
    Resume {
        /// Only after this many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_secs: Option<u64>,
        /// The changed plan, named by the operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Excerpt>,
        /// The agent must name a changed plan before it goes on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        require_plan: bool,
        /// Also forget the evidence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reset: bool,
    },
    /// Seen; stays paused.
    Acknowledge,
    /// Stop it for good. A resume does not lift it.
    Kill,
    /// Forget the evidence, not the log.
    Reset,
    /// Take it out of sight.
    Archive,
    /// "This is fine": the pair of action and outcome of a finding never counts again here.
    Allow {
        /// The finding.
        finding: String,
    },
    /// Set or raise a budget of this session.
    Budget {
        /// Tokens, all kinds together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Millionths of a US dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_micros: Option<u64>,
    },
    /// A remark in the session's record.
    Note,
}

/// An intervention reached the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivered {
    /// The finding it answers.
    pub finding: String,
    /// Through which channel (hook, proxy, pane, signal).
    pub channel: Source,
}
