//! Codex's hooks, as of 0.166.
//!
//! `PostToolUse` contains only the output of a command; its exit code is in the rollout. No reply ends
//! the turn: `continue: false` is ignored at a tool and at a model request, `interrupt` at a permission
//! request. SIGINT ends the turn of `codex exec`, but terminates the terminal UI. While a session is held, the
//! hook of the terminal UI therefore waits: no further request is sent, and Esc still interrupts the turn.

use std::borrow::Cow;
use std::time::Duration;

use belay_core::event::{Body, PermissionRequested, PermissionSubject};
use belay_core::{CallStatus, Excerpt, SessionKey, ToolKind};
use serde_json::Value;

use super::output::unwrap;
use super::{ID, kind_of};
use crate::hook::{
    AgentProcess, CallEnding, Capabilities, ClaudeCompatible, HookInput, HookPoint, HookProtocol, HookReply,
    ParsedHook, PermissionReply, Unreported,
};
use crate::spec::{HookEvent, PERMISSION_TIMEOUT, TURN_END_TIMEOUT};
use crate::transcript::TranscriptFormat;

/// How long a held call waits for a person. Then it is denied, and the next call waits.
const MAX_HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// `codex exec`, which also has a short name, and `codex review`.
const HEADLESS: AgentProcess = AgentProcess { name: "codex", headless: &["exec", "e", "review"] };

/// What the terminal UI shows while a hook of this event runs. Only a hook that waits runs long enough to be read.
pub(super) fn status_message(event: &HookEvent) -> Option<&'static str> {
    match event.point {
        HookPoint::BeforeTool => Some("Belay holds this call; see `belay sessions`"),
        HookPoint::Permission => Some("Belay offers this prompt; see `belay approvals`"),
        HookPoint::TurnEnd => Some("Belay checks whether this session continues"),
        _ => None,
    }
}

/// Every event that Belay registers. Codex waits at most three seconds for the last two.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("SessionStart", HookPoint::SessionStart),
    HookEvent::new("UserPromptSubmit", HookPoint::Prompt),
    HookEvent::new("PreToolUse", HookPoint::BeforeTool).with_timeout(MAX_HOLD),
    HookEvent::new("PermissionRequest", HookPoint::Permission).with_timeout(PERMISSION_TIMEOUT),
    HookEvent::new("PostToolUse", HookPoint::AfterTool),
    HookEvent::new("PreCompact", HookPoint::Informational),
    HookEvent::new("SubagentStart", HookPoint::Informational),
    HookEvent::new("SubagentStop", HookPoint::Informational),
    HookEvent::new("Stop", HookPoint::TurnEnd).with_timeout(TURN_END_TIMEOUT),
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
    // Codex asks in this way whether a command may use the network.
    is_comment: |description| !description.starts_with("network-access"),
    plan_tool: "",
    call_id: &["tool_use_id"],
    // A sub-agent is a separate thread with its own id.
    sub_agent: |_, thread| SessionKey::new(ID, thread),
    sub_agent_file: |file, _| Some(file.to_owned()),
    ending: call_ending,
    author: crate::claude_code::hook::prompt_author,
    capabilities: Capabilities {
        ends_turn: false,
        interrupts: false,
        shows_system_message: true,
        answers_permission: true,
    },
    hides_reason: Some(HEADLESS),
    unreported,
    transcript: &super::transcript::CodexFormat,
};

/// An interrupted turn, also by a rejected permission; a proposed plan, which Codex then asks to approve; the end of a
/// compaction. No hook fires for them.
fn unreported(line: &str) -> Option<Unreported> {
    const PLAN: &str = "<proposed_plan>";
    if !["\"turn_aborted\"", "\"compacted\"", PLAN].iter().any(|sign| line.contains(sign)) {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    if line["type"] == "compacted" {
        return Some(Unreported::compacted(&line));
    }
    let payload = line.get("payload")?;
    match (payload["type"].as_str()?, payload["role"].as_str()) {
        ("turn_aborted", _) => Some(Unreported::interrupted(&line)),
        ("message", Some("assistant")) => {
            let text = payload.pointer("/content/0/text")?.as_str()?;
            let (_, plan) = text.split_once(PLAN)?;
            let plan = plan.split("</proposed_plan>").next().unwrap_or(plan).trim();
            let (what, subject) = (Excerpt::with_limit(plan, 256), PermissionSubject::Plan);
            let asked = PermissionRequested { call: None, what, subject };
            Some(Unreported::new(&line, Body::PermissionAsked(asked)))
        }
        _ => None,
    }
}

impl HookProtocol for CodexHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        PROTOCOL.parse(hook)
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        PROTOCOL.encode(parsed, reply)
    }

    fn encode_permission(&self, event: &'static str, reply: PermissionReply<'_>) -> Option<Value> {
        PROTOCOL.encode_permission(event, reply)
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

    fn unreported(&self, line: &str) -> Option<Unreported> {
        PROTOCOL.unreported(line)
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
