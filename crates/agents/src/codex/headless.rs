//! `codex exec --json`.

use belay_core::event::Usage;
use serde_json::Value;

use crate::headless::reader::ReaderState;
use crate::headless::{Access, HeadlessCommand, HeadlessEvent, HeadlessProtocol, HeadlessRequest};

#[derive(Debug)]
pub(crate) struct CodexHeadless;

impl HeadlessProtocol for CodexHeadless {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand {
        let mut command = HeadlessCommand::new(&["exec", "--json", "--skip-git-repo-check"]);
        command.args(match request.access {
            Access::ReadOnly => &["--sandbox", "read-only", "-c", "approval_policy=\"never\""][..],
            Access::Workspace => &["--sandbox", "workspace-write", "-c", "approval_policy=\"never\""],
            Access::Full => &["--dangerously-bypass-approvals-and-sandbox"],
        });
        command.option("--model", request.model);
        if let Some(schema) = request.schema {
            let file = request.scratch.join("output-schema.json");
            command.args(&["--output-schema"]);
            command.args.push(file.clone().into());
            command.files.push((file, schema.to_owned()));
        }
        command.option("resume", request.resume);
        // The prompt comes from stdin.
        command.args(&["-"]);
        command
    }

    fn enforces_schema(&self) -> bool {
        true
    }

    fn read(&self, line: &Value, state: &mut ReaderState) {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
        match text("/type") {
            Some("thread.started") => state.session(text("/thread_id").unwrap_or_default()),
            Some("item.started") => item(&line["item"], state),
            Some("item.completed") if text("/item/type") == Some("agent_message") => {
                state.message(text("/item/text").unwrap_or_default());
            }
            // Changes of files are reported once, when they are made.
            Some("item.completed") if text("/item/type") == Some("file_change") => item(&line["item"], state),
            Some("turn.completed") => state.total_usage(usage(&line["usage"]), None),
            Some("turn.failed") => failed(text("/error/message").unwrap_or("the turn failed"), state),
            Some("error") => {
                let message = text("/message").unwrap_or_default().to_owned();
                state.emit(HeadlessEvent::Error { message });
            }
            _ => {}
        }
    }
}

fn item(item: &Value, state: &mut ReaderState) {
    match item["type"].as_str() {
        Some("command_execution") => state.tool_call("shell", item),
        Some("file_change") => {
            let paths = item["changes"].as_array().into_iter().flatten().filter_map(|change| change["path"].as_str());
            let paths = paths.collect::<Vec<_>>().join(", ");
            state.tool_call("apply_patch", &Value::String(paths));
        }
        Some("mcp_tool_call") => state.tool_call(item["tool"].as_str().unwrap_or("mcp"), &item["arguments"]),
        Some("web_search") => state.tool_call("web_search", item),
        _ => {}
    }
}

fn failed(message: &str, state: &mut ReaderState) {
    if message.contains("usage limit") || message.contains("429") {
        state.emit(HeadlessEvent::Limit { message: message.to_owned(), until: None });
    }
    state.fail(message);
}

/// Codex counts cached tokens as input.
fn usage(usage: &Value) -> Usage {
    let field = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (cache_read, cache_write) = (field("cached_input_tokens"), field("cache_write_input_tokens"));
    Usage {
        input: field("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        output: field("output_tokens"),
        cache_read,
        cache_write,
        cache_write_1h: 0,
    }
}
