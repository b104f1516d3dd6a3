//! A session of Codex, in the shape of recorded ones.

use serde_json::{Value, json};

use super::{Action, Call, HookOrLine, Recording, SESSION, Turn};

pub(super) struct Codex;

const CWD: &str = "/home/dev/work";

/// The command, or the patch.
enum Input {
    Command(String),
    Patch(String),
}

fn input(call: &Call) -> Input {
    let patch = |file: &str, old: &str, new: &str| {
        Input::Patch(format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch"))
    };
    match call.action {
        Action::Build => Input::Command("make all".to_owned()),
        Action::Test => Input::Command("make test".to_owned()),
        Action::Read => Input::Command("cat notes.txt".to_owned()),
        Action::Status => Input::Command("git status".to_owned()),
        Action::Edit => patch("f.txt", "one", &format!("line {}", call.number)),
        Action::Misfit => patch("g.txt", "two", "three"),
        Action::Start => Input::Command(format!("./serve --port {}", 4000 + call.number)),
    }
}

/// What the model reads.
fn result_text(call: &Call) -> String {
    let Call { output, exit_code, number, .. } = call;
    match call.action {
        Action::Edit => format!("Exit code: 0\nWall time: 0 seconds\nOutput:\n{output}\n"),
        Action::Misfit => "apply_patch verification failed: Failed to find expected lines in g.txt:\ntwo".to_owned(),
        Action::Start => {
            format!(
                "Chunk ID: c{number}\nWall time: 1.0006 seconds\nProcess running with session ID {number}\nOutput:\n"
            )
        }
        _ => format!(
            "Chunk ID: c{number}\nWall time: 0.0000 seconds\nProcess exited with code {exit_code}\n\
             Original token count: 2\nOutput:\n{output}\n"
        ),
    }
}

/// The line of the session file that tells an exit code.
fn exit_line(call: &Call) -> Option<Value> {
    let runs = !matches!(call.action, Action::Edit | Action::Misfit | Action::Start);
    runs.then(|| {
        json!({ "type": "event_msg", "payload": { "type": "item_completed", "thread_id": SESSION,
            "item": { "type": "CommandExecution", "id": call.id, "exit_code": call.exit_code, "status": "completed" } } })
    })
}

fn call_item(call: &Call) -> Value {
    match input(call) {
        Input::Command(command) => json!({ "type": "function_call", "name": "exec_command", "call_id": call.id,
            "arguments": json!({ "cmd": command }).to_string() }),
        Input::Patch(patch) => {
            json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": call.id, "input": patch })
        }
    }
}

fn output_item(call: &Call) -> Value {
    let kind = match input(call) {
        Input::Command(_) => "function_call_output",
        Input::Patch(_) => "custom_tool_call_output",
    };
    json!({ "type": kind, "call_id": call.id, "output": result_text(call) })
}

fn user_message(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
}

impl Recording for Codex {
    const AGENT: &'static str = "codex";

    fn hooks(turns: &[Turn]) -> Vec<HookOrLine> {
        let mut hooks = Vec::new();
        for turn in turns {
            let payload = |event: &str, fields: Value| {
                let mut payload =
                    json!({ "session_id": SESSION, "turn_id": "t-1", "cwd": CWD, "hook_event_name": event });
                payload.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
                HookOrLine::Hook(payload)
            };
            let calls = match turn {
                Turn::Prompt(text) => {
                    hooks.push(payload("UserPromptSubmit", json!({ "prompt": text })));
                    continue;
                }
                Turn::Calls(calls) => calls,
            };
            let about = |call: &Call| match input(call) {
                Input::Command(command) => {
                    json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": call.id })
                }
                Input::Patch(patch) => {
                    json!({ "tool_name": "apply_patch", "tool_input": { "command": patch }, "tool_use_id": call.id })
                }
            };
            hooks.extend(calls.iter().map(|call| payload("PreToolUse", about(call))));
            for call in calls {
                let mut fields = about(call);
                fields["tool_response"] = match call.action {
                    Action::Edit | Action::Misfit | Action::Start => json!(result_text(call)),
                    _ => json!(format!("{}\n", call.output)),
                };
                hooks.push(payload("PostToolUse", fields));
                hooks.extend(exit_line(call).map(|line| HookOrLine::Line(line.to_string())));
            }
        }
        hooks
    }

    fn transcript(turns: &[Turn]) -> (String, String) {
        let meta = json!({ "type": "session_meta", "payload": { "id": SESSION, "cwd": CWD, "originator": "codex_exec",
            "cli_version": "0.166.0", "timestamp": "2026-11-15T17:56:10.285Z" } });
        let mut records = vec![meta];
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
        for turn in turns {
            match turn {
                Turn::Prompt(text) => records.push(item(user_message(text))),
                Turn::Calls(calls) => {
                    records.extend(calls.iter().map(|call| item(call_item(call))));
                    for call in calls {
                        records.extend(exit_line(call));
                        records.push(item(output_item(call)));
                    }
                }
            }
        }
        let stamped = records.into_iter().enumerate().map(|(at, mut record)| {
            record["timestamp"] = json!(format!("2026-11-15T18:{:02}:{:02}.000Z", at / 60, at % 60));
            record.to_string() + "\n"
        });
        (format!("rollout-2026-11-15T17-56-10-{SESSION}.jsonl"), stamped.collect())
    }

    fn requests(turns: &[Turn]) -> Vec<Value> {
        let mut items = Vec::new();
        let mut requests = Vec::new();
        for turn in turns {
            match turn {
                Turn::Prompt(text) => items.push(user_message(text)),
                Turn::Calls(calls) => {
                    items.extend(calls.iter().map(call_item));
                    items.extend(calls.iter().map(output_item));
                }
            }
            requests.push(json!({ "model": "gpt-5.5", "stream": true, "input": items,
                "tools": [{ "type": "function", "name": "exec_command" }] }));
        }
        requests
    }

    fn path() -> &'static str {
        "/v1/responses"
    }

    fn header(name: &str) -> Option<&'static str> {
        match name {
            "user-agent" => Some("codex_exec/0.166.0 (Debian)"),
            "thread-id" | "session-id" => Some(SESSION),
            _ => None,
        }
    }
}
