//! `qwen --output-format stream-json`: Gemini CLI's flags, Claude Code's output.

use serde_json::Value;

use crate::claude_code::headless::read_stream_json;
use crate::headless::reader::ReaderState;
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

#[derive(Debug)]
pub(crate) struct QwenHeadless;

impl HeadlessProtocol for QwenHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["--output-format", "stream-json", "--approval-mode"]);
        command.args(match request.access {
            Access::ReadOnly => &["plan"][..],
            Access::Workspace => &["auto-edit", "--allowed-tools", "run_shell_command"],
            Access::Full => &["yolo"],
        });
        command.option("--model", request.model);
        command.option("--resume", request.resume);
        command
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        for denied in line["permission_denials"].as_array().into_iter().flatten() {
            let tool = denied["tool_name"].as_str().unwrap_or_default().to_owned();
            state.emit(HeadlessEvent::PermissionDenied { tool, reason: "not allowed in this mode".to_owned() });
        }
        read_stream_json(line, state);
    }
}
