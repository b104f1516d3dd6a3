//! Behaviour of fingerprints that detectors rely on.

mod commands;
mod edits;
mod kinds;

use serde_json::{Value, json};

use super::{Action, ToolKind, classify};

/// The action a tool call condenses to, whatever its kind.
fn action(name: &str, input: Value) -> Action {
    Action::from_tool_call(classify(name, &input), name, &input).0
}

/// A shell command.
fn run(command: &str) -> Action {
    action("Bash", json!({"command": command}))
}

#[test]
fn keys_do_not_depend_on_order_or_volatile_fields() {
    let a = action("mcp__tracker__search", json!({"query": "x", "page": 2, "description": "first try", "timeout": 5}));
    let b = action("mcp__tracker__search", json!({"timeout": 9, "page": 2, "query": "x", "empty": null}));
    assert!(a.same_as(&b));
    let other_page = action("mcp__tracker__search", json!({"query": "x", "page": 3}));
    assert!(!a.same_as(&other_page));
    assert_eq!(a.skeleton, other_page.skeleton);
}

#[test]
fn inputs_may_be_json_text_holding_json_or_plain_text() {
    let object = action("read_file", json!({"path": "src/a.rs"}));
    let text = action("read_file", json!("{\"path\": \"./src//a.rs\"}"));
    let wrapped = action("read_file", json!({"arguments": "{\"path\":\"src/a.rs\"}"}));
    assert!(object.same_as(&text) && object.same_as(&wrapped));
    assert!(action("bash", json!("ls -la")).same_as(&run("ls -la")));
}

#[test]
fn a_tool_without_known_fields_is_identified_by_its_complete_input() {
    let a = action("frobnicate", json!({"alpha": 1}));
    let b = action("frobnicate", json!({"alpha": 1, "beta": "two"}));
    assert_ne!(a.key, b.key);
    let only_volatile = action("frobnicate", json!({"description": "one"}));
    assert_ne!(only_volatile.key, action("frobnicate", json!({"description": "two"})).key);
}

#[test]
fn offsets_change_the_key_but_not_the_target() {
    let first = action("Read", json!({"file_path": "/a/b.rs", "offset": 1, "limit": 50}));
    let second = action("Read", json!({"file_path": "/a/b.rs", "offset": 51, "limit": 50}));
    assert_ne!(first.key, second.key);
    assert_ne!(first.look, second.look);
    assert_eq!(first.target, second.target);
    assert_eq!(first.shape, second.shape);
}

#[test]
fn queries_that_differ_in_a_word_are_similar() {
    let a = action("WebSearch", json!({"query": "rust sqlite wal mode concurrent writers busy timeout"}));
    let b = action("WebSearch", json!({"query": "rust sqlite wal mode concurrent writers busy timeouts"}));
    let c = action("WebSearch", json!({"query": "how to bake sourdough bread at home"}));
    assert!(a.similarity(&b) > 0.7, "{}", a.similarity(&b));
    assert!(a.similarity(&c) < 0.5, "{}", a.similarity(&c));
}

#[test]
fn an_action_is_small() {
    let long = "x".repeat(100_000);
    let (action, salient) =
        Action::from_tool_call(ToolKind::Write, "Write", &json!({"file_path": "/a", "content": long}));
    assert!(serde_json::to_string(&action).unwrap().len() < 400);
    assert!(salient.starts_with("/a"));
    let back: Action = serde_json::from_str(&serde_json::to_string(&action).unwrap()).unwrap();
    assert_eq!(back, action);
}
