//! Endings of every API, read back as a client reads them.

use serde_json::{Value, json};

use crate::buffer_pool::BufferPool;
use crate::inspect::response_reader::ResponseReader;
use crate::inspect::wire::WireApi;
use crate::inspect::wire::tool_input::INVALIDATING_SUFFIX;

/// A stream up to the middle of a second call's input, after one complete call.
const CHAT: &str = "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"ls\\\"}\"}}]}}]}\n\n\
data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_2\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}]}}]}\n\n\
data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\\\"command\\\":\\\"rm -r /tmp\"}}]}}]}\n\n";

const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":40,\"output_tokens\":1}}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"rm -r /tmp\"}}\n\n";

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"in_progress\"}}\n\n\
event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"exec_command\",\"arguments\":\"\"}}\n\n\
event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":2,\"item_id\":\"fc_1\",\"output_index\":0,\"delta\":\"{\\\"cmd\\\":\\\"rm -r /tmp\"}\n\n";

/// The events of an ending, in order.
fn ended(api: WireApi, stream: &str) -> Vec<Value> {
    let mut reader =
        ResponseReader::new(api, 200, "text/event-stream", None, None, BufferPool::new(usize::MAX).new_charge());
    reader.feed(stream.as_bytes());
    assert!(reader.is_at_event_boundary());
    let text = api.format().end_stream(reader.summary(), "[cut]");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

fn event(body: &Value) -> String {
    format!("data: {body}\n\n")
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn half_a_call_in_chat_can_be_answered_but_not_run() {
    let events = ended(WireApi::Chat, CHAT);
    let calls: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]["tool_calls"][0]).collect();
    assert_eq!((&calls[0]["index"], &calls[0]["function"]["arguments"]), (&1.into(), &INVALIDATING_SUFFIX.into()));
    assert!(calls[1..].iter().all(|call| call.is_null()), "the whole call is left as it is: {events:?}");
    assert_eq!(events[1]["choices"][0]["delta"]["content"], "[cut]");
    assert_eq!(events[2]["choices"][0]["finish_reason"], "tool_calls");
    let whole = ended(WireApi::Chat, CHAT.split_inclusive("\n\n").next().unwrap());
    assert!(!whole.iter().any(|event| event.to_string().contains("arguments")), "{whole:?}");
    assert_eq!(whole.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

/// Pieces of calls: index, id and input.
fn pieces(calls: &[(Value, &str)]) -> String {
    let piece = |(call, input): &(Value, &str)| {
        let mut call = call.clone();
        call["function"] = json!({ "arguments": input });
        event(&json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }))
    };
    calls.iter().map(piece).collect()
}

/// The calls that an ending invalidates, without the invalidating suffix.
fn spoilt(stream: &str) -> Vec<Value> {
    let events = ended(WireApi::Chat, stream);
    let calls = events.iter().filter_map(|event| event["choices"][0]["delta"]["tool_calls"][0].as_object().cloned());
    let calls = calls.map(|mut call| {
        assert_eq!(call.remove("function"), Some(json!({ "arguments": INVALIDATING_SUFFIX })));
        call.into()
    });
    calls.collect()
}

#[test]
fn all_halves_of_calls_that_come_in_turns_are_spoilt() {
    let stream = pieces(&[
        (json!({ "index": 0, "id": "a" }), "{\"command\":\"rm -r /tmp"),
        (json!({ "index": 1, "id": "b" }), "{\"command\":"),
        (json!({ "index": 2, "id": "c" }), "{\"command\":\"ls"),
        (json!({ "index": 0 }), "/half"),
        (json!({ "index": 2 }), "\"}"),
    ]);
    assert_eq!(spoilt(&stream), [json!({ "index": 0 }), json!({ "index": 1 })]);
    let stream = pieces(&[
        (json!({ "id": "a" }), "{\"command\":"),
        (json!({ "id": "b" }), "{}"),
        (json!({ "id": "a" }), "\"rm -r /tmp"),
        (json!({ "id": "c" }), "{\"command\":"),
        (json!({}), "\"ls\"}"),
    ]);
    assert_eq!(spoilt(&stream), [json!({ "id": "a" })], "and without an index they are known by their ids");
}

#[test]
fn whole_calls_are_not_spoilt_however_often_their_server_says_whose_a_piece_is() {
    for (first, next) in [("a", ""), ("a", "a"), ("", ""), ("a", "b")] {
        let (first, next) = (json!({ "index": 0, "id": first }), json!({ "index": 0, "id": next }));
        let stream = pieces(&[(first, "{\"command\":"), (next.clone(), "\"ls"), (next, "\"}")]);
        assert_eq!(spoilt(&stream), Vec::<Value>::new(), "{stream}");
        let mut reader = ResponseReader::new(
            WireApi::Chat,
            200,
            "text/event-stream",
            None,
            None,
            BufferPool::new(usize::MAX).new_charge(),
        );
        reader.feed(stream.as_bytes());
        assert_eq!(reader.summary().tool_calls, 1, "{stream}");
    }
    // All at one index, one after the other.
    let one_index = |id: &str| json!({ "index": 0, "id": id });
    let stream = pieces(&[(one_index("a"), "{}"), (one_index("b"), "{}"), (one_index("c"), "{\"command\":")]);
    assert_eq!(spoilt(&stream), [json!({ "index": 0 })]);
}

/// An ending that no client treats as a complete response.
fn is_an_error(events: &[Value]) -> bool {
    events.len() == 1 && events[0]["error"]["message"] == "[cut]" && events[0]["choices"][0]["finish_reason"] == "error"
}

#[test]
fn an_answer_with_more_calls_than_are_told_apart_ends_in_an_error() {
    let calls: Vec<(Value, &str)> = (0..2000).map(|index| (json!({ "index": index }), "{\"command\":")).collect();
    let events = ended(WireApi::Chat, &pieces(&calls));
    assert!(is_an_error(&events), "{events:?}");
}

/// A piece of a call whose tool takes plain text.
fn words(index: u64, input: &str) -> String {
    let call = json!({ "index": index, "id": format!("c{index}"), "type": "custom", "custom": { "name": "sh", "input": input } });
    event(&json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }))
}

#[test]
fn words_for_a_tool_end_in_an_error_until_they_are_known_to_be_whole() {
    let half = words(0, "rm -r /");
    let function = pieces(&[(json!({ "index": 1, "id": "f" }), "{}")]);
    for stream in [half.clone(), format!("{half}{}", words(1, "ls")), format!("{half}{function}")] {
        let events = ended(WireApi::Chat, &stream);
        assert!(is_an_error(&events), "pieces may come in turns: {stream} {events:?}");
    }
    let finished = event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
    let events = ended(WireApi::Chat, &format!("{half}{finished}"));
    assert!(
        !is_an_error(&events) && events.last().unwrap()["choices"][0]["finish_reason"] == "tool_calls",
        "{events:?}"
    );
}

#[test]
fn half_a_call_in_messages_is_never_closed() {
    let events = ended(WireApi::Messages, MESSAGES);
    assert_eq!(events[0]["index"], 0);
    assert_eq!(events[0]["delta"]["partial_json"], INVALIDATING_SUFFIX);
    let closed: Vec<&Value> = of_type(&events, "content_block_stop").iter().map(|event| &event["index"]).collect();
    assert_eq!(closed, [&Value::from(1)]);
    assert_eq!(of_type(&events, "message_delta")[0]["delta"]["stop_reason"], "end_turn");
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn whole_calls_before_half_a_call_in_messages_are_run() {
    let closed = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let second = MESSAGES.split_inclusive("\n\n").skip(1).collect::<String>().replace("\"index\":0", "\"index\":1");
    let events = ended(WireApi::Messages, &format!("{MESSAGES}{closed}{second}"));
    assert_eq!(events[0]["index"], 1);
    assert_eq!(of_type(&events, "message_delta")[0]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn a_thought_in_messages_is_never_closed() {
    let start = MESSAGES.split_inclusive("\n\n").next().unwrap();
    let thought = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
                   data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}}\n\n";
    let events = ended(WireApi::Messages, &format!("{start}{thought}"));
    assert_eq!((&events[0]["type"], &events[0]["index"]), (&"content_block_start".into(), &1.into()));
    assert!(of_type(&events, "content_block_stop").iter().all(|event| event["index"] == 1), "{events:?}");
}

#[test]
fn half_a_call_in_responses_is_never_done() {
    let events = ended(WireApi::Responses, RESPONSES);
    assert_eq!((&events[0]["item_id"], &events[0]["delta"]), (&"fc_1".into(), &INVALIDATING_SUFFIX.into()));
    let done: Vec<&Value> =
        of_type(&events, "response.output_item.done").iter().map(|event| &event["item"]["type"]).collect();
    assert_eq!(done, ["message"]);
    let output = events.last().unwrap()["response"]["output"].to_string();
    assert!(output.contains("[cut]") && !output.contains("function_call"), "{output}");
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (3..3 + events.len() as u64).collect::<Vec<_>>());
}
