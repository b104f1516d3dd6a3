//! A session of Claude Code, in the shape of recorded ones.

use serde_json::{Value, json};

use super::{Action, Call, HookOrLine, Recording, SESSION, Turn};

pub(super) struct ClaudeCode;

const CWD: &str = "/home/dev/work";

fn tool(call: &Call) -> (&'static str, Value) {
    let shell = |command: &str| ("Bash", json!({ "command": command, "description": "mock" }));
    match call.action {
        Action::Build => shell("make all"),
        Action::Test => shell("make test"),
        Action::Read => ("Read", json!({ "file_path": "/home/dev/work/notes.txt" })),
        Action::Status => shell("git status"),
        Action::Edit => {
            let new = format!("line {}", call.number);
            ("Edit", json!({ "file_path": "/home/dev/work/f.txt", "old_string": "one", "new_string": new }))
        }
        Action::Misfit => {
            ("Edit", json!({ "file_path": "/home/dev/work/g.txt", "old_string": "two", "new_string": "three" }))
        }
        Action::Start => {
            let command = format!("./serve --port {}", 4000 + call.number);
            ("Bash", json!({ "command": command, "run_in_background": true }))
        }
    }
}

/// What the model reads.
fn result_text(call: &Call) -> String {
    match call.action {
        Action::Misfit => format!("<tool_use_error>{}</tool_use_error>", call.output),
        _ if call.exit_code != 0 => format!("Exit code {}\n{}", call.exit_code, call.output),
        _ => call.output.clone(),
    }
}

/// What the hook of a successful call reports.
fn response(call: &Call) -> Value {
    let (_, input) = tool(call);
    match call.action {
        Action::Read => json!({ "type": "text", "file": { "filePath": input["file_path"], "content": call.output } }),
        Action::Edit => json!({
            "filePath": input["file_path"], "oldString": input["old_string"], "newString": input["new_string"],
        }),
        Action::Start => json!({ "stdout": "", "stderr": "", "backgroundTaskId": format!("b{}", call.number) }),
        _ => json!({ "stdout": call.output, "stderr": "", "interrupted": false }),
    }
}

impl Recording for ClaudeCode {
    const AGENT: &'static str = "claude-code";

    fn hooks(turns: &[Turn]) -> Vec<HookOrLine> {
        let mut hooks = Vec::new();
        let mut push = |event: &str, fields: Value| {
            let mut payload = json!({ "session_id": SESSION, "cwd": CWD, "hook_event_name": event });
            payload.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
            hooks.push(HookOrLine::Hook(payload));
        };
        for turn in turns {
            let calls = match turn {
                Turn::Prompt(text) => {
                    push("UserPromptSubmit", json!({ "prompt": text }));
                    continue;
                }
                Turn::Calls(calls) => calls,
            };
            let about = |call: &Call| {
                let (name, input) = tool(call);
                json!({ "tool_name": name, "tool_input": input, "tool_use_id": call.id })
            };
            // A call that fails validation is reported by the batch only.
            let runs = || calls.iter().filter(|call| call.action != Action::Misfit);
            runs().for_each(|call| push("PreToolUse", about(call)));
            for call in runs() {
                let mut fields = about(call);
                if call.exit_code == 0 {
                    fields["tool_response"] = response(call);
                    push("PostToolUse", fields);
                } else {
                    fields["error"] = json!(result_text(call));
                    push("PostToolUseFailure", fields);
                }
            }
            let batch: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let mut fields = about(call);
                    fields["tool_response"] = json!(result_text(call));
                    fields
                })
                .collect();
            push("PostToolBatch", json!({ "tool_calls": batch }));
        }
        hooks
    }

    fn transcript(turns: &[Turn]) -> (String, String) {
        let mut lines = Vec::new();
        let mut push = |mut record: Value| {
            let number = lines.len();
            let at = format!("2026-11-15T18:{:02}:{:02}.000Z", number / 60, number % 60);
            let common = json!({ "sessionId": SESSION, "cwd": CWD, "uuid": format!("u-{number}"), "timestamp": at,
                "isSidechain": false, "version": "2.1.325" });
            record.as_object_mut().expect("an object").extend(common.as_object().expect("an object").clone());
            lines.push(record.to_string());
        };
        for (at, turn) in turns.iter().enumerate() {
            let calls = match turn {
                Turn::Prompt(text) => {
                    push(json!({ "type": "user", "message": { "role": "user", "content": text } }));
                    continue;
                }
                Turn::Calls(calls) => calls,
            };
            for call in calls {
                let (name, input) = tool(call);
                push(json!({ "type": "assistant", "message": { "id": format!("msg_{at}"), "role": "assistant",
                    "model": "claude-opus-5-5", "stop_reason": "tool_use",
                    "content": [{ "type": "tool_use", "id": call.id, "name": name, "input": input }] } }));
            }
            for call in calls {
                push(json!({ "type": "user", "message": { "role": "user", "content": [tool_result(call)] } }));
            }
        }
        (format!("{SESSION}.jsonl"), lines.join("\n") + "\n")
    }

    fn requests(turns: &[Turn]) -> Vec<Value> {
        let mut messages = Vec::new();
        let mut requests = Vec::new();
        for turn in turns {
            match turn {
                Turn::Prompt(text) => {
                    messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": text }] }));
                }
                Turn::Calls(calls) => {
                    let asked: Vec<Value> = calls
                        .iter()
                        .map(|call| {
                            let (name, input) = tool(call);
                            json!({ "type": "tool_use", "id": call.id, "name": name, "input": input })
                        })
                        .collect();
                    let results: Vec<Value> = calls.iter().map(tool_result).collect();
                    messages.push(json!({ "role": "assistant", "content": asked }));
                    messages.push(json!({ "role": "user", "content": results }));
                }
            }
            requests.push(json!({ "model": "claude-opus-5-5", "messages": messages, "tools": [{ "name": "Bash" }],
                "max_tokens": 128_000, "stream": true }));
        }
        requests
    }

    fn path() -> &'static str {
        "/v1/messages?beta=true"
    }

    fn header(name: &str) -> Option<&'static str> {
        match name {
            "user-agent" => Some("claude-cli/2.1.325 (external, sdk-cli)"),
            "x-claude-code-session-id" => Some(SESSION),
            _ => None,
        }
    }
}

fn tool_result(call: &Call) -> Value {
    json!({ "type": "tool_result", "tool_use_id": call.id, "content": result_text(call), "is_error": call.exit_code != 0 })
}
