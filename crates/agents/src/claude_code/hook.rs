//! Claude Code's hooks, as of 2.1.325.
//!
//! A command that fails fires `PostToolUseFailure`, not `PostToolUse`. A call that fails validation
//! (an edit whose text is not found) fires neither, nor `PreToolUse`: only `PostToolBatch` reports it,
//! and its reply reaches the model. `deny` together with `continue: false` is the strongest stop: the
//! tool does not run and no further model request is sent.

use belay_core::event::Author;
use belay_core::{CallStatus, ToolKind};
use serde_json::Value;

use super::transcript::prompt_author::{LineFlags, UserText, classify_user_text};
use super::transcript::tool_result::ending;
use super::{ID, kind_of, sub_agent_key};
use crate::hook::{AgentProcess, CallEnding, Capabilities, ClaudeCompatible, HookPoint, Unreported};
use crate::spec::{HookEvent, PERMISSION_TIMEOUT, TURN_END_TIMEOUT};

/// Every event that Belay registers, in Qwen Code as well.
pub(crate) const EVENTS: &[HookEvent] = &[
    HookEvent::new("SessionStart", HookPoint::SessionStart),
    HookEvent::new("SessionEnd", HookPoint::SessionEnd),
    HookEvent::new("UserPromptSubmit", HookPoint::Prompt),
    HookEvent::new("PreToolUse", HookPoint::BeforeTool),
    HookEvent::new("PostToolUse", HookPoint::AfterTool),
    HookEvent::new("PostToolUseFailure", HookPoint::AfterTool),
    HookEvent::new("PostToolBatch", HookPoint::AfterBatch),
    HookEvent::new("PermissionRequest", HookPoint::Permission).with_timeout(PERMISSION_TIMEOUT),
    HookEvent::new("Notification", HookPoint::Informational),
    HookEvent::new("Stop", HookPoint::TurnEnd).with_timeout(TURN_END_TIMEOUT),
    HookEvent::new("StopFailure", HookPoint::Informational),
    HookEvent::new("SubagentStart", HookPoint::Informational),
    HookEvent::new("SubagentStop", HookPoint::Informational),
    HookEvent::new("PreCompact", HookPoint::Informational),
];

/// The hook protocol.
pub(crate) static PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name: |name| name,
    permission_asks_person: true,
    kind_of: |name, _| kind_of(name),
    is_comment: |_| true,
    plan_tool: "ExitPlanMode",
    call_id: &["tool_use_id"],
    sub_agent: sub_agent_key,
    sub_agent_file,
    ending: call_ending,
    author: prompt_author,
    capabilities: Capabilities {
        ends_turn: true,
        interrupts: true,
        shows_system_message: false,
        answers_permission: true,
    },
    // Its output is empty and its exit status 0.
    hides_reason: Some(AgentProcess { name: "claude", headless: &["-p", "--print"] }),
    unreported,
    transcript: &super::transcript::ClaudeCodeFormat,
};

/// The message that Claude Code leaves in place of the rest of an interrupted turn.
const INTERRUPTED: &str = "[Request interrupted by user";

/// A turn that a person interrupted, with Esc or with "No" at a permission prompt. No hook fires.
fn unreported(line: &str) -> Option<Unreported> {
    if !line.contains(INTERRUPTED) {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    let content = line.pointer("/message/content").filter(|_| line["type"] == "user" && line["isSidechain"] != true)?;
    let first = content.as_str().or_else(|| content.pointer("/0/text")?.as_str())?;
    first.starts_with(INTERRUPTED).then(|| Unreported::interrupted(&line))
}

/// The file of a sub-agent, next to the parent's file that its hooks name.
fn sub_agent_file(file: &str, agent: &str) -> Option<String> {
    let plain = agent.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let dir = file.strip_suffix(".jsonl").filter(|_| plain)?;
    Some(format!("{dir}/subagents/agent-{agent}.jsonl"))
}

fn call_ending(kind: ToolKind, response: &Value, text: &str, failed: bool) -> CallEnding {
    let says = |field: &str| response.get(field).is_some_and(|value| *value != Value::Null && *value != false);
    if says("backgroundTaskId") {
        return CallEnding { status: CallStatus::Running, exit_code: None };
    }
    if says("interrupted") {
        return CallEnding { status: CallStatus::TimedOut, exit_code: None };
    }
    ending(Some(kind), text, failed, false)
}

/// The author of a prompt.
pub(crate) fn prompt_author(prompt: &str) -> Option<Author> {
    match classify_user_text(prompt, LineFlags::default()) {
        UserText::By(author) => Some(author),
        UserText::Summary | UserText::Interrupted | UserText::Noise => Some(Author::System),
    }
}
