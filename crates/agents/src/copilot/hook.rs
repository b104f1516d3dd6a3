//! Copilot CLI's hooks, as of 1.0.102.
//!
//! Payloads of its own (camelCase) events do not name the event, so the hook command does. Under Claude
//! Code's event names it uses Claude Code's format. Calls have no ids. A failing hook denies the call.
//!
//! Only a denied *permission* can interrupt the agent, and a call denied earlier requests none. If the
//! session is held, a command is therefore replaced by a harmless one: it requests permission, is denied
//! there, and the agent stops. If no permission is requested, the harmless command prints the reason.
//! Tools that need no permission are denied.

use std::path::PathBuf;

use belay_core::event::{Body, PermissionAnswered};
use belay_core::{CallStatus, SessionKey, ToolKind};
use serde_json::{Value, json};

use super::{ID, kind_of};
use crate::claude_code::hook::prompt_author;
use crate::hook::{
    AgentProcess, CallEnding, Capabilities, ClaudeCompatible, HookInput, HookPoint, HookProtocol, HookReply,
    ParsedHook, Unreported,
};
use crate::registry::UserDirs;
use crate::spec::{HookEvent, TURN_END_TIMEOUT};
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
    HookEvent::new("agentStop", HookPoint::TurnEnd).with_timeout(TURN_END_TIMEOUT),
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

/// The hook protocol.
#[derive(Debug)]
pub(crate) struct CopilotHooks;

const PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name,
    // Copilot requests a permission for every command, even if it does not ask a person.
    permission_asks_person: false,
    kind_of: |name, _| kind_of(name),
    is_comment: |_| true,
    plan_tool: "exit_plan_mode",
    call_id: &["tool_use_id", "toolCallId"],
    // Most hooks of a sub-agent report its id as the session id; permissions are requested by the parent.
    sub_agent: |_, agent| SessionKey::new(ID, agent),
    // A sub-agent has no separate file.
    sub_agent_file: |_, _| None,
    ending: call_ending,
    author: prompt_author,
    capabilities: Capabilities {
        ends_turn: false,
        interrupts: true,
        shows_system_message: false,
        answers_permission: false,
    },
    hides_reason: None,
    unreported,
    transcript: &super::transcript::CopilotFormat,
};

/// An interrupted turn, the answer to a permission prompt, and the end of a compaction. No hook fires for them.
fn unreported(line: &str) -> Option<Unreported> {
    let types = ["\"abort\"", "\"permission.completed\"", "\"session.compaction_complete\""];
    if !types.iter().any(|name| line.contains(name)) {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    match line["type"].as_str()? {
        "abort" => Some(Unreported::interrupted(&line)),
        "session.compaction_complete" => Some(Unreported::compacted(&line)),
        "permission.completed" => {
            // Hooks report calls without ids.
            let answer =
                |allowed| Unreported::new(&line, Body::PermissionAnswered(PermissionAnswered { call: None, allowed }));
            match line.pointer("/data/result/kind")?.as_str()? {
                kind if kind.starts_with("approved") => Some(answer(true)),
                kind if kind.starts_with("denied") => Some(answer(false)),
                // Cancelled: the turn is aborted, too.
                _ => None,
            }
        }
        _ => None,
    }
}

impl HookProtocol for CopilotHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        PROTOCOL.parse(hook)
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let deny = |reason: &str| json!({ "permissionDecision": "deny", "permissionDecisionReason": reason });
        match (parsed.point, reply.hold_reason()) {
            (HookPoint::BeforeTool, Some(reason)) if parsed.tool == Some(ToolKind::Shell) => Some(harmless(reason)),
            (HookPoint::BeforeTool, Some(reason)) => Some(deny(reason)),
            (HookPoint::BeforeTool, None) => reply.nudge_text().map(deny),
            (HookPoint::Permission, Some(reason)) => {
                Some(json!({ "behavior": "deny", "message": reason, "interrupt": true }))
            }
            (HookPoint::Prompt, Some(reason)) => Some(json!({ "decision": "block", "reason": reason })),
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool, _) => {
                reply.context_text().map(|text| json!({ "additionalContext": text }))
            }
            (HookPoint::TurnEnd, None) => reply.continuation.map(|text| json!({ "decision": "block", "reason": text })),
            _ => None,
        }
    }

    /// A denied tool that needs no permission does not stop the agent; a headless run is interrupted.
    fn interrupt(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        let refused_only = parsed.point == HookPoint::BeforeTool && parsed.tool != Some(ToolKind::Shell);
        (refused_only && reply.hold_reason().is_some())
            .then_some(AgentProcess { name: "copilot", headless: &["-p", "--prompt"] })
    }

    fn writes_file_late(&self) -> bool {
        true
    }

    fn unreported(&self, line: &str) -> Option<Unreported> {
        PROTOCOL.unreported(line)
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        PROTOCOL.transcript()
    }

    /// Only the hook at the end of a turn names the file.
    fn session_file(&self, dirs: &UserDirs, session: &SessionKey) -> Option<PathBuf> {
        let plain = session.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        plain.then(|| super::sessions(dirs).join(&*session.id).join("events.jsonl"))
    }
}

/// A command that only prints the reason, in any shell.
fn harmless(reason: &str) -> Value {
    let words: String = reason.chars().map(|c| if c == '\'' || c.is_control() { ' ' } else { c }).collect();
    json!({ "modifiedArgs": { "command": format!("echo '{words}'; exit 1"), "description": "held by Belay" } })
}

/// The ending of a call. The exit code is at the end of the text; the result type is `success` regardless.
fn call_ending(_: ToolKind, response: &Value, text: &str, failed: bool) -> CallEnding {
    let exit_code = shell_line(text).and_then(|rest| {
        let code = rest.split_once("exit code ")?.1;
        code.trim_end_matches('>').trim().parse().ok()
    });
    // Under Claude Code's event names the fields are in snake_case.
    let kind = ["resultType", "result_type"].iter().find_map(|field| response.get(*field)?.as_str());
    let kind = kind.unwrap_or("success");
    let status = match (kind, exit_code) {
        ("denied" | "rejected", _) => CallStatus::Refused,
        (_, Some(0)) => CallStatus::Ok,
        (_, Some(_)) => CallStatus::Error,
        _ if failed || kind == "failure" => CallStatus::Error,
        _ => CallStatus::Ok,
    };
    CallEnding { status, exit_code }
}

/// The text after the last `<shellId: `.
fn shell_line(text: &str) -> Option<&str> {
    text.rsplit_once("<shellId: ").map(|(_, rest)| rest)
}
