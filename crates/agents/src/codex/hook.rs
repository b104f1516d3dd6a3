//! Codex's hooks, as of 0.166.
//!
//! `PostToolUse` gives the bare output of a command: its exit code stands in the rollout only. No
//! answer ends the turn (`continue: false` at a tool is ignored), so a hold that must stop the agent
//! needs the proxy or a signal besides the refusal.

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

/// Every event that Belay registers. Codex waits at most three seconds for the last two.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("SessionStart", HookPoint::SessionStart),
    HookEvent::new("UserPromptSubmit", HookPoint::Prompt),
    HookEvent::new("PreToolUse", HookPoint::BeforeTool),
    HookEvent::new("PermissionRequest", HookPoint::Permission),
    HookEvent::new("PostToolUse", HookPoint::AfterTool),
    HookEvent::new("PreCompact", HookPoint::Informational),
    HookEvent::new("SubagentStart", HookPoint::Informational),
    HookEvent::new("SubagentStop", HookPoint::Informational),
    HookEvent::new("Stop", HookPoint::TurnEnd),
    HookEvent::new("SessionEnd", HookPoint::SessionEnd).with_timeout(Duration::from_secs(3)),
    HookEvent::new("Interrupt", HookPoint::Informational).with_timeout(Duration::from_secs(3)),
];

/// The dialect.
#[derive(Debug)]
pub(crate) struct CodexHooks;

const PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name: |name| name,
    permission_asks_person: true,
    kind_of: |name, input| if name == "Bash" { Some(ToolKind::Shell) } else { kind_of(name, input) },
    call_id: &["tool_use_id"],
    // A sub-agent is a thread of its own; the id names it.
    sub_agent: |_, thread| SessionKey::new(ID, thread),
    sub_agent_file: |file, _| Some(file.to_owned()),
    ending: how_it_ended,
    author: crate::claude_code::hook::prompt_author,
    powers: Capabilities { ends_turn: false, interrupts: false, tells_person: true },
    transcript: &super::transcript::CodexFormat,
};

impl HookProtocol for CodexHooks {
    fn understand(&self, told: &HookInput<'_>) -> Option<ParsedHook> {
        PROTOCOL.understand(told)
    }

    fn compose(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        PROTOCOL.compose(heard, reply)
    }

    fn interrupt(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        let held = heard.moment == HookPoint::BeforeTool && reply.hold_reason().is_some();
        held.then_some(AgentProcess { name: "codex", headless: "exec" })
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

/// The exit code is missing from plain output, and with it whether a command failed: unknown until
/// the rollout tells.
fn how_it_ended(_: ToolKind, _: &Value, text: &str, _: bool) -> CallEnding {
    let output = unwrap(Cow::Borrowed(text));
    CallEnding { status: output.status.unwrap_or(CallStatus::Ok), exit_code: output.exit_code }
}
