//! `gemini --output-format stream-json`.

use belay_core::event::Usage;
use serde_json::Value;

use crate::headless::reader::ReaderState;
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

#[derive(Debug)]
pub(crate) struct GeminiHeadless;

impl HeadlessProtocol for GeminiHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["--output-format", "stream-json", "--approval-mode"]);
        command.args(match request.access {
            Access::ReadOnly => &["plan"][..],
            Access::Workspace => &["auto_edit", "--allowed-tools", "run_shell_command"],
            Access::Full => &["yolo"],
        });
        // A directory that is not trusted would lower the mode to "default", in which every edit is refused. The person
        // who starts the run names the directory.
        command.args(&["--skip-trust"]);
        command.option("--model", request.model);
        command.option("--resume", request.resume);
        command
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
        match text("/type") {
            Some("init") => state.session(text("/session_id").unwrap_or_default()),
            Some("message") if text("/role") == Some("assistant") => {
                let content = text("/content").unwrap_or_default();
                match line["delta"].as_bool() {
                    Some(true) => state.delta(content),
                    _ => state.message(content),
                }
            }
            Some("tool_use") => state.tool_call(text("/tool_name").unwrap_or_default(), &line["parameters"]),
            Some("tool_result") if text("/error/type") == Some("policy_violation") => {
                state.emit(HeadlessEvent::PermissionDenied {
                    tool: text("/tool_id").and_then(|id| id.split("__").next()).unwrap_or_default().to_owned(),
                    reason: text("/error/message").unwrap_or_default().to_owned(),
                });
            }
            Some("error") => {
                let message = text("/message").unwrap_or_default().to_owned();
                state.emit(HeadlessEvent::Error { message });
            }
            Some("result") => {
                state.total_usage(usage(&line["stats"]), None);
                if text("/status") == Some("error") {
                    state.fail(text("/error/message").unwrap_or("the agent reports an error"));
                }
            }
            _ => {}
        }
    }
}

/// Gemini counts cached tokens as input.
fn usage(stats: &Value) -> Usage {
    let field = |name: &str| stats.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = field("cached");
    Usage {
        input: field("input_tokens").saturating_sub(cached),
        output: field("output_tokens"),
        cache_read: cached,
        ..Usage::default()
    }
}
