//! Looks inside the scripts of the `exec` tool. In code mode, Codex calls its tools from JavaScript:
//! `const r = await tools.write_stdin({session_id: 7, chars: ""}); text(r.output);`. What matters is the call in the
//! script, not the script.

use serde_json::{Map, Value};

/// The tool that a script calls, with its input: one call, or several polls. `None` for other scripts.
pub(super) fn inner_call(script: &str) -> Option<(&str, Value)> {
    let mut calls = script.split("tools.").skip(1).filter_map(|rest| {
        let (name, arguments) = rest.split_once('(')?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some((name, arguments))
    });
    let (name, arguments) = calls.next()?;
    let input = input(name, arguments, script)?;
    // Other calls may do anything, unless all of them only look at a terminal.
    calls
        .all(|(other, arguments)| is_poll(name, &input) && other == name && is_empty_stdin(arguments))
        .then_some((name, input))
}

fn input(name: &str, arguments: &str, script: &str) -> Option<Value> {
    let mut input = Map::new();
    match name {
        "exec_command" => {
            input.insert("command".to_owned(), Value::String(string_field(arguments, "cmd")?));
            if let Some(dir) = string_field(arguments, "workdir") {
                input.insert("workdir".to_owned(), Value::String(dir));
            }
        }
        "write_stdin" => {
            let id = after_field(arguments, "session_id")?;
            let id = id.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            input.insert("session_id".to_owned(), Value::String(id.to_owned()));
            input.insert("chars".to_owned(), Value::String(string_field(arguments, "chars").unwrap_or_default()));
        }
        "apply_patch" => {
            // The patch is an argument, or a constant before the call.
            let at = script.find(['"', '`', '\''])?;
            let patch = string_literal(&script[at..]).filter(|patch| patch.contains("*** Begin Patch"))?;
            return Some(Value::String(patch));
        }
        _ => return None,
    }
    Some(Value::Object(input))
}

fn is_poll(name: &str, input: &Value) -> bool {
    name == "write_stdin" && input.get("chars").and_then(Value::as_str).is_none_or(str::is_empty)
}

fn is_empty_stdin(arguments: &str) -> bool {
    string_field(arguments, "chars").unwrap_or_default().is_empty()
}

/// What follows `name:` or `"name":` within the arguments of one call.
fn after_field<'a>(arguments: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = arguments[from..].find(name) {
        let start = from + at;
        from = start + name.len();
        let whole = !arguments[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let rest = arguments[from..].trim_start_matches(['"', '\'']).trim_start();
        if let Some(value) = rest.strip_prefix(':').filter(|_| whole) {
            return Some(value.trim_start());
        }
    }
    None
}

fn string_field(arguments: &str, name: &str) -> Option<String> {
    string_literal(after_field(arguments, name)?)
}

/// The string literal at the start of a text.
fn string_literal(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let quote = chars.next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut value = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                '\n' => {}
                other => value.push(other),
            },
            c if c == quote => return Some(value),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_in_a_script_is_that_command() {
        let script = r#"const r = await tools.exec_command({cmd:"grep -n \"a\" b",workdir:'/w',"yield_time_ms":1000}); text(r.output);"#;
        let expected = json!({"command": "grep -n \"a\" b", "workdir": "/w"});
        assert_eq!(inner_call(script), Some(("exec_command", expected)));
    }

    #[test]
    fn looking_at_terminals_is_one_poll() {
        let one = r#"const r=await tools.write_stdin({session_id:91184,chars:"",yield_time_ms:1000});text(r.output);"#;
        let two = r#"const a=await tools.write_stdin({session_id:1,chars:""}); const b=await tools.write_stdin({session_id:2});"#;
        assert_eq!(inner_call(one), Some(("write_stdin", json!({"session_id": "91184", "chars": ""}))));
        assert_eq!(inner_call(two).map(|(name, _)| name), Some("write_stdin"));
    }

    #[test]
    fn a_patch_is_found_before_the_call() {
        let script = "const patch = \"*** Begin Patch\\n*** Update File: a\\n*** End Patch\";\ntext(await tools.apply_patch(patch));";
        let patch = "*** Begin Patch\n*** Update File: a\n*** End Patch";
        assert_eq!(inner_call(script), Some(("apply_patch", json!(patch))));
    }

    #[test]
    fn a_script_with_several_commands_stays_a_script() {
        let script = r#"await tools.exec_command({cmd:"ls"}); await tools.exec_command({cmd:"pwd"});"#;
        assert_eq!(inner_call(script), None);
        assert_eq!(inner_call("text(1 + 1)"), None);
    }
}
