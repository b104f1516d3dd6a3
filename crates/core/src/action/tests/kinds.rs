//! Classification of known and unknown tools.

use serde_json::{Value, json};

use super::super::ToolKind::{self, *};
use super::super::{Action, classify};

#[test]
fn tools_are_classified_by_name_and_input() {
    let table: Vec<(&str, Value, ToolKind)> = vec![
        ("Bash", json!({"command": "ls", "description": "d"}), Shell),
        ("shell", json!({"command": ["bash", "-lc", "ls"]}), Shell),
        ("exec_command", json!({"cmd": "ls", "workdir": "/w"}), Shell),
        ("run_shell_command", json!({"command": "ls"}), Shell),
        ("functions.shell_command", json!({"command": "ls"}), Shell),
        ("write_stdin", json!({"session_id": 4, "chars": ""}), Poll),
        ("write_stdin", json!({"session_id": 4, "chars": "y\n"}), Shell),
        ("str_replace_editor", json!({"command": "view", "path": "/a"}), Read),
        ("str_replace_editor", json!("{\"command\": \"create\", \"path\": \"/a\", \"file_text\": \"x\"}"), Write),
        ("str_replace_based_edit_tool", json!({"command": "str_replace", "path": "/a", "old_str": "x"}), Edit),
        ("str_replace_based_edit_tool", json!({"command": "insert", "path": "/a", "insert_line": 3}), Edit),
        ("str_replace_editor", json!({"command": "undo_edit", "path": "/a"}), Edit),
        ("apply_patch", json!({"input": "*** Begin Patch"}), Edit),
        ("Read", json!({"file_path": "/a"}), Read),
        ("read_many_files", json!({"paths": ["a", "b"]}), Read),
        ("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y"}), Edit),
        ("replace", json!({"file_path": "/a", "old_string": "x", "new_string": "y"}), Edit),
        ("Write", json!({"file_path": "/a", "content": "x"}), Write),
        ("Grep", json!({"pattern": "x"}), Search),
        ("glob", json!({"pattern": "*.rs"}), Search),
        ("google_web_search", json!({"query": "x"}), Search),
        ("WebFetch", json!({"url": "https://x.test", "prompt": "p"}), Fetch),
        ("Task", json!({"prompt": "p", "subagent_type": "general"}), SubAgent),
        ("Agent", json!({"prompt": "p"}), SubAgent),
        ("mcp__github__list_issues", json!({"repo": "x"}), Mcp),
        ("TodoWrite", json!({"todos": []}), Plan),
        ("update_plan", json!({"plan": []}), Plan),
        ("sequentialthinking", json!({"thought": "hm"}), Plan),
        ("TaskUpdate", json!({"taskId": "1"}), Plan),
        ("TaskOutput", json!({"task_id": "1", "block": true}), Poll),
        ("BashOutput", json!({"bash_id": "1"}), Poll),
        ("finish", json!({"message": "done"}), Finish),
        ("task_done", json!({}), Finish),
        ("submit", json!("submit"), Finish),
        ("attempt_completion", json!({"result": "done"}), Finish),
        ("AskUserQuestion", json!({"questions": []}), Ask),
        ("open", json!("open src/a.py 12"), Read),
        ("tshark", json!("tshark -r a.pcap"), Shell),
        ("python", json!("print(1)"), Shell),
        // Unknown tools.
        ("change_file", json!({"path": "/a", "old_text": "x", "new_text": "y"}), Edit),
        ("put", json!({"path": "/a", "content": "x"}), Write),
        ("look_around", json!({"path": "src", "pattern": "x"}), Search),
        ("go", json!({"command": "ls"}), Shell),
        ("search_everything", json!({"what": "x"}), Search),
        ("get_method_code", json!({"name": "x"}), Read),
        ("browser_use", json!({"action": "go_to_url", "url": "https://x.test"}), Other),
        ("frobnicate", json!({}), Other),
    ];
    for (name, input, kind) in table {
        assert_eq!(classify(name, &input), kind, "{name} {input}");
    }
}

#[test]
fn the_name_of_a_tool_says_whether_it_changes_something() {
    let mutates =
        |name: &str| Action::from_tool_call(classify(name, &json!({"id": 1})), name, &json!({"id": 1})).0.mutates;
    for name in
        ["mcp__github__create_issue", "mcp__playwright__browser_click", "sendMail", "mcp__serena__replace_symbol"]
    {
        assert!(mutates(name), "{name}");
    }
    for name in
        ["mcp__github__get_release", "mcp__github__pull_request_read", "mcp__playwright__browser_snapshot", "lookup"]
    {
        assert!(!mutates(name), "{name}");
    }
}
