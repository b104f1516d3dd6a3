//! `opencode run --format json`.

use belay_core::event::Usage;
use serde_json::Value;

use crate::headless::reader::ReaderState;
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

#[derive(Debug)]
pub(crate) struct OpencodeHeadless;

/// Overrides the permissions of every configuration file.
const PERMISSION_VAR: &str = "OPENCODE_PERMISSION";

impl HeadlessProtocol for OpencodeHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["run", "--format", "json"]);
        let permission = match request.access {
            Access::ReadOnly => r#"{"edit":"deny","bash":"deny","task":"deny"}"#,
            Access::Workspace => r#"{"edit":"allow","bash":"allow","external_directory":"deny"}"#,
            Access::Full => r#"{"*":"allow"}"#,
        };
        command.env.push((PERMISSION_VAR.to_owned(), permission.to_owned()));
        command.option("--model", request.model);
        command.option("--session", request.resume);
        command
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
        state.session(text("/sessionID").unwrap_or_default());
        match text("/type") {
            Some("text") => state.message(text("/part/text").unwrap_or_default()),
            Some("tool_use") => {
                state.tool_call(text("/part/tool").unwrap_or_default(), &line["part"]["state"]["input"])
            }
            Some("step_finish") => step(&line["part"], state),
            Some("error") => {
                let message =
                    text("/error/data/message").or(text("/error/message")).unwrap_or("the agent reports an error");
                if line.pointer("/error/data/statusCode").and_then(Value::as_u64) == Some(429) {
                    state.emit(HeadlessEvent::Limit { message: message.to_owned(), until: None });
                }
                state.fail(message);
            }
            _ => {}
        }
    }
}

fn step(part: &Value, state: &mut ReaderState) {
    let tokens = |pointer: &str| part.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let usage = Usage {
        input: tokens("/tokens/input"),
        output: tokens("/tokens/output").saturating_add(tokens("/tokens/reasoning")),
        cache_read: tokens("/tokens/cache/read"),
        cache_write: tokens("/tokens/cache/write"),
        cache_write_1h: 0,
    };
    state.message_usage(part["id"].as_str().unwrap_or_default(), usage);
}
