use super::*;

fn with(api: Api, body: &str) -> Option<String> {
    with_note(api, body.as_bytes(), "Try \"another\" way.").map(|body| String::from_utf8(body).unwrap())
}

#[test]
fn a_chat_gets_another_message_and_nothing_else_changes() {
    let body =
        r#"{"model":"m", "messages":[{"role":"user","content":"a"} , {"role":"tool","content":"b"} ],"tools":[1]}"#;
    assert_eq!(
        with(Api::Chat, body).unwrap(),
        r#"{"model":"m", "messages":[{"role":"user","content":"a"} , {"role":"tool","content":"b"},{"content":"Try \"another\" way.","role":"user"} ],"tools":[1]}"#
    );
}

#[test]
fn a_users_turn_gets_another_part() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}],"stream":true}"#;
    assert_eq!(
        with(Api::Messages, body).unwrap(),
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"},{"text":"Try \"another\" way.","type":"text"}]}],"stream":true}"#
    );
    let body = r#"{"contents":[{"parts":[{"text":"x"}],"role":"user"}]}"#;
    assert_eq!(
        with(Api::Generate, body).unwrap(),
        r#"{"contents":[{"parts":[{"text":"x"},{"text":"Try \"another\" way."}],"role":"user"}]}"#
    );
}

#[test]
fn a_turn_of_plain_text_or_of_the_model_gets_a_turn_after_it() {
    let body = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(
        with(Api::Messages, body).unwrap(),
        r#"{"messages":[{"role":"user","content":"x"},{"content":"Try \"another\" way.","role":"user"}]}"#
    );
    let body = r#"{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}"#;
    assert_eq!(
        with(Api::Responses, body).unwrap(),
        r#"{"input":[{"type":"function_call_output","call_id":"c","output":"x"},{"content":[{"text":"Try \"another\" way.","type":"input_text"}],"role":"user","type":"message"}]}"#
    );
}

#[test]
fn where_there_is_no_place_nothing_is_done() {
    for body in [r#"{"input":"just text"}"#, r#"{"input":[]}"#, "[]", "{", ""] {
        assert_eq!(with(Api::Responses, body), None, "{body}");
    }
}
