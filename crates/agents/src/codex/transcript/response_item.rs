//! What the model and its tools said: the items of the conversation.

use std::collections::VecDeque;

use belay_core::event::{Body, SubAgent, ToolCalled, ToolReturned};
use belay_core::{CallStatus, SessionKey};
use serde_json::Value;

use super::record::{Action, Item};
use super::{CodexParser, user_prompt};
use crate::codex::{ID, output, tools};
use crate::lenient_json::text_of;
use crate::transcript::{LineError, TranscriptEventBuilder};

/// How many calls are kept in mind.
const MAX_OPEN_CALLS: usize = 256;

impl CodexParser {
    pub(super) fn item(&mut self, raw: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let item: Item<'_> = serde_json::from_str(raw).map_err(|_| LineError::Unknown)?;
        let id = item.call_id.non_empty().or(item.id.non_empty()).map(str::to_owned);
        match &*item.kind {
            "message" if &*item.role == "assistant" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.model_speaks(teller);
                self.gathered.push_text(&text);
            }
            "message" if &*item.role == "user" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.heard(user_prompt::classify_user_text(&text), &text, teller);
            }
            "function_call" => {
                let arguments = item.arguments.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.call(id, &item.name, tools::input(&arguments), teller);
            }
            "custom_tool_call" => {
                self.call(id, &item.name, Value::String(item.input.to_string()), teller);
            }
            "local_shell_call" => {
                let action = item.action.and_then(|raw| serde_json::from_str::<Action>(raw.get()).ok());
                let action = action.unwrap_or_default();
                let input = tools::local_shell(action.command.0.unwrap_or_default(), action.working_directory.0);
                self.call(id, "local_shell", input, teller);
            }
            // Its answer is not recorded.
            "web_search_call" => {
                let query = item.action.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "web_search", query, teller);
            }
            "tool_search_call" => {
                let query = item.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "tool_search", query, teller);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                let text = item.output.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.answered(id, output::unwrap(text), teller);
            }
            "reasoning" | "message" | "ghost_snapshot" | "compaction" | "image_generation_call" => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }

    fn call(&mut self, id: Option<String>, name: &str, input: Value, teller: &mut TranscriptEventBuilder<'_>) {
        self.model_speaks(teller);
        let call = ToolCalled::new(id.clone(), tools::kind_of(name, &input), name, &input);
        if name == "spawn_agent" {
            keep(&mut self.spawning, id.unwrap_or_default());
        }
        self.gathered.call(teller.at, call);
    }

    fn answered(
        &mut self,
        id: Option<String>,
        output: output::UnwrappedOutput<'_>,
        teller: &mut TranscriptEventBuilder<'_>,
    ) {
        self.finish_answer(teller);
        if output.status == Some(CallStatus::Running) {
            keep(&mut self.running, id.clone().unwrap_or_default());
        }
        let mut returned = ToolReturned::new(id.clone(), output.status, output.exit_code, &output.text);
        returned.duration_ms = output.duration_ms;
        self.tell(Body::ToolReturned(returned), teller);
        if let Some(at) = self.spawning.iter().position(|call| Some(call) == id.as_ref()) {
            self.spawning.remove(at);
            if let Some(child) = spawned(&output.text) {
                self.tell(Body::SubAgentStarted(SubAgent { child, role: None }), teller);
            }
        }
    }
}

fn keep(kept: &mut VecDeque<String>, id: String) {
    if kept.len() == MAX_OPEN_CALLS {
        kept.pop_front();
    }
    kept.push_back(id);
}

/// The thread a `spawn_agent` started.
fn spawned(output: &str) -> Option<SessionKey> {
    let output: Value = serde_json::from_str(output).ok()?;
    let id = ["agent_id", "thread_id", "new_thread_id"].iter().find_map(|name| output.get(name)?.as_str())?;
    Some(SessionKey::new(ID, id))
}
