//! `claude -p`: stream-json, as Qwen Code prints it too.

use serde_json::Value;

use crate::headless::reader::{ReaderState, anthropic_usage, micros};
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

/// Tools that change something.
const WRITING_TOOLS: &str = "Edit,Write,NotebookEdit,Bash";

#[derive(Debug)]
pub(crate) struct ClaudeCodeHeadless;

impl HeadlessProtocol for ClaudeCodeHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["-p", "--output-format", "stream-json", "--verbose"]);
        command.args(match request.access {
            // The mode of the user's settings could allow what is not listed.
            Access::ReadOnly => &[
                "--permission-mode",
                "default",
                "--allowedTools",
                "Read,Grep,Glob",
                "--disallowedTools",
                WRITING_TOOLS,
            ],
            Access::Workspace => &["--permission-mode", "acceptEdits", "--allowedTools", "Bash"][..],
            Access::Full => &["--dangerously-skip-permissions"],
        });
        command.option("--model", request.model);
        command.option("--resume", request.resume);
        command.option("--json-schema", request.schema);
        command
    }

    fn enforces_schema(&self) -> bool {
        true
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        read_stream_json(line, state);
    }
}

/// Reads a line of stream-json.
pub(crate) fn read_stream_json(line: &Value, state: &mut ReaderState) {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
    if let Some(session) = text("/session_id") {
        state.session(session);
    }
    match (text("/type"), text("/subtype")) {
        (Some("assistant"), _) if line.get("parent_tool_use_id").is_none_or(Value::is_null) => message(line, state),
        (Some("system"), Some("permission_denied")) => state.emit(HeadlessEvent::PermissionDenied {
            tool: text("/tool_name").unwrap_or_default().to_owned(),
            reason: text("/message").unwrap_or_default().to_owned(),
        }),
        (Some("rate_limit_event"), _) => limit(line, state),
        (Some("result"), _) => result(line, state),
        _ => {}
    }
}

fn message(line: &Value, state: &mut ReaderState) {
    let message = &line["message"];
    // What the CLI itself says in the agent's place, such as an API error, is in the result as well.
    let is_synthetic = message["model"] == "<synthetic>";
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") if !is_synthetic => state.message(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => state.tool_call(block["name"].as_str().unwrap_or_default(), &block["input"]),
            _ => {}
        }
    }
    if let Some(id) = message["id"].as_str() {
        state.message_usage(id, anthropic_usage(&message["usage"]));
    }
}

fn limit(line: &Value, state: &mut ReaderState) {
    let info = line.get("rate_limit_info").unwrap_or(line);
    if info["status"].as_str() != Some("rejected") {
        return;
    }
    let until =
        info["resetsAt"].as_i64().map(|seconds| belay_core::Timestamp::from_millis(seconds.saturating_mul(1000)));
    let kind = info["rateLimitType"].as_str().unwrap_or("usage");
    state.emit(HeadlessEvent::Limit { message: format!("the {} limit is reached", kind.replace('_', " ")), until });
}

fn result(line: &Value, state: &mut ReaderState) {
    let usage = anthropic_usage(&line["usage"]);
    state.total_usage(usage, line.get("total_cost_usd").and_then(micros));
    // With a schema, the answer is in a field of its own.
    let structured = line.get("structured_output").filter(|output| output.is_object()).map(Value::to_string);
    let answer = structured.or_else(|| line["result"].as_str().map(str::to_owned));
    if line["api_error_status"].as_u64() == Some(429) {
        let message = answer.clone().unwrap_or_else(|| "the usage limit is reached".to_owned());
        state.emit(HeadlessEvent::Limit { message, until: None });
    }
    match (line["is_error"].as_bool(), answer) {
        (Some(true), answer) => state.fail(answer.as_deref().unwrap_or("the agent reports an error")),
        (_, Some(answer)) if !answer.trim().is_empty() => state.message(&answer),
        _ => {}
    }
}
