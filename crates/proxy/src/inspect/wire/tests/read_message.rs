use crate::inspect::wire::{MessageItem, WireApi};

/// The items of a message, one per line.
fn items(api: WireApi, message: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let known = api.format().read_message(message.as_bytes(), &mut |item| {
        lines.push(match item {
            MessageItem::Call { id, name, input } => format!("call {id} {name} {}", input.to_value()),
            MessageItem::Result { call, text, failed } => format!("result {call} {failed} {text:?}"),
            MessageItem::Prompt { text } => format!("prompt {text:?}"),
        });
    });
    assert!(known, "{message}");
    lines
}

#[test]
fn chat() {
    let calls = r#"{"role":"assistant","content":"I will.","refusal":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"call_2","type":"custom","custom":{"name":"apply_patch","input":"*** Begin"}}]}"#;
    assert_eq!(
        items(WireApi::Chat, calls),
        [r#"call call_1 bash {"command":"ls"}"#, r#"call call_2 apply_patch "*** Begin""#]
    );
    let empty = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_3","type":"function","function":{"name":"status","arguments":null},"custom":null}]}"#;
    assert_eq!(items(WireApi::Chat, empty), ["call call_3 status \"\""]);
    let result =
        r#"{"role":"tool","tool_call_id":"call_1","content":"running\n<shellId: 0 completed with exit code 3>"}"#;
    assert_eq!(
        items(WireApi::Chat, result),
        [r#"result call_1 false "running\n<shellId: 0 completed with exit code 3>""#]
    );
    let parts = r#"{"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{}},{"type":"text","text":"two"}]}"#;
    assert_eq!(items(WireApi::Chat, parts), [r#"prompt "one""#, r#"prompt "two""#]);
    for nothing in ["null", "7", "true", r#"{"text":"one"}"#, r#"["one"]"#, r#"[{"text":null}]"#, r#"[{"type":"x"}]"#] {
        assert!(items(WireApi::Chat, &format!(r#"{{"role":"user","content":{nothing}}}"#)).is_empty(), "{nothing}");
    }
    assert!(items(WireApi::Chat, r#"{"role":"system","content":"You are"}"#).is_empty());
}

#[test]
fn messages() {
    let calls = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"I will."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"exit 3"}}]}"#;
    assert_eq!(items(WireApi::Messages, calls), [r#"call toolu_1 Bash {"command":"exit 3"}"#]);
    let results = r#"{"role":"user","content":[{"type":"tool_result","content":"Exit code 3\nrunning","is_error":true,"tool_use_id":"toolu_1","cache_control":{"type":"ephemeral"}},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]},{"type":"text","text":"and now?"}]}"#;
    assert_eq!(
        items(WireApi::Messages, results),
        [r#"result toolu_1 true "Exit code 3\nrunning""#, r#"result toolu_2 false "a\nb""#, r#"prompt "and now?""#]
    );
    assert_eq!(items(WireApi::Messages, r#"{"role":"user","content":"Fix"}"#), [r#"prompt "Fix""#]);
}

#[test]
fn responses() {
    let call = r#"{"type":"function_call","status":"completed","id":"fc_9","name":"exec_command","arguments":"{\"cmd\": \"exit 3\"}","call_id":"call_c"}"#;
    assert_eq!(items(WireApi::Responses, call), [r#"call call_c exec_command {"cmd":"exit 3"}"#]);
    let patch = r#"{"type":"custom_tool_call","call_id":"call_d","name":"apply_patch","input":"*** Begin Patch"}"#;
    assert_eq!(items(WireApi::Responses, patch), [r#"call call_d apply_patch "*** Begin Patch""#]);
    let output =
        r#"{"type":"function_call_output","id":"fco_0","call_id":"call_c","output":"Process exited with code 3"}"#;
    assert_eq!(items(WireApi::Responses, output), [r#"result call_c false "Process exited with code 3""#]);
    let user = r#"{"type":"message","id":"msg","role":"user","content":[{"type":"input_text","text":"Fix"}]}"#;
    assert_eq!(items(WireApi::Responses, user), [r#"prompt "Fix""#]);
    assert!(items(WireApi::Responses, r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#).is_empty());
    assert_eq!(items(WireApi::Responses, r#""Just \"text\"""#), [r#"prompt "Just \"text\"""#]);
}

#[test]
fn generate() {
    let call = r#"{"parts":[{"text":"I will."},{"functionCall":{"id":"be38","args":{"command":"exit 3"},"name":"run_shell_command"},"thoughtSignature":"c2ln"}],"role":"model"}"#;
    assert_eq!(items(WireApi::GenerateContent, call), [r#"call be38 run_shell_command {"command":"exit 3"}"#]);
    let output = r#"{"parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"Exit Code: 3"},"id":"be38"}},{"functionResponse":{"name":"x","response":{"error":"no such tool"},"id":"be39"}},{"functionResponse":{"name":"y","response":{"rows":[1]},"id":"be40"}}],"role":"user"}"#;
    assert_eq!(
        items(WireApi::GenerateContent, output),
        [
            r#"result be38 false "Exit Code: 3""#,
            r#"result be39 true "no such tool""#,
            r#"result be40 false "{\"rows\":[1]}""#
        ]
    );
    assert_eq!(items(WireApi::GenerateContent, r#"{"parts":[{"text":"Fix"}],"role":"user"}"#), [r#"prompt "Fix""#]);
}

#[test]
fn what_is_no_message_is_said_to_be_none() {
    for api in WireApi::ALL {
        assert!(!api.format().read_message(b"7", &mut |_| panic!("no item")));
    }
}
