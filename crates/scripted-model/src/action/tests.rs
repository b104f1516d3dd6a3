//! One script for every agent: an action becomes a call of an offered tool.

use serde_json::{Value, json};

use super::{Action, PlannedCall};
use crate::answer::Input;
use crate::classify::Api;
use crate::offered_tools::{OfferedTool, offered};

fn object(properties: &[&str], required: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn claude() -> Vec<OfferedTool> {
    let tool = |name: &str, schema| json!({"name": name, "input_schema": schema});
    let tools = [
        tool("Bash", object(&["command", "timeout"], &["command"])),
        tool("Edit", object(&["file_path", "old_string", "new_string"], &["file_path"])),
        tool("Read", object(&["file_path"], &["file_path"])),
        tool("Write", object(&["file_path", "content"], &["file_path"])),
    ];
    offered(Api::Messages, &json!({"tools": tools}))
}

fn codex() -> Vec<OfferedTool> {
    let tools = json!([
        {"type": "function", "name": "exec_command", "parameters": object(&["cmd", "workdir"], &["cmd"])},
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "collaboration", "tools": [
            {"type": "function", "name": "spawn_agent", "parameters": object(&["message"], &[])},
        ]},
        {"type": "web_search"},
    ]);
    offered(Api::Responses, &json!({"tools": tools}))
}

fn gemini() -> Vec<OfferedTool> {
    let tool = |name: &str, schema| json!({"name": name, "parametersJsonSchema": schema});
    let declarations = [
        tool("run_shell_command", object(&["command", "description"], &["command"])),
        tool("replace", object(&["file_path", "instruction", "old_string", "new_string"], &["instruction"])),
        tool("read_file", object(&["file_path"], &["file_path"])),
    ];
    offered(Api::Gemini, &json!({"tools": [{"functionDeclarations": declarations}]}))
}

fn opencode() -> Vec<OfferedTool> {
    let tool = |name: &str, schema| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let tools = [
        tool("bash", object(&["command"], &["command"])),
        tool("edit", object(&["filePath", "oldString", "newString"], &["filePath"])),
        tool("write", object(&["filePath", "content"], &["filePath"])),
    ];
    offered(Api::Chat, &json!({"tools": tools}))
}

fn planned(action: &Action, tools: &[OfferedTool]) -> (String, Value) {
    let PlannedCall { name, input, .. } = action.plan(tools).expect("a tool for it");
    match input {
        Input::Json(args) => (name, args),
        Input::Freeform(text) => (name, json!(text)),
    }
}

#[test]
fn a_command_goes_to_the_shell_tool_under_its_own_argument_name() {
    let run = Action::shell("make");
    assert_eq!(planned(&run, &claude()), ("Bash".into(), json!({"command": "make"})));
    assert_eq!(planned(&run, &codex()), ("exec_command".into(), json!({"cmd": "make"})));
    assert_eq!(planned(&run, &gemini()), ("run_shell_command".into(), json!({"command": "make"})));
    assert_eq!(planned(&run, &opencode()), ("bash".into(), json!({"command": "make"})));
}

#[test]
fn an_argv_shell_gets_an_argv() {
    let schema = json!({"properties": {"command": {"type": "array"}}, "required": ["command"]});
    let tools = json!({"tools": [{"type": "function", "name": "shell", "parameters": schema}]});
    let (_, args) = planned(&Action::shell("make"), &offered(Api::Responses, &tools));
    assert_eq!(args, json!({"command": ["bash", "-lc", "make"]}));
}

#[test]
fn edits_find_the_names_the_schema_uses_and_required_extras_are_filled() {
    let edit = Action::edit("/a.rs", "old", "new");
    let opencode_edit = json!({"filePath": "/a.rs", "oldString": "old", "newString": "new"});
    assert_eq!(planned(&edit, &opencode()), ("edit".into(), opencode_edit));
    let (name, args) = planned(&edit, &gemini());
    assert_eq!((name.as_str(), &args["instruction"]), ("replace", &json!("Scripted step")));
}

#[test]
fn without_a_file_tool_a_patch_or_the_shell_does_it() {
    let (name, patch) = planned(&Action::write("/w/a.txt", "one\ntwo\n"), &codex());
    assert_eq!(name, "apply_patch");
    assert_eq!(patch, "*** Begin Patch\n*** Add File: /w/a.txt\n+one\n+two\n*** End Patch");
    let (_, patch) = planned(&Action::edit("/w/a.txt", "one", "1"), &codex());
    assert_eq!(patch, "*** Begin Patch\n*** Update File: /w/a.txt\n@@\n-one\n+1\n*** End Patch");
    assert_eq!(planned(&Action::read("/w/it's"), &codex()).1, json!({"cmd": r"cat '/w/it'\''s'"}));
    let (name, args) = planned(&Action::write("/w/a", "it's"), &gemini());
    assert_eq!((name.as_str(), args["command"].as_str()), ("run_shell_command", Some(r"printf %s 'it'\''s' > '/w/a'")));
}

#[test]
fn a_named_tool_keeps_its_arguments_and_finds_its_namespace() {
    let call = Action::call("spawn_agent", json!({"message": "go"})).plan(&codex()).expect("planned");
    assert_eq!(call.namespace.as_deref(), Some("collaboration"));
    assert_eq!(call.input, Input::Json(json!({"message": "go"})));
}

#[test]
fn no_tool_is_an_error_that_names_what_was_offered() {
    let only_read = &claude()[2..3];
    let error = Action::edit("/a", "x", "y").plan(only_read).expect_err("nothing to edit with");
    assert_eq!(error.to_string(), "scripted model: cannot edit a file with the tools offered (Read)");
}
