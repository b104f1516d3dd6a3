//! Copilot CLI's hooks, as of 1.0.102.
//!
//! Payloads of its own (camelCase) events do not name the event, so hooks are installed with it;
//! under Claude's names it speaks Claude's shapes. Calls have no id. A crash denies, so we never do.
//!
//! Only a refused *permission* can interrupt it, and a call refused before that never asks for one.
//! So when the session is held, a command is not refused but made harmless: it then asks for
//! permission, is refused there, and the agent stops. Should nobody ask, the harmless command says
//! why. What needs no permission is refused as usual.

use std::path::PathBuf;

use belay_core::{CallStatus, SessionKey, ToolKind};
use serde_json::{Value, json};

use super::{ID, kind_of};
use crate::claude_code::hook::prompt_author;
use crate::hook::{
    AgentProcess, CallEnding, Capabilities, ClaudeCompatible, HookInput, HookPoint, HookProtocol, HookReply, ParsedHook,
};
use crate::registry::UserDirs;
use crate::spec::HookEvent;
use crate::transcript::TranscriptFormat;

/// Every event that Belay registers.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("sessionStart", HookPoint::SessionStart),
    HookEvent::new("sessionEnd", HookPoint::SessionEnd),
    HookEvent::new("userPromptSubmitted", HookPoint::Prompt),
    HookEvent::new("preToolUse", HookPoint::BeforeTool),
    HookEvent::new("permissionRequest", HookPoint::Permission),
    HookEvent::new("postToolUse", HookPoint::AfterTool),
    HookEvent::new("postToolUseFailure", HookPoint::AfterTool),
    HookEvent::new("errorOccurred", HookPoint::Informational),
    HookEvent::new("agentStop", HookPoint::TurnEnd),
    HookEvent::new("subagentStart", HookPoint::Informational),
    HookEvent::new("subagentStop", HookPoint::Informational),
    HookEvent::new("preCompact", HookPoint::Informational),
    HookEvent::new("notification", HookPoint::Informational),
];

/// Claude Code's name for an event, which a plugin in Claude Code's layout uses.
pub(super) fn claude_name(event: &'static str) -> &'static str {
    match event {
        "sessionStart" => "SessionStart",
        "sessionEnd" => "SessionEnd",
        "userPromptSubmitted" => "UserPromptSubmit",
        "preToolUse" => "PreToolUse",
        "permissionRequest" => "PermissionRequest",
        "postToolUse" => "PostToolUse",
        "postToolUseFailure" => "PostToolUseFailure",
        "errorOccurred" => "ErrorOccurred",
        "agentStop" => "Stop",
        "subagentStart" => "SubagentStart",
        "subagentStop" => "SubagentStop",
        "preCompact" => "PreCompact",
        "notification" => "Notification",
        other => other,
    }
}

/// The dialect.
#[derive(Debug)]
pub(crate) struct CopilotHooks;

const PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name,
    // It requests a permission for every command, even if no person is asked.
    permission_asks_person: false,
    kind_of: |name, _| kind_of(name),
    call_id: &["tool_use_id", "toolCallId"],
    // Most hooks of a sub-agent give its id as the session's, too; a permission is asked by those above.
    sub_agent: |_, agent| SessionKey::new(ID, agent),
    // It has no file of its own.
    sub_agent_file: |_, _| None,
    ending: how_it_ended,
    author: prompt_author,
    powers: Capabilities { ends_turn: false, interrupts: true, tells_person: false },
    transcript: &super::transcript::CopilotFormat,
};

impl HookProtocol for CopilotHooks {
    fn understand(&self, told: &HookInput<'_>) -> Option<ParsedHook> {
        PROTOCOL.understand(told)
    }

    fn compose(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let deny = |reason: &str| json!({ "permissionDecision": "deny", "permissionDecisionReason": reason });
        match (heard.moment, reply.hold_reason()) {
            (HookPoint::BeforeTool, Some(reason)) if heard.tool == Some(ToolKind::Shell) => Some(harmless(reason)),
            (HookPoint::BeforeTool, Some(reason)) => Some(deny(reason)),
            (HookPoint::BeforeTool, None) => reply.nudge_text().map(deny),
            (HookPoint::Permission, Some(reason)) => {
                Some(json!({ "behavior": "deny", "message": reason, "interrupt": true }))
            }
            (HookPoint::Prompt, Some(reason)) => Some(json!({ "decision": "block", "reason": reason })),
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool, _) => {
                reply.context_text().map(|text| json!({ "additionalContext": text }))
            }
            _ => None,
        }
    }

    /// What needs no permission is refused and no more; an agent nobody watches is then interrupted.
    fn interrupt(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        let refused_only = heard.moment == HookPoint::BeforeTool && heard.tool != Some(ToolKind::Shell);
        (refused_only && reply.hold_reason().is_some()).then_some(AgentProcess { name: "copilot", headless: "-p" })
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        PROTOCOL.transcript()
    }

    /// Only the end of a turn names it.
    fn session_file(&self, dirs: &UserDirs, session: &SessionKey) -> Option<PathBuf> {
        let plain = session.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        plain.then(|| super::sessions(dirs).join(&*session.id).join("events.jsonl"))
    }
}

/// A command that does nothing but say why, in any shell.
fn harmless(reason: &str) -> Value {
    let words: String = reason.chars().map(|c| if c == '\'' || c.is_control() { ' ' } else { c }).collect();
    json!({ "modifiedArgs": { "command": format!("echo '{words}'; exit 1"), "description": "held by Belay" } })
}

/// Exit codes stand at the end of the text; the result type says success all the same.
fn how_it_ended(_: ToolKind, response: &Value, text: &str, failed: bool) -> CallEnding {
    let exit_code = shell_line(text).and_then(|rest| {
        let code = rest.split_once("exit code ")?.1;
        code.trim_end_matches('>').trim().parse().ok()
    });
    let kind = response.get("resultType").and_then(Value::as_str).unwrap_or("success");
    let status = match (kind, exit_code) {
        ("denied" | "rejected", _) => CallStatus::Refused,
        (_, Some(0)) => CallStatus::Ok,
        (_, Some(_)) => CallStatus::Error,
        _ if failed || kind == "failure" => CallStatus::Error,
        _ => CallStatus::Ok,
    };
    CallEnding { status, exit_code }
}

/// What follows the last `<shellId: N` of a text.
fn shell_line(text: &str) -> Option<&str> {
    text.rsplit_once("<shellId: ").map(|(_, rest)| rest)
}
