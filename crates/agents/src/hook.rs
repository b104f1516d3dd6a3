//! Hooks: what an agent tells us while it runs, and what it wants to hear back.
//!
//! A [`HookProtocol`] turns one hook payload into [`ParsedHook`]: the events it tells of, and the [`HookPoint`]
//! it was told at. Later it puts a [`HookReply`] into the agent's own words. What an agent can be told
//! depends on the moment: a call that is still to come can be refused, one that is over can only be
//! commented on. A dialect says as much as its agent understands at that moment and no more.
//!
//! Payloads are foreign input. Whatever stands in them, a dialect hears *something* and answers in
//! a form its agent takes; what it cannot make sense of it lets pass, because a refusal by accident
//! is worse than a fact missed.

mod claude_compatible;
mod edited_files;
pub(crate) mod event_builder;
mod payload;

use std::fmt;
use std::path::PathBuf;

use belay_core::{Event, SessionKey, Timestamp, ToolKind, Verdict};
use serde_json::Value;

use crate::registry::UserDirs;
use crate::spec::AgentSpec;
use crate::transcript::TranscriptFormat;

pub(crate) use claude_compatible::{CallEnding, Capabilities, ClaudeCompatible, start_kind};
pub use edited_files::EditedFile;
use edited_files::edited_files;
pub(crate) use payload::{HookPayload, bounded_name, is_id, text_of};

/// How one agent's hooks speak and are spoken to.
pub trait HookProtocol: Sync + fmt::Debug {
    /// Understands one payload; `None` when it tells of nothing we know.
    fn understand(&self, told: &HookInput<'_>) -> Option<ParsedHook>;

    /// The reply in the agent's own words; `None` when there is nothing to say.
    fn compose(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<Value>;

    /// One payload, as far as it can be understood.
    fn hear(&self, told: &HookInput<'_>) -> ParsedHook {
        self.understand(told).unwrap_or_default()
    }

    /// The bytes for the agent's ears; empty when there is nothing to say.
    fn answer(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Vec<u8> {
        self.compose(heard, reply).map(|answer| answer.to_string().into_bytes()).unwrap_or_default()
    }

    /// The session file that tells what hooks leave out, such as token usage. `None` where they
    /// leave out nothing, or the file would tell the same things under other names.
    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        None
    }

    /// Where that file is, for hooks that do not name it.
    fn session_file(&self, _dirs: &UserDirs, _session: &SessionKey) -> Option<PathBuf> {
        None
    }

    /// How a command ended, from a line of that file, where hooks do not say: call id and exit code.
    fn exit_code(&self, _line: &str) -> Option<(String, i32)> {
        None
    }

    /// The program to interrupt besides this answer, where no answer stops the agent.
    fn interrupt(&self, _heard: &ParsedHook, _reply: &HookReply<'_>) -> Option<AgentProcess> {
        None
    }
}

/// A running agent, as a process list shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentProcess {
    /// Its name.
    pub name: &'static str,
    /// An argument it has when nobody sits in front of it.
    pub headless: &'static str,
}

/// One hook call as it reaches us.
#[derive(Clone, Copy, Debug)]
pub struct HookInput<'a> {
    /// Minted by the hook process; the ids of the events are made from it.
    pub id: &'a str,
    /// The event's name, where the hook was installed with it. Some payloads carry none.
    pub event: Option<&'a str>,
    /// What the agent wrote to standard input.
    pub payload: &'a [u8],
    /// When it reached us; payloads may know better.
    pub at: Timestamp,
    /// Exit code of the command it tells of, where somebody else knew it.
    pub exit_code: Option<i32>,
}

/// Where in an agent's life a hook fires, and so what can be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HookPoint {
    /// The conversation begins: the model can be told something.
    SessionStart,
    /// A prompt was given: it can be refused, or something added to it.
    Prompt,
    /// A model request is about to leave.
    BeforeModel,
    /// A tool is about to run.
    BeforeTool,
    /// The agent asks whether a tool may run.
    Permission,
    /// A tool has run: its answer can be commented on.
    AfterTool,
    /// All calls of one model answer are over.
    AfterBatch,
    /// The agent ends its turn.
    TurnEnd,
    /// The conversation ends; nobody listens.
    SessionEnd,
    /// Told for our information only.
    #[default]
    Informational,
}

/// What was understood.
#[derive(Clone, Debug, Default)]
pub struct ParsedHook {
    /// When in the agent's life.
    pub moment: HookPoint,
    /// The agent's own name of the event, where the answer must repeat it.
    pub event: &'static str,
    /// Whose hook it is; without one there is nothing to record and nothing to answer.
    pub session: Option<SessionKey>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Files that a tool is about to change, or has just changed: their content is worth a look.
    pub edited: Vec<EditedFile>,
    /// The agent's session file, where it names one.
    pub transcript: Option<String>,
    /// The folder the agent works in.
    pub cwd: Option<String>,
    /// What the tool in question does.
    pub tool: Option<ToolKind>,
}

/// What the agent is to be told.
#[derive(Clone, Copy, Debug)]
pub struct HookReply<'a> {
    /// May it go on?
    pub verdict: &'a Verdict,
    /// Something the model should read, if this moment has a channel for it.
    pub context: Option<&'a str>,
    /// Something the person should read, if this moment has a channel for it.
    pub person: Option<&'a str>,
}

impl HookReply<'static> {
    /// Go on.
    pub const ALLOW: Self = Self { verdict: &Verdict::Go, context: None, person: None };
}

impl HookReply<'_> {
    /// Why the agent is held back, if it is.
    pub fn hold_reason(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Hold { reason, .. } | Verdict::Stop { reason, .. } => Some(reason),
            Verdict::Go | Verdict::Nudge { .. } => None,
        }
    }

    /// What the agent should read about this one call.
    pub(crate) fn nudge_text(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Nudge { message, .. } => Some(message),
            _ => None,
        }
    }

    /// What the model should read where nothing can be refused.
    pub(crate) fn context_text(&self) -> Option<String> {
        match (self.nudge_text(), self.context) {
            (Some(nudge), Some(context)) => Some(format!("{nudge}\n\n{context}")),
            (one, other) => one.or(other).map(str::to_owned),
        }
    }
}

/// The agent that a hook call belongs to, by id or alias. `plugin` means the Claude-layout plugin, which several agents
/// load; the payload shows which.
pub fn resolve_agent(name: &str, payload: &[u8]) -> Option<&'static AgentSpec> {
    crate::registry::find(if name == "plugin" { claude_compatible::detect_agent(payload) } else { name })
}

/// The protocol of that agent's hooks.
pub fn protocol(agent: &str, payload: &[u8]) -> Option<&'static dyn HookProtocol> {
    Some(resolve_agent(agent, payload)?.hooks?.protocol)
}
