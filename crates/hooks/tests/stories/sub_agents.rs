//! Sub-agents are separate sessions with a parent.

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use serde_json::{Value, json};

use crate::scene::{Scene, key};

/// The parent starts a child, which makes one call and gets one reply.
fn told_apart(scene: &Scene, child: &SessionKey, parent: &SessionKey) {
    let row = |key: &SessionKey| scene.engine.borrow().store().unwrap().session(key).unwrap().unwrap();
    let (child, parent) = (row(child), row(parent));
    assert_eq!(child.parent.as_ref(), Some(&parent.key));
    assert_eq!((child.details.counters.calls, child.details.counters.human_turns), (1, 0), "no person spoke to it");
    assert_eq!((parent.details.counters.calls, parent.details.counters.sub_agents), (0, 1));
}

#[test]
fn copilots_sub_agents_have_an_id_of_their_own() {
    let mut scene = Scene::new();
    let whole = |session: &str, mut more: Value| {
        more["sessionId"] = session.into();
        more["agentId"] = "child".into();
        more["parentAgentId"] = "main".into();
        more
    };
    scene.tell("copilot", "sessionStart", json!({ "sessionId": "main", "source": "new" }));
    scene.tell("copilot", "subagentStart", whole("main", json!({ "agentType": "general-purpose" })));
    scene.tell("copilot", "userPromptSubmitted", whole("child", json!({ "prompt": "Do it for me" })));
    let call = json!({ "toolName": "bash", "toolArgs": { "command": "ls" } });
    scene.tell("copilot", "preToolUse", whole("child", call.clone()));
    // The parent asks for the permission, for its child.
    assert!(scene.tell("copilot", "permissionRequest", whole("main", call.clone())).is_null());
    told_apart(&scene, &key("copilot", "child"), &key("copilot", "main"));
    // The hold of the parent is the child's, also where the hook reports nothing itself.
    scene.decide(&key("copilot", "main"), OperatorDecision::Pause);
    assert_eq!(scene.tell("copilot", "permissionRequest", whole("main", call))["interrupt"], true);
}

#[test]
fn what_a_sub_agent_costs_is_read_from_its_own_file() {
    let mut scene = Scene::new();
    let answer = |id: &str, tokens: u64| {
        let usage = json!({ "input_tokens": tokens, "output_tokens": 0 });
        let message = json!({ "id": id, "role": "assistant", "model": "m", "content": [{ "type": "text", "text": "x" }], "usage": usage });
        let line = json!({ "type": "assistant", "uuid": id, "sessionId": "s1", "timestamp": "2026-11-15T18:00:00Z", "message": message });
        format!("{line}\n")
    };
    let file = scene.write("s1.jsonl", &answer("msg_parent", 1000));
    scene.write("s1/subagents/agent-a1.jsonl", &(answer("msg_child", 70) + &answer("msg_under_way", 5)));
    scene.claude("SubagentStart", json!({ "agent_id": "a1", "agent_type": "Explore", "transcript_path": file }));
    let call = json!({
        "agent_id": "a1", "transcript_path": file, "tool_name": "Bash", "tool_use_id": "t1",
        "tool_input": { "command": "ls" }, "tool_response": { "stdout": "a" },
    });
    scene.claude("PreToolUse", call.clone());
    scene.claude("PostToolUse", call);
    let child = key("claude-code", "s1/a1");
    told_apart(&scene, &child, &key("claude-code", "s1"));
    let row = scene.engine.borrow().store().unwrap().session(&child).unwrap().unwrap();
    assert_eq!(row.details.spent.usage.total(), 70, "its parent's answers are not its own");
}
