use proptest::prelude::*;
use serde_json::Value;

use crate::inspect::wire::WireApi;

fn with(api: WireApi, body: &str) -> Option<String> {
    api.format().insert_nudge(body.as_bytes(), "Try \"another\" way.").map(|body| String::from_utf8(body).unwrap())
}

#[test]
fn a_chat_gets_another_message_and_nothing_else_changes() {
    let body =
        r#"{"model":"m", "messages":[{"role":"user","content":"a"} , {"role":"tool","content":"b"} ],"tools":[1]}"#;
    assert_eq!(
        with(WireApi::Chat, body).unwrap(),
        r#"{"model":"m", "messages":[{"role":"user","content":"a"} , {"role":"tool","content":"b"},{"content":"Try \"another\" way.","role":"user"} ],"tools":[1]}"#
    );
}

#[test]
fn a_users_turn_gets_another_part() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}],"stream":true}"#;
    assert_eq!(
        with(WireApi::Messages, body).unwrap(),
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"},{"text":"Try \"another\" way.","type":"text"}]}],"stream":true}"#
    );
    let body = r#"{"contents":[{"parts":[{"text":"x"}],"role":"user"}]}"#;
    assert_eq!(
        with(WireApi::GenerateContent, body).unwrap(),
        r#"{"contents":[{"parts":[{"text":"x"},{"text":"Try \"another\" way."}],"role":"user"}]}"#
    );
}

#[test]
fn a_turn_of_plain_text_or_of_the_model_gets_a_turn_after_it() {
    let body = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(
        with(WireApi::Messages, body).unwrap(),
        r#"{"messages":[{"role":"user","content":"x"},{"content":"Try \"another\" way.","role":"user"}]}"#
    );
    let body = r#"{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}"#;
    assert_eq!(
        with(WireApi::Responses, body).unwrap(),
        r#"{"input":[{"type":"function_call_output","call_id":"c","output":"x"},{"content":[{"text":"Try \"another\" way.","type":"input_text"}],"role":"user","type":"message"}]}"#
    );
}

#[test]
fn where_there_is_no_place_nothing_is_done() {
    for body in [r#"{"input":"just text"}"#, r#"{"input":[]}"#, "[]", "{", ""] {
        assert_eq!(with(WireApi::Responses, body), None, "{body}");
    }
}

/// A turn in the format of this API, and the number of its bytes that a nudge must not change. `parts`: as a list, if
/// possible.
fn turn(api: WireApi, by_user: bool, text: &str, parts: bool) -> (String, usize) {
    let role = match (api, by_user) {
        (_, true) => "user",
        (WireApi::GenerateContent, false) => "model",
        (_, false) => "assistant",
    };
    let text = Value::from(text);
    let (turn, is_list) = match api {
        WireApi::Chat => (format!(r#"{{"role": "{role}", "content": {text}}}"#), false),
        WireApi::Responses => (
            format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":{text}}}]}}"#),
            false,
        ),
        // The cached prefix ends here.
        WireApi::Messages if parts => {
            let part = format!(r#"{{"type":"text","text":{text},"cache_control":{{"type":"ephemeral"}}}}"#);
            (format!(r#"{{"role":"{role}","content":[{part}]}}"#), true)
        }
        WireApi::Messages => (format!(r#"{{"role":"{role}","content":{text}}}"#), false),
        WireApi::GenerateContent => (format!(r#"{{"role":"{role}","parts":[{{"text":{text}}}]}}"#), true),
    };
    let whole = turn.len();
    // Roles alternate: the nudge becomes another part of the user's turn.
    (turn, if is_list && by_user { whole - "]}".len() } else { whole })
}

proptest! {
    /// A prompt cache stays valid while a request starts like the previous one. With the nudge it does, up to the end
    /// of the agent's last message; the agent never repeats the nudge, so the next request does as well.
    #[test]
    fn every_byte_before_the_note_and_after_it_stays_as_it_was(
        api in prop::sample::select(WireApi::ALL.to_vec()),
        texts in prop::collection::vec("\\PC{0,40}", 1..6),
        user_first: bool,
        parts: bool,
        gap in "[ \n]{0,2}",
        note in "\\PC{1,60}",
    ) {
        let before = format!(r#"{{"model":"m","system":"Be brief.",{gap}"{}":{gap}["#, api.format().messages_field());
        let turns: Vec<_> =
            texts.iter().enumerate().map(|(n, text)| turn(api, (n % 2 == 0) == user_first, text, parts)).collect();
        let (last, untouched) = turns.last().unwrap();
        let conversation = turns.iter().map(|(turn, _)| turn.as_str()).collect::<Vec<_>>().join(&format!("{gap},"));
        let body = format!(r#"{before}{conversation}{gap}],{gap}"tools":[{{"name":"Bash"}}],"stream":true}}"#);
        let at = before.len() + conversation.len() - last.len() + untouched;

        let with = String::from_utf8(api.format().insert_nudge(body.as_bytes(), &note).unwrap()).unwrap();
        prop_assert_eq!(&with[..at], &body[..at]);
        let after = with.len() - (body.len() - at);
        prop_assert_eq!(&with[after..], &body[at..]);
        let added: Value = serde_json::from_str(with[at..after].strip_prefix(',').unwrap()).unwrap();
        let texts = [&added["text"], &added["content"], &added["content"][0]["text"], &added["parts"][0]["text"]];
        prop_assert!(texts.contains(&&Value::from(note)), "{}", added);
        serde_json::from_str::<Value>(&with).unwrap();
    }
}
