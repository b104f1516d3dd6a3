//! Facts that hooks omit are read from the agent's session file, each once.

use belay_core::event::OperatorDecision;
use serde_json::{Value, json};

use crate::scene::{Scene, key};

fn codex(scene: &mut Scene, event: &str, call: u32, rollout: &str) -> Value {
    let mut payload = json!({
        "session_id": "s1", "hook_event_name": event, "transcript_path": rollout,
        "tool_name": "Bash", "tool_input": { "command": "make" }, "tool_use_id": format!("call_{call}"),
    });
    if event == "PostToolUse" {
        payload["tool_response"] = "running\n".into();
    }
    scene.tell("codex", event, payload)
}

fn lines(call: u32, code: i32) -> String {
    let usage = json!({
        "timestamp": "2026-11-15T18:00:00Z", "type": "token_usage_record",
        "payload": { "response_id": format!("resp_{call}"), "usage": { "input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050 } },
    });
    let ended = json!({
        "timestamp": "2026-11-15T18:00:00Z", "type": "event_msg",
        "payload": { "type": "item_completed", "item": { "type": "CommandExecution", "id": format!("call_{call}"), "exit_code": code } },
    });
    format!("{usage}\n{ended}\n")
}

#[test]
fn exit_codes_and_usage_come_from_the_rollout() {
    let mut scene = Scene::new();
    let rollout = scene.write("rollout-x.jsonl", "");
    scene.tell("codex", "SessionStart", json!({ "session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "transcript_path": rollout }));
    let mut text = String::new();
    let mut answer = Value::Null;
    for call in 1..=4 {
        answer = codex(&mut scene, "PreToolUse", call, &rollout);
        if !answer.is_null() {
            break;
        }
        text.push_str(&lines(call, 2));
        // An incomplete line is read by the next hook.
        scene.write("rollout-x.jsonl", &format!("{text}{{\"half"));
        codex(&mut scene, "PostToolUse", call, &rollout);
    }
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "a failing command is a loop, too");
    let row = scene.engine.borrow().store().unwrap().session(&key("codex", "s1")).unwrap().unwrap();
    assert_eq!((row.details.counters.calls, row.details.counters.errors), (4, 3), "the fourth was refused");
    assert_eq!(row.details.spent.usage.total(), 3 * 1050);
    // The resident process restarted without its in-memory state: nothing counts twice.
    scene.restart();
    codex(&mut scene, "PostToolUse", 9, &rollout);
    let row = scene.engine.borrow().store().unwrap().session(&key("codex", "s1")).unwrap().unwrap();
    assert_eq!(row.details.spent.usage.total(), 3 * 1050);
}

#[test]
fn usage_is_known_before_the_next_tool_runs() {
    let mut scene = Scene::new();
    let rollout = scene.write("rollout-x.jsonl", "");
    scene.tell("codex", "SessionStart", json!({ "session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "transcript_path": rollout }));
    let spent = |scene: &Scene| {
        let row = scene.engine.borrow().store().unwrap().session(&key("codex", "s1")).unwrap().unwrap();
        row.details.spent.usage.total()
    };
    // The agent writes its file some time after the hook of the tool that it reports.
    codex(&mut scene, "PreToolUse", 1, &rollout);
    codex(&mut scene, "PostToolUse", 1, &rollout);
    scene.write("rollout-x.jsonl", &lines(1, 2));
    codex(&mut scene, "PreToolUse", 2, &rollout);
    assert_eq!(spent(&scene), 1050);
    codex(&mut scene, "PermissionRequest", 2, &rollout);
    codex(&mut scene, "PostToolUse", 2, &rollout);
    assert_eq!(spent(&scene), 1050, "it counts once");
    scene.write("rollout-x.jsonl", &format!("{}{}", lines(1, 2), lines(2, 2)));
    scene.tell("codex", "UserPromptSubmit", json!({ "session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on", "transcript_path": rollout }));
    assert_eq!(spent(&scene), 2 * 1050);
}

#[test]
fn a_held_session_stays_held_where_the_hook_finds_new_usage() {
    let mut scene = Scene::new();
    let rollout = scene.write("rollout-x.jsonl", "");
    codex(&mut scene, "PreToolUse", 1, &rollout);
    scene.decide(&key("codex", "s1"), OperatorDecision::Pause);
    scene.write("rollout-x.jsonl", &lines(1, 2));
    let answer = codex(&mut scene, "PermissionRequest", 1, &rollout);
    assert_eq!(answer["hookSpecificOutput"]["decision"]["behavior"], "deny", "{answer}");
}
