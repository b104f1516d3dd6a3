//! Calls that fail validation are reported only after the batch: the reply uses the first hook after them.

use serde_json::{Value, json};

use crate::scene::Scene;

fn invalid_edit(scene: &mut Scene, number: u32) -> Value {
    let call = json!({
        "tool_name": "Edit", "tool_use_id": format!("toolu_{number}"),
        "tool_input": { "file_path": "/a.rs", "old_string": "zzz", "new_string": "two" },
        "tool_response": "<tool_use_error>String to replace not found in file.\nString: zzz</tool_use_error>",
    });
    scene.claude("PostToolBatch", json!({ "tool_calls": [call] }))
}

#[test]
fn invalid_edits_are_commented_on_and_then_stopped() {
    let mut scene = Scene::new();
    let mut nudged = Vec::new();
    for number in 1..=12 {
        let answer = invalid_edit(&mut scene, number);
        if let Some(context) = answer["hookSpecificOutput"]["additionalContext"].as_str() {
            assert!(context.contains("a.rs"), "{context}");
            nudged.push(number);
        }
        if answer["continue"] == false {
            assert!(!nudged.is_empty() && nudged[0] <= 4, "nudged at {nudged:?}");
            assert!(nudged.len() <= 2, "each nudge is told once: {nudged:?}");
            return;
        }
    }
    panic!("it was never stopped; nudged at {nudged:?}");
}

#[test]
fn a_batch_of_calls_told_before_changes_nothing() {
    let mut scene = Scene::new();
    let input = json!({ "command": "ls" });
    scene.claude("PreToolUse", json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t" }));
    scene.claude(
        "PostToolUse",
        json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t", "tool_response": { "stdout": "a" } }),
    );
    let events = scene.events(&crate::scene::key("claude-code", "s1"));
    let call = json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t", "tool_response": "a" });
    assert!(scene.claude("PostToolBatch", json!({ "tool_calls": [call] })).is_null());
    assert_eq!(scene.events(&crate::scene::key("claude-code", "s1")), events);
}
