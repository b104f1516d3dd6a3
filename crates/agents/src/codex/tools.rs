//! Codex's built-in tools, and their inputs in one format for all versions.

use belay_core::ToolKind;
use serde_json::{Map, Value};

use super::exec_script;
use crate::tool_table::ToolTable;

/// The built-in tools.
pub(super) const TABLE: ToolTable = ToolTable::new(&[
    ("apply_patch", ToolKind::Edit),
    ("close_agent", ToolKind::SubAgent),
    ("exec", ToolKind::Shell),
    ("exec_command", ToolKind::Shell),
    ("grep_files", ToolKind::Search),
    ("js_repl", ToolKind::Shell),
    ("list_dir", ToolKind::Read),
    ("list_mcp_resource_templates", ToolKind::Mcp),
    ("list_mcp_resources", ToolKind::Mcp),
    ("local_shell", ToolKind::Shell),
    ("read_file", ToolKind::Read),
    ("read_mcp_resource", ToolKind::Mcp),
    ("request_user_input", ToolKind::Ask),
    ("resume_agent", ToolKind::SubAgent),
    ("send_input", ToolKind::SubAgent),
    ("send_message", ToolKind::SubAgent),
    ("shell", ToolKind::Shell),
    ("shell_command", ToolKind::Shell),
    ("spawn_agent", ToolKind::SubAgent),
    ("tool_search", ToolKind::Search),
    ("unified_exec", ToolKind::Shell),
    ("update_plan", ToolKind::Plan),
    ("view_image", ToolKind::Read),
    ("wait", ToolKind::Poll),
    ("wait_agent", ToolKind::Poll),
    ("web_search", ToolKind::Search),
])
.with_mcp_prefix()
.with_input_rule(kind_by_input);

/// The kind of a call; `None` for tools that are not built in.
pub fn kind_of(name: &str, input: &Value) -> Option<ToolKind> {
    TABLE.kind_of(name, input)
}

/// `write_stdin` types into a running command, or polls it when it types nothing. A shell command may be a patch. A
/// script of the `exec` tool is what it calls.
fn kind_by_input(name: &str, input: &Value) -> Option<ToolKind> {
    if name == "exec"
        && let Some(script) = input.as_str()
        && let Some((inner, input)) = exec_script::inner_call(script)
    {
        return kind_of(inner, &input);
    }
    if name == "write_stdin" {
        let typed = input.get("chars").and_then(Value::as_str).unwrap_or_default();
        return Some(if typed.is_empty() { ToolKind::Poll } else { ToolKind::Shell });
    }
    let command = input.get("command").and_then(Value::as_str)?;
    command.trim_start().starts_with("apply_patch").then_some(ToolKind::Edit)
}

/// Arguments as an object; `["bash", "-lc", script]` and `cmd` become `command`.
pub(super) fn input(arguments: &str) -> Value {
    let Ok(Value::Object(mut map)) = serde_json::from_str::<Value>(arguments) else {
        return Value::String(arguments.to_owned());
    };
    if let Some(cmd) = map.remove("cmd") {
        map.insert("command".to_owned(), cmd);
    }
    if let Some(script) = map.get("command").and_then(script) {
        map.insert("command".to_owned(), Value::String(script));
    }
    Value::Object(map)
}

/// The input of a call: for a script of the `exec` tool, that of the call inside it.
pub(super) fn effective_input(name: &str, input: Value) -> Value {
    let inner = match &input {
        Value::String(script) if name == "exec" => exec_script::inner_call(script).map(|(_, input)| input),
        _ => None,
    };
    inner.unwrap_or(input)
}

/// The command of a shell call.
fn script(command: &Value) -> Option<String> {
    match command.as_array()?.as_slice() {
        [shell, flag, script] if is_shell(shell.as_str()?) && flag.as_str()?.starts_with('-') => {
            script.as_str().map(str::to_owned)
        }
        words => Some(words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(" ")),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh" | "dash" | "fish" | "pwsh" | "powershell" | "powershell.exe" | "pwsh.exe")
}

/// Input of the older built-in shell tool.
pub(super) fn local_shell(command: Vec<String>, dir: Option<String>) -> Value {
    let command = Value::Array(command.into_iter().map(Value::String).collect());
    let mut map = Map::new();
    map.insert("command".to_owned(), script(&command).map_or(command, Value::String));
    if let Some(dir) = dir {
        map.insert("workdir".to_owned(), Value::String(dir));
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn looking_at_a_terminal_is_polling_and_typing_is_not() {
        assert_eq!(kind_of("write_stdin", &json!({"session_id": 1, "chars": ""})), Some(ToolKind::Poll));
        assert_eq!(kind_of("write_stdin", &json!({"session_id": 1, "chars": "y\n"})), Some(ToolKind::Shell));
    }

    #[test]
    fn a_command_reads_the_same_in_every_version() {
        let newest = input(r#"{"cmd":"ls","workdir":"/a"}"#);
        assert_eq!(newest, input(r#"{"command":["bash","-lc","ls"],"workdir":"/a"}"#));
        assert_eq!(newest, input(r#"{"command":"ls","workdir":"/a"}"#));
        assert_eq!(newest, local_shell(vec!["/bin/zsh".into(), "-lc".into(), "ls".into()], Some("/a".into())));
        assert_eq!(input("*** Begin Patch"), Value::String("*** Begin Patch".into()));
    }

    #[test]
    fn a_patch_through_the_shell_is_an_edit() {
        let patch = input(r#"{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\nEOF"]}"#);
        assert_eq!(kind_of("shell", &patch), Some(ToolKind::Edit));
    }
}
