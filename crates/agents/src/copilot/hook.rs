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

use belay_core::{SessionKey, Status, ToolKind};
use serde_json::{Value, json};

use super::{ID, kind_of};
use crate::claude_code::hook::author;
use crate::hook::{Dialect, Ending, Family, Heard, Moment, Names, Powers, Program, Reply, Told};
use crate::table::UserDirs;
use crate::transcript::Format;

/// The dialect.
#[derive(Debug)]
pub(crate) struct Hooks;

const FAMILY: Family = Family {
    agent: ID,
    names: &Names(&[
        ("sessionStart", "SessionStart", Moment::SessionStart),
        ("sessionEnd", "SessionEnd", Moment::SessionEnd),
        ("userPromptSubmitted", "UserPromptSubmit", Moment::Prompt),
        ("preToolUse", "PreToolUse", Moment::BeforeTool),
        ("permissionRequest", "PermissionGate", Moment::Permission),
        ("postToolUse", "PostToolUse", Moment::AfterTool),
        ("postToolUseFailure", "PostToolUseFailure", Moment::AfterTool),
        ("errorOccurred", "ErrorOccurred", Moment::Aside),
        ("agentStop", "Stop", Moment::TurnEnd),
        ("subagentStart", "SubagentStart", Moment::Aside),
        ("subagentStop", "SubagentStop", Moment::Aside),
        ("preCompact", "PreCompact", Moment::Aside),
        ("notification", "Notification", Moment::Aside),
        ("SessionStart", "SessionStart", Moment::SessionStart),
        ("SessionEnd", "SessionEnd", Moment::SessionEnd),
        ("UserPromptSubmit", "UserPromptSubmit", Moment::Prompt),
        ("PreToolUse", "PreToolUse", Moment::BeforeTool),
        // Asked for every command, whether or not a person will be.
        ("PermissionRequest", "PermissionGate", Moment::Permission),
        ("PostToolUse", "PostToolUse", Moment::AfterTool),
        ("PostToolUseFailure", "PostToolUseFailure", Moment::AfterTool),
        ("ErrorOccurred", "ErrorOccurred", Moment::Aside),
        ("Stop", "Stop", Moment::TurnEnd),
        ("SubagentStart", "SubagentStart", Moment::Aside),
        ("SubagentStop", "SubagentStop", Moment::Aside),
        ("PreCompact", "PreCompact", Moment::Aside),
        ("Notification", "Notification", Moment::Aside),
    ]),
    kind_of: |name, _| kind_of(name),
    call_id: &["tool_use_id", "toolCallId"],
    // Most hooks of a sub-agent give its id as the session's, too; a permission is asked by those above.
    sub_agent: |_, agent| SessionKey::new(ID, agent),
    // It has no file of its own.
    sub_agent_file: |_, _| None,
    ending: how_it_ended,
    author,
    powers: Powers { ends_turn: false, interrupts: true, tells_person: false },
    transcript: &super::transcript::Transcript,
};

impl Dialect for Hooks {
    fn agent(&self) -> &'static str {
        ID
    }

    fn understand(&self, told: &Told<'_>) -> Option<Heard> {
        FAMILY.understand(told)
    }

    fn compose(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Value> {
        let deny = |reason: &str| json!({ "permissionDecision": "deny", "permissionDecisionReason": reason });
        match (heard.moment, reply.hold()) {
            (Moment::BeforeTool, Some(reason)) if heard.tool == Some(ToolKind::Shell) => Some(harmless(reason)),
            (Moment::BeforeTool, Some(reason)) => Some(deny(reason)),
            (Moment::BeforeTool, None) => reply.nudge().map(deny),
            (Moment::Permission, Some(reason)) => {
                Some(json!({ "behavior": "deny", "message": reason, "interrupt": true }))
            }
            (Moment::Prompt, Some(reason)) => Some(json!({ "decision": "block", "reason": reason })),
            (Moment::SessionStart | Moment::Prompt | Moment::AfterTool, _) => {
                reply.remark().map(|text| json!({ "additionalContext": text }))
            }
            _ => None,
        }
    }

    /// What needs no permission is refused and no more; an agent nobody watches is then interrupted.
    fn interrupt(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Program> {
        let refused_only = heard.moment == Moment::BeforeTool && heard.tool != Some(ToolKind::Shell);
        (refused_only && reply.hold().is_some()).then_some(Program { name: "copilot", headless: "-p" })
    }

    fn transcript(&self) -> Option<&'static dyn Format> {
        FAMILY.transcript()
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
fn how_it_ended(_: ToolKind, response: &Value, text: &str, failed: bool) -> Ending {
    let exit_code = shell_line(text).and_then(|rest| {
        let code = rest.split_once("exit code ")?.1;
        code.trim_end_matches('>').trim().parse().ok()
    });
    let kind = response.get("resultType").and_then(Value::as_str).unwrap_or("success");
    let status = match (kind, exit_code) {
        ("denied" | "rejected", _) => Status::Refused,
        (_, Some(0)) => Status::Ok,
        (_, Some(_)) => Status::Error,
        _ if failed || kind == "failure" => Status::Error,
        _ => Status::Ok,
    };
    Ending { status, exit_code }
}

/// What follows the last `<shellId: N` of a text.
fn shell_line(text: &str) -> Option<&str> {
    text.rsplit_once("<shellId: ").map(|(_, rest)| rest)
}
