//! A paused session stays paused, with each agent's strongest reply, until a person resumes it.

use belay_core::event::OperatorDecision;
use serde_json::{Value, json};

use crate::scene::{Scene, key, resume};

/// A session that ignored its nudges.
fn stubborn() -> (Scene, Value) {
    let mut scene = Scene::new();
    for call in 1..=12 {
        let answer = scene.failing_command(call);
        if answer["continue"] == false {
            return (scene, answer);
        }
    }
    panic!("it was never paused");
}

#[test]
fn ignoring_nudges_leads_to_a_pause_that_says_how_to_lift_it() {
    let (mut scene, answer) = stubborn();
    let reason = answer["stopReason"].as_str().unwrap();
    assert!(reason.contains("npm test") && reason.contains("belay resume claude-code:s1"), "{reason}");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    // Everything that follows is held: other tools, prompts, and after a restart as well.
    scene.restart();
    let read = json!({ "tool_name": "Read", "tool_input": { "file_path": "/a" }, "tool_use_id": "toolu_read" });
    assert_eq!(scene.claude("PreToolUse", read)["continue"], false);
    assert_eq!(scene.claude("UserPromptSubmit", json!({ "prompt": "go on" }))["decision"], "block");
}

#[test]
fn a_resume_lets_it_go_on_and_a_kill_is_not_lifted() {
    let (mut scene, _) = stubborn();
    let session = key("claude-code", "s1");
    scene.decide(&session, resume());
    let read = |id: &str| json!({ "tool_name": "Read", "tool_input": { "file_path": "/a" }, "tool_use_id": id });
    assert!(scene.claude("PreToolUse", read("toolu_r1")).is_null());
    scene.decide(&session, OperatorDecision::Kill);
    assert_eq!(scene.refusal(&session, resume()), "claude-code:s1 is killed and cannot be resumed");
    assert_eq!(scene.claude("PreToolUse", read("toolu_r2"))["continue"], false);
    assert_eq!(scene.claude("UserPromptSubmit", json!({ "prompt": "go on" }))["decision"], "block");
}

#[test]
fn a_persons_pause_holds_the_next_call_of_every_agent() {
    let mut scene = Scene::new();
    // Each session starts, is paused by a person, and makes another call.
    let stories: [(&str, &str, Value, &str, Value, &str); 6] = [
        (
            "codex",
            "SessionStart",
            json!({ "session_id": "x", "hook_event_name": "SessionStart" }),
            "PreToolUse",
            json!({ "session_id": "x", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "c" }),
            "/hookSpecificOutput/permissionDecision",
        ),
        (
            "gemini",
            "SessionStart",
            json!({ "session_id": "x" }),
            "BeforeModel",
            json!({ "session_id": "x", "hook_event_name": "BeforeModel" }),
            "/decision",
        ),
        (
            "copilot",
            "sessionStart",
            json!({ "sessionId": "x" }),
            "permissionRequest",
            json!({ "sessionId": "x", "toolName": "bash" }),
            "/interrupt",
        ),
        (
            "opencode",
            "session.created",
            json!({ "sessionID": "x" }),
            "chat.params",
            json!({ "sessionID": "x" }),
            "/stop",
        ),
        (
            "qwen",
            "SessionStart",
            json!({ "session_id": "x" }),
            "UserPromptSubmit",
            json!({ "session_id": "x", "prompt": "" }),
            "/decision",
        ),
        (
            "cursor",
            "sessionStart",
            json!({ "conversation_id": "x" }),
            "beforeSubmitPrompt",
            json!({ "conversation_id": "x" }),
            "/user_message",
        ),
    ];
    for (agent, start, begins, asks, question, held) in stories {
        scene.tell(agent, start, begins);
        assert!(scene.tell(agent, asks, question.clone()).is_null(), "{agent} may go on");
        scene.decide(&key(agent, "x"), OperatorDecision::Pause);
        let answer = scene.tell(agent, asks, question.clone());
        assert!(answer.pointer(held).is_some(), "{agent}: {answer}");
        scene.decide(&key(agent, "x"), resume());
        assert!(scene.tell(agent, asks, question).is_null(), "{agent} may go on again");
    }
}

#[test]
fn copilot_is_led_to_the_one_place_where_it_can_be_stopped() {
    let mut scene = Scene::new();
    scene.tell("copilot", "sessionStart", json!({ "sessionId": "c" }));
    scene.decide(&key("copilot", "c"), OperatorDecision::Pause);
    let shell = json!({ "sessionId": "c", "toolName": "bash", "toolArgs": { "command": "rm -rf /" } });
    let answer = scene.tell("copilot", "preToolUse", shell);
    let command = answer["modifiedArgs"]["command"].as_str().unwrap();
    assert!(command.starts_with("echo '") && !command.contains("rm -rf"), "{command}");
    let view = json!({ "sessionId": "c", "toolName": "view", "toolArgs": { "path": "/a" } });
    assert_eq!(scene.tell("copilot", "preToolUse", view)["permissionDecision"], "deny");
}

#[test]
fn a_held_call_of_codex_waits_for_a_person() {
    let mut scene = Scene::new();
    let session = key("codex", "x");
    let ask = |call: &str| json!({ "session_id": "x", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": call });
    scene.tell("codex", "SessionStart", json!({ "session_id": "x", "hook_event_name": "SessionStart" }));
    scene.decide(&session, OperatorDecision::Pause);
    let request = scene.ask("codex", "PreToolUse", ask("c1"));
    assert_eq!(scene.give(&request).wait_for.as_ref(), Some(&session));
    // There is no person to decide.
    let request = belay_ipc::HookRequest { ci: true, ..scene.ask("codex", "PreToolUse", ask("c2")) };
    assert_eq!(scene.give(&request).wait_for, None);
    // A prompt is refused at once.
    let prompt = json!({ "session_id": "x", "hook_event_name": "UserPromptSubmit", "prompt": "go on" });
    let request = scene.ask("codex", "UserPromptSubmit", prompt);
    assert_eq!(scene.give(&request).wait_for, None);
}
