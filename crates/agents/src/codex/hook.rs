//! Codex's hooks, as of 0.166.
//!
//! `PostToolUse` contains only the output of a command; its exit code is in the rollout. No reply ends
//! the turn: `continue: false` is ignored at a tool and at a model request, `interrupt` at a permission
//! request. SIGINT ends the turn of `codex exec`, but terminates the terminal UI. While a session is held, the
//! hook of the terminal UI therefore waits: no further request is sent, and Esc still interrupts the turn.

use std::borrow::Cow;
use std::time::Duration;

use belay_core::{CallStatus, SessionKey, ToolKind};
use serde_json::Value;

use super::output::unwrap;
use super::{ID, kind_of};
use crate::hook::{
    AgentProcess, CallEnding, Capabilities, ClaudeCompatible, HookInput, HookPoint, HookProtocol, HookReply, ParsedHook,
};
use crate::spec::HookEvent;
use crate::transcript::TranscriptFormat;

/// How long a held call waits for a person. Then it is denied, and the next call waits.
const MAX_HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// `codex exec`, which also has a short name, and `codex review`.
const HEADLESS: AgentProcess = AgentProcess { name: "codex", headless: &["exec", "e", "review"] };

/// What the terminal UI shows while a hook of this event runs. Only a hook that waits runs long enough to be read.
pub(super) fn status_message(event: &HookEvent) -> Option<&'static str> {
    (event.point == HookPoint::BeforeTool).then_some("Belay holds this call; see `belay sessions`")
}

/// Every event that Belay registers. Codex waits at most three seconds for the last two.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("SessionStart", HookPoint::SessionStart),
    HookEvent::new("UserPromptSubmit", HookPoint::Prompt),
    HookEvent::new("PreToolUse", HookPoint::BeforeTool).with_timeout(MAX_HOLD),
    HookEvent::new("PermissionRequest", HookPoint::Permission),
    HookEvent::new("PostToolUse", HookPoint::AfterTool),
    HookEvent::new("PreCompact", HookPoint::Informational),
    HookEvent::new("SubagentStart", HookPoint::Informational),
    HookEvent::new("SubagentStop", HookPoint::Informational),
    HookEvent::new("Stop", HookPoint::TurnEnd),
    HookEvent::new("SessionEnd", HookPoint::SessionEnd).with_timeout(Duration::from_secs(3)),
    HookEvent::new("Interrupt", HookPoint::Informational).with_timeout(Duration::from_secs(3)),
];

/// The hook protocol.
#[derive(Debug)]
pub(crate) struct CodexHooks;

const PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name: |name| name,
    permission_asks_person: true,
    kind_of: |name, input| if name == "Bash" { Some(ToolKind::Shell) } else { kind_of(name, input) },
    plan_tool: "",
    call_id: &["tool_use_id"],
    // A sub-agent is a separate thread with its own id.
    sub_agent: |_, thread| SessionKey::new(ID, thread),
    sub_agent_file: |file, _| Some(file.to_owned()),
    ending: call_ending,
    author: crate::claude_code::hook::prompt_author,
    capabilities: Capabilities { ends_turn: false, interrupts: false, shows_system_message: true },
    hides_reason: Some(HEADLESS),
    transcript: &super::transcript::CodexFormat,
};

impl HookProtocol for CodexHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        PROTOCOL.parse(hook)
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        PROTOCOL.encode(parsed, reply)
    }

    fn interrupt(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        self.waits_while_held(parsed, reply).then_some(HEADLESS)
    }

    fn hides_reason(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        PROTOCOL.hides_reason(parsed, reply)
    }

    fn waits_while_held(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> bool {
        parsed.point == HookPoint::BeforeTool && reply.hold_reason().is_some()
    }

    fn exit_code(&self, line: &str) -> Option<(String, i32)> {
        if !line.contains("\"CommandExecution\"") {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        let item = line.pointer("/payload/item").filter(|item| item["type"] == "CommandExecution")?;
        let code = i32::try_from(item.get("exit_code")?.as_i64()?).ok()?;
        Some((item.get("id")?.as_str()?.to_owned(), code))
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        PROTOCOL.transcript()
    }
}

/// The ending of a call. Plain output has no exit code, so success is assumed until the rollout supplies it.
fn call_ending(_: ToolKind, _: &Value, text: &str, _: bool) -> CallEnding {
    let output = unwrap(Cow::Borrowed(text));
    CallEnding { status: output.status.unwrap_or(CallStatus::Ok), exit_code: output.exit_code }
}
