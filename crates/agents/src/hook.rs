//! Hooks: parsing the payload of a hook call and encoding the reply.
//!
//! A [`HookProtocol`] parses one payload into a [`ParsedHook`]: events and the [`HookPoint`] at which the hook fired.
//! Later it encodes a [`HookReply`] in the agent's own format. What a reply can do depends on the hook point: a pending
//! call can be denied, a finished one can only be commented on. A protocol emits only what its agent accepts at that
//! point.
//!
//! Payloads are untrusted input. A payload that cannot be parsed yields an empty [`ParsedHook`] and no reply: missing an
//! event is better than denying a call by accident.

mod claude_compatible;
mod condense;
mod edited_files;
mod encoder;
pub(crate) mod event_builder;
mod payload;

use std::fmt;
use std::path::PathBuf;

use belay_core::event::{Body, SessionStarted, StartKind, ToolCalled, TurnEnded};
use belay_core::{Digest, Event, SessionKey, Timestamp, ToolKind, Verdict};
use serde_json::Value;

use crate::registry::UserDirs;
use crate::spec::AgentSpec;
use crate::transcript::TranscriptFormat;

pub(crate) use claude_compatible::{CallEnding, Capabilities, ClaudeCompatible, start_kind};
pub use condense::{EndScanner, condense};
pub use edited_files::EditedFile;
use edited_files::edited_files;
pub use encoder::HookEncoder;
pub(crate) use payload::{HookPayload, bounded_name, is_id, text_of};

/// The payloads and replies of one agent's hooks.
pub trait HookProtocol: Sync + fmt::Debug {
    /// Parses one payload; `None` if the event is unknown or the payload invalid.
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook>;

    /// Encodes a reply in the agent's format; `None` if no output is needed.
    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value>;

    /// Parses one payload; empty if it cannot be parsed.
    fn parse_or_default(&self, hook: &HookInput<'_>) -> ParsedHook {
        self.parse(hook).unwrap_or_default()
    }

    /// Encodes a reply as the hook's standard output; empty if no output is needed.
    fn encode_bytes(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Vec<u8> {
        self.encode(parsed, reply).map(|reply| reply.to_string().into_bytes()).unwrap_or_default()
    }

    /// Format of the session file that supplements the hooks, for example with token usage. `None` if hooks report
    /// everything, or if the file has other ids for the same facts.
    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        None
    }

    /// Whether that file names responses by the ids of the model's API, as the proxy does. Without a common id, the
    /// proxy's report of a response counts, and that of the file only if there is no proxy.
    fn has_api_response_ids(&self) -> bool {
        true
    }

    /// Path of that file, for hooks that do not report it.
    fn session_file(&self, _dirs: &UserDirs, _session: &SessionKey) -> Option<PathBuf> {
        None
    }

    /// Call id and exit code of a finished command, from a line of that file, for hooks that do not report exit codes.
    fn exit_code(&self, _line: &str) -> Option<(String, i32)> {
        None
    }

    /// Whether the last response of a turn may reach that file after the hook at the end of the turn.
    fn writes_file_late(&self) -> bool {
        false
    }

    /// What a line of that file tells about the turn and no hook reports: a person interrupted it, or answered a
    /// request in the terminal.
    fn unreported(&self, _line: &str) -> Option<Unreported> {
        None
    }

    /// The headless process to interrupt in addition to the reply, for agents that no reply stops.
    fn interrupt(&self, _parsed: &ParsedHook, _reply: &HookReply<'_>) -> Option<AgentProcess> {
        None
    }

    /// The headless process that does not print the reason of this reply.
    fn hides_reason(&self, _parsed: &ParsedHook, _reply: &HookReply<'_>) -> Option<AgentProcess> {
        None
    }

    /// Encodes a person's answer to a permission prompt. `event` is [`ParsedHook::event`]. `None` if the agent takes none.
    fn encode_permission(&self, _event: &'static str, _reply: PermissionReply<'_>) -> Option<Value> {
        None
    }

    /// Whether the hook of an interactive agent waits while the session is held, because no reply ends the turn.
    fn waits_while_held(&self, _parsed: &ParsedHook, _reply: &HookReply<'_>) -> bool {
        false
    }
}

/// A fact from a line of the session file.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreported {
    pub at: Timestamp,
    pub body: Body,
}

impl Unreported {
    /// A person interrupted the turn.
    pub(crate) fn interrupted(line: &Value) -> Self {
        Self::new(line, Body::TurnEnded(TurnEnded { interrupted: true, ..TurnEnded::default() }))
    }

    /// The conversation has been compacted.
    pub(crate) fn compacted(line: &Value) -> Self {
        let how = StartKind::Compacted;
        Self::new(line, Body::SessionStarted(SessionStarted { how, ..SessionStarted::default() }))
    }

    pub(crate) fn new(line: &Value, body: Body) -> Self {
        let at = line.get("timestamp").and_then(Value::as_str).and_then(Timestamp::parse);
        Self { at: at.unwrap_or(Timestamp::UNKNOWN), body }
    }
}

/// How to find a running agent in a process list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentProcess {
    /// Name of the process, or of the script that it runs.
    pub name: &'static str,
    /// Arguments of which every headless run has one.
    pub headless: &'static [&'static str],
}

/// One hook call.
#[derive(Clone, Copy, Debug)]
pub struct HookInput<'a> {
    /// Generated by the hook process; event ids derive from it.
    pub id: &'a str,
    /// Name of the event, if the hook was installed with it. Some payloads do not name their event.
    pub event: Option<&'a str>,
    /// The hook's standard input.
    pub payload: &'a [u8],
    /// Time of receipt, used if the payload has no timestamp.
    pub at: Timestamp,
    /// Exit code of the reported command, if another source supplied it.
    pub exit_code: Option<i32>,
}

/// The point in an agent's life at which a hook fires. It determines which replies are possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HookPoint {
    /// A session starts: context can be added.
    SessionStart,
    /// A prompt was submitted: it can be blocked, or context added.
    Prompt,
    /// A model request is about to be sent.
    BeforeModel,
    /// A tool is about to run.
    BeforeTool,
    /// The agent asks for permission to run a tool.
    Permission,
    /// A tool has run: context can be added to its result.
    AfterTool,
    /// All tool calls of one model response have finished.
    AfterBatch,
    /// The agent ends its turn.
    TurnEnd,
    /// The session ends: the model reads no more replies.
    SessionEnd,
    /// The agent ignores the reply.
    #[default]
    Informational,
}

/// A parsed hook call.
#[derive(Clone, Debug, Default)]
pub struct ParsedHook {
    /// Where the hook fired.
    pub point: HookPoint,
    /// The agent's name of the event, which some replies must repeat.
    pub event: &'static str,
    /// The session; without one there is nothing to record or reply.
    pub session: Option<SessionKey>,
    /// The reported events, in order.
    pub events: Vec<Event>,
    /// Files that a tool is about to change, or has just changed, for content snapshots.
    pub edited: Vec<EditedFile>,
    /// Path of the agent's session file, if reported.
    pub transcript: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// Kind of the reported tool.
    pub tool: Option<ToolKind>,
    /// The call that a person is asked to permit, if the reply can answer for the person.
    pub permission: Option<PermissionPrompt>,
}

/// A call that a person is asked to permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPrompt {
    /// The agent's name of the tool.
    pub tool: String,
    /// The exact command or input.
    pub text: String,
    /// Fingerprint of the call, because some prompts do not name it.
    pub key: Digest,
    /// The call, if the prompt names it.
    pub call: Option<String>,
}

impl PermissionPrompt {
    /// The prompt for a call with this `input`, as the payload has it. `None` if a person could not be shown all of it.
    /// `is_comment` tells whether the description of a command has no effect.
    pub(crate) fn new(
        tool: &str,
        kind: Option<ToolKind>,
        input: &Value,
        call: Option<String>,
        is_comment: fn(&str) -> bool,
    ) -> Option<Self> {
        let text = exact_input(kind, input, is_comment)?;
        if tool.len() > MAX_TOOL_BYTES || condense::may_lack_parts(&text) || condense::may_lack_parts(tool) {
            return None;
        }
        let key = ToolCalled::new(None, kind, tool, &payload::parsed_input(input)).action.key;
        Some(Self { tool: tool.to_owned(), text, key, call })
    }
}

/// A longer name of a tool does not fit next to its input.
const MAX_TOOL_BYTES: usize = 256;

/// The command of a shell if nothing else takes effect, otherwise the input as JSON. A string stays as it is: parsed, it
/// could lose a repeated field.
fn exact_input(kind: Option<ToolKind>, input: &Value, is_comment: fn(&str) -> bool) -> Option<String> {
    let has_no_effect = |(name, value): (&String, &Value)| match name.as_str() {
        "command" => true,
        "description" => value.as_str().is_some_and(is_comment),
        "timeout" => value.is_number(),
        _ => false,
    };
    match (input, input.get("command")) {
        (Value::Object(fields), Some(Value::String(command)))
            if kind == Some(ToolKind::Shell) && fields.iter().all(has_no_effect) =>
        {
            Some(command.clone())
        }
        (Value::String(text), _) => Some(text.clone()),
        (Value::Object(_) | Value::Array(_), _) => serde_json::to_string_pretty(input).ok(),
        // Nothing tells what the call would do.
        _ => None,
    }
}

/// What a permission prompt is about: the command, or the tool and its input.
pub(crate) fn asked_text(tool: &str, input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => format!("{tool}: {}", text_of(input)),
    }
}

/// A person's answer to a permission prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionReply<'a> {
    /// This call, once.
    Allow,
    /// Not this call; the model reads the reason.
    Deny(&'a str),
}

/// The reply to a hook call.
#[derive(Clone, Copy, Debug)]
pub struct HookReply<'a> {
    /// Whether the agent may continue.
    pub verdict: &'a Verdict,
    /// Text for the model, if the hook point supports it.
    pub context: Option<&'a str>,
    /// Text for the person, if the hook point supports it.
    pub person: Option<&'a str>,
    /// Text with which the agent continues instead of ending its turn, if its [`HookSpec`](crate::spec::HookSpec) says
    /// that it does.
    pub continuation: Option<&'a str>,
}

impl HookReply<'static> {
    /// Lets the agent continue without a message.
    pub const ALLOW: Self = Self { verdict: &Verdict::Go, context: None, person: None, continuation: None };
}

impl HookReply<'_> {
    /// Why the session is held, if it is.
    pub fn hold_reason(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Hold { reason, .. } | Verdict::Stop { reason, .. } => Some(reason),
            Verdict::Go | Verdict::Nudge { .. } => None,
        }
    }

    /// The nudge, if the verdict is one.
    pub(crate) fn nudge_text(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Nudge { message, .. } => Some(message),
            _ => None,
        }
    }

    /// All text for the model, for hook points where nothing can be denied.
    pub(crate) fn context_text(&self) -> Option<String> {
        match (self.nudge_text(), self.context) {
            (Some(nudge), Some(context)) => Some(format!("{nudge}\n\n{context}")),
            (one, other) => one.or(other).map(str::to_owned),
        }
    }
}

/// The agent that a hook call belongs to, by id or alias. The name `plugin` stands for the plugin in Claude Code's
/// layout, which several agents load; the payload identifies the agent.
pub fn resolve_agent(name: &str, payload: &[u8]) -> Option<&'static AgentSpec> {
    crate::registry::find(if name == "plugin" { claude_compatible::detect_agent(payload) } else { name })
}

/// The hook protocol of the agent that [`resolve_agent`] finds.
pub fn protocol(agent: &str, payload: &[u8]) -> Option<&'static dyn HookProtocol> {
    Some(resolve_agent(agent, payload)?.hooks?.protocol)
}
