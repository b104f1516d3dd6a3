//! `copilot --output-format json`.

use serde_json::Value;

use crate::headless::reader::ReaderState;
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

#[derive(Debug)]
pub(crate) struct CopilotHeadless;

impl HeadlessProtocol for CopilotHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["--output-format", "json"]);
        command.args(match request.access {
            Access::ReadOnly => &["--deny-tool", "shell", "--deny-tool", "write"][..],
            Access::Workspace => &["--allow-all-tools"],
            Access::Full => &["--allow-all"],
        });
        command.option("--model", request.model);
        command.option("--resume", request.resume);
        command
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
        match text("/type") {
            Some("assistant.message") => state.message(text("/data/content").unwrap_or_default()),
            Some("tool.execution_start") => {
                state.tool_call(text("/data/toolName").unwrap_or_default(), &line["data"]["arguments"]);
            }
            Some("tool.execution_complete") if text("/data/error/code") == Some("denied") => {
                let tool = state.last_tool().to_owned();
                let reason = text("/data/error/message").unwrap_or_default().to_owned();
                state.emit(HeadlessEvent::PermissionDenied { tool, reason });
            }
            Some("session.error") => {
                let message = text("/data/message").unwrap_or("the agent reports an error");
                if text("/data/errorType") == Some("rate_limit") {
                    state.emit(HeadlessEvent::Limit { message: message.to_owned(), until: None });
                }
                state.fail(message);
            }
            // Tokens are not reported here; Belay counts them in the proxy and in the session's event file.
            Some("result") => state.session(text("/sessionId").unwrap_or_default()),
            _ => {}
        }
    }
}
