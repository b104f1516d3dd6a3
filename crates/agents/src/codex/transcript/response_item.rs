//! The items of the conversation: messages, tool calls and their outputs.

use std::collections::VecDeque;

use belay_core::event::{Body, SubAgent, ToolCalled, ToolReturned};
use belay_core::{CallStatus, SessionKey};
use serde_json::Value;

use super::record::{Action, Item};
use super::{CodexParser, user_prompt};
use crate::codex::{ID, output, tools};
use crate::lenient_json::text_of;
use crate::transcript::{LineError, TranscriptEventBuilder};

/// Maximum number of tracked calls.
const MAX_OPEN_CALLS: usize = 256;

impl CodexParser {
    pub(super) fn item(&mut self, raw: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let item: Item<'_> = serde_json::from_str(raw).map_err(|_| LineError::Unknown)?;
        let id = item.call_id.non_empty().or(item.id.non_empty()).map(str::to_owned);
        match &*item.kind {
            "message" if &*item.role == "assistant" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.start_response(builder);
                self.response.push_text(&text);
            }
            "message" if &*item.role == "user" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.user_message(user_prompt::classify_user_text(&text), &text, builder);
            }
            "function_call" => {
                let arguments = item.arguments.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.call(id, &item.name, tools::input(&arguments), builder);
            }
            "custom_tool_call" => {
                self.call(id, &item.name, Value::String(item.input.to_string()), builder);
            }
            "local_shell_call" => {
                let action = item.action.and_then(|raw| serde_json::from_str::<Action>(raw.get()).ok());
                let action = action.unwrap_or_default();
                let input = tools::local_shell(action.command.0.unwrap_or_default(), action.working_directory.0);
                self.call(id, "local_shell", input, builder);
            }
            // The result of a web search is not recorded.
            "web_search_call" => {
                let query = item.action.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "web_search", query, builder);
            }
            "tool_search_call" => {
                let query = item.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "tool_search", query, builder);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                let text = item.output.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.answered(id, output::unwrap(text), builder);
            }
            "reasoning" | "message" | "ghost_snapshot" | "compaction" | "image_generation_call" => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }

    fn call(&mut self, id: Option<String>, name: &str, input: Value, builder: &mut TranscriptEventBuilder<'_>) {
        self.start_response(builder);
        let kind = tools::kind_of(name, &input);
        let call = ToolCalled::new(id.clone(), kind, name, &tools::effective_input(name, input));
        if name == "spawn_agent" {
            push_bounded(&mut self.spawning, id.unwrap_or_default());
        }
        self.response.push_call(builder.at, call);
    }

    fn answered(
        &mut self,
        id: Option<String>,
        output: output::UnwrappedOutput<'_>,
        builder: &mut TranscriptEventBuilder<'_>,
    ) {
        self.flush_response(builder);
        if output.status == Some(CallStatus::Running) {
            push_bounded(&mut self.running, id.clone().unwrap_or_default());
        }
        let mut returned = ToolReturned::new(id.clone(), output.status, output.exit_code, &output.text);
        returned.duration_ms = output.duration_ms;
        self.push(Body::ToolReturned(returned), builder);
        if let Some(at) = self.spawning.iter().position(|call| Some(call) == id.as_ref()) {
            self.spawning.remove(at);
            if let Some(child) = spawned(&output.text) {
                self.push(Body::SubAgentStarted(SubAgent { child, role: None }), builder);
            }
        }
    }
}

fn push_bounded(ids: &mut VecDeque<String>, id: String) {
    if ids.len() == MAX_OPEN_CALLS {
        ids.pop_front();
    }
    ids.push_back(id);
}

/// The thread that a `spawn_agent` call started.
fn spawned(output: &str) -> Option<SessionKey> {
    let output: Value = serde_json::from_str(output).ok()?;
    let id = ["agent_id", "thread_id", "new_thread_id"].iter().find_map(|name| output.get(name)?.as_str())?;
    Some(SessionKey::new(ID, id))
}
