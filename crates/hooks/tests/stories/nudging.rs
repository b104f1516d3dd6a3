//! A nudge reaches the agent once, at the right call, and counts once.

use serde_json::json;

use crate::scene::{Scene, key};

#[test]
fn the_fourth_equal_call_is_answered_instead_of_run() {
    let mut scene = Scene::new();
    for call in 1..=3 {
        assert!(scene.failing_command(call).is_null(), "call {call} runs");
    }
    let answer = scene.failing_command(4);
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    for part in ["npm test", "Cannot find module", "Try instead:"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert!(answer.get("continue").is_none(), "a nudge does not stop the agent");
}

#[test]
fn other_calls_are_not_punished_for_it() {
    let mut scene = Scene::new();
    for call in 1..=3 {
        scene.failing_command(call);
    }
    let read = json!({ "tool_name": "Read", "tool_input": { "file_path": "/a" }, "tool_use_id": "toolu_read" });
    assert!(scene.claude("PreToolUse", read).is_null());
}

#[test]
fn the_same_hook_call_told_on_both_ways_counts_once() {
    let mut scene = Scene::new();
    for call in 1..=3 {
        scene.failing_command(call);
    }
    // The resident process was slow: the hook decided in-process, and the request was processed later as well.
    let input = json!({ "command": "npm test" });
    let payload = json!({
        "session_id": "s1", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_4",
    });
    let ask = scene.ask("claude-code", "PreToolUse", payload);
    let first = scene.give(&ask);
    let events = scene.events(&key("claude-code", "s1"));
    let again = scene.give(&ask);
    assert_eq!(first, again, "a question asked twice is answered alike");
    assert!(!first.stdout.is_empty());
    assert_eq!(scene.events(&key("claude-code", "s1")), events);
}

#[test]
fn agents_without_call_ids_are_nudged_too_and_parallel_answers_find_their_calls() {
    let mut scene = Scene::new();
    let call = |command: &str| json!({ "sessionId": "c1", "toolName": "bash", "toolArgs": { "command": command } });
    let result = |command: &str, shell: u32, code: u32| {
        let mut payload = call(command);
        let text = format!("out of {command}\n<shellId: {shell} completed with exit code {code}>");
        payload["toolResult"] = json!({ "resultType": "success", "textResultForLlm": text });
        payload
    };
    for round in 0..3 {
        // Two parallel calls with results in reverse order.
        assert!(scene.tell("copilot", "preToolUse", call("make a")).is_null());
        assert!(scene.tell("copilot", "preToolUse", call(&format!("make b{round}"))).is_null());
        assert!(scene.tell("copilot", "postToolUse", result(&format!("make b{round}"), round * 2 + 1, 0)).is_null());
        assert!(scene.tell("copilot", "postToolUse", result("make a", round * 2, 2)).is_null());
    }
    let answer = scene.tell("copilot", "preToolUse", call("make a"));
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
}
