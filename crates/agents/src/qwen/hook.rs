//! Qwen Code's hooks, as of 0.24: Claude Code's format with Gemini CLI's tools.
//!
//! `tool_use_id` differs between the events of one call; `tool_call_id` is the model's own and does not.
//! `UserPromptSubmit` fires before every model request, with an empty prompt when there is no new one. Calls that fail
//! validation are reported only by `PostToolBatch`. `PermissionRequest` fires only if its terminal would ask, and before
//! it does.

use belay_core::{CallStatus, SessionKey, ToolKind};
use serde_json::Value;

use super::{ID, kind_of};
use crate::claude_code::hook::prompt_author;
use crate::gemini::hook::call_ending;
use crate::hook::{AgentProcess, CallEnding, Capabilities, ClaudeCompatible};

pub(super) use crate::claude_code::hook::EVENTS;

/// The hook protocol.
pub(crate) static PROTOCOL: ClaudeCompatible = ClaudeCompatible {
    agent: ID,
    events: EVENTS,
    claude_name: |name| name,
    permission_asks_person: true,
    kind_of: |name, _| kind_of(name),
    is_comment: |_| true,
    plan_tool: "exit_plan_mode",
    call_id: &["tool_call_id", "tool_use_id"],
    sub_agent: |session, agent| SessionKey::new(ID, format!("{session}/{agent}")),
    sub_agent_file: |_, _| None,
    ending,
    author: |prompt| if prompt.is_empty() { None } else { prompt_author(prompt) },
    capabilities: Capabilities {
        ends_turn: true,
        interrupts: true,
        shows_system_message: false,
        answers_permission: true,
    },
    // It prints neither the reason of a refused prompt nor that of a held call.
    hides_reason: Some(AgentProcess { name: "qwen", headless: &["-p", "--prompt"] }),
    unreported: |_| None,
    transcript: &super::transcript::QwenFormat,
};

fn ending(kind: ToolKind, response: &Value, text: &str, failed: bool) -> CallEnding {
    if response.get("error_type").is_some_and(|kind| kind == "execution_denied") {
        return CallEnding { status: CallStatus::Refused, exit_code: None };
    }
    call_ending(kind, text, failed)
}
