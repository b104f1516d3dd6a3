//! Every stream, decoded as a client does, must equal the unstreamed response.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Failure, FramingOptions, plain, stream, tool_results};
use crate::answer::{Answer, Ids, Input, ToolCall, Usage};
use crate::classify::Api;
use crate::script::Text;

const APIS: [Api; 4] = [Api::Responses, Api::Chat, Api::Messages, Api::Gemini];
const ALL: FramingOptions = FramingOptions { usage_in_stream: true, gemini_array: false };

fn answer(text: &str, calls: Vec<ToolCall>) -> Answer {
    let usage = Usage { input: 1200, output: 34, cached: 200 };
    Answer { ids: Ids::new(0, 0, 0), model: "m".into(), text: Text::Whole(text.into()), calls, usage }
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), namespace: None, input: Input::Json(args) }
}

fn sent(api: Api, answer: Answer, failure: Option<Failure>) -> String {
    stream(api, answer, ALL, failure).collect()
}

/// The decoded content of a response.
#[derive(Debug, Default, PartialEq)]
struct Understood {
    text: String,
    calls: Vec<(String, String, Value)>,
    /// Input, cached, output.
    usage: (u64, u64, u64),
    finished: bool,
}

fn understand_stream(api: Api, bytes: &str) -> Understood {
    let events = bytes.split_terminator(if api == Api::Gemini { "\r\n\r\n" } else { "\n\n" });
    let data = events.map(|event| event.split_once("data: ").expect("an event has data").1);
    let events: Vec<Value> = data
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("event data is JSON"))
        .collect();
    match api {
        Api::Responses => understand_responses(&events),
        Api::Chat => understand_chat(&events),
        Api::Messages => understand_messages(&events),
        Api::Gemini => understand_gemini(&events),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn string(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("arguments are JSON")
}

fn understand_responses(events: &[Value]) -> Understood {
    let mut understood = Understood::default();
    let mut arguments = String::new();
    for (sequence, event) in events.iter().enumerate() {
        assert_eq!(number(&event["sequence_number"]), sequence as u64);
        match event["type"].as_str().expect("a type") {
            "response.output_text.delta" => understood.text += event["delta"].as_str().expect("a delta"),
            "response.function_call_arguments.delta" => arguments += event["delta"].as_str().expect("a delta"),
            "response.output_item.done" if event["item"]["type"] == "function_call" => {
                let item = &event["item"];
                assert_eq!(item["arguments"], arguments);
                let args = parsed(&std::mem::take(&mut arguments));
                understood.calls.push((string(&item["call_id"]), string(&item["name"]), args));
            }
            "response.completed" => {
                understood.finished = true;
                assert_eq!(understand_plain(Api::Responses, &event["response"]).text, understood.text);
                understood.usage = understand_plain(Api::Responses, &event["response"]).usage;
            }
            _ => {}
        }
    }
    understood
}

fn understand_chat(events: &[Value]) -> Understood {
    let mut understood = Understood::default();
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for event in events {
        if let Some(usage) = event["usage"].as_object() {
            let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
            understood.usage = (number(&usage["prompt_tokens"]), cached, number(&usage["completion_tokens"]));
        }
        let choice = &event["choices"][0];
        understood.text += choice["delta"]["content"].as_str().unwrap_or_default();
        understood.finished |= choice["finish_reason"].is_string();
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = number(&delta["index"]) as usize;
            if index == calls.len() {
                calls.push((string(&delta["id"]), string(&delta["function"]["name"]), String::new()));
            }
            calls[index].2 += delta["function"]["arguments"].as_str().expect("arguments");
        }
    }
    understood.calls = calls.into_iter().map(|(id, name, args)| (id, name, parsed(&args))).collect();
    understood
}

fn understand_messages(events: &[Value]) -> Understood {
    let mut understood = Understood::default();
    let mut arguments = String::new();
    for event in events {
        match event["type"].as_str().expect("a type") {
            "message_start" => understood.usage = messages_usage(&event["message"]["usage"]),
            "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                let block = &event["content_block"];
                understood.calls.push((string(&block["id"]), string(&block["name"]), Value::Null));
            }
            "content_block_delta" => match event["delta"]["type"].as_str().expect("a type") {
                "text_delta" => understood.text += event["delta"]["text"].as_str().expect("text"),
                _ => arguments += event["delta"]["partial_json"].as_str().expect("json"),
            },
            "content_block_stop" if !arguments.is_empty() => {
                understood.calls.last_mut().expect("a call").2 = parsed(&std::mem::take(&mut arguments));
            }
            "message_delta" => understood.usage.2 = number(&event["usage"]["output_tokens"]),
            "message_stop" => understood.finished = true,
            _ => {}
        }
    }
    understood
}

fn messages_usage(usage: &Value) -> (u64, u64, u64) {
    let cached = number(&usage["cache_read_input_tokens"]);
    (number(&usage["input_tokens"]) + cached, cached, number(&usage["output_tokens"]))
}

fn understand_gemini(events: &[Value]) -> Understood {
    let mut understood = Understood::default();
    for event in events {
        for part in event["candidates"][0]["content"]["parts"].as_array().expect("parts") {
            understood.text += part["text"].as_str().unwrap_or_default();
            if let Some(call) = part["functionCall"].as_object() {
                understood.calls.push((string(&call["id"]), string(&call["name"]), call["args"].clone()));
            }
        }
        if let Some(usage) = event["usageMetadata"].as_object() {
            let cached = number(&usage["cachedContentTokenCount"]);
            understood.usage = (number(&usage["promptTokenCount"]), cached, number(&usage["candidatesTokenCount"]));
            understood.finished = event["candidates"][0]["finishReason"] == "STOP";
        }
    }
    understood
}

fn understand_plain(api: Api, answer: &Value) -> Understood {
    match api {
        Api::Gemini => understand_gemini(std::slice::from_ref(answer)),
        Api::Chat => {
            let message = &answer["choices"][0]["message"];
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            Understood {
                text: message["content"].as_str().unwrap_or_default().to_owned(),
                calls: calls
                    .map(|call| {
                        let function = &call["function"];
                        (string(&call["id"]), string(&function["name"]), parsed(&string(&function["arguments"])))
                    })
                    .collect(),
                usage: understand_chat(&[json!({"usage": answer["usage"]})]).usage,
                finished: answer["choices"][0]["finish_reason"].is_string(),
            }
        }
        Api::Messages => {
            let blocks = answer["content"].as_array().expect("content");
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            Understood {
                text: blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
                calls: calls.map(|call| (string(&call["id"]), string(&call["name"]), call["input"].clone())).collect(),
                usage: messages_usage(&answer["usage"]),
                finished: answer["stop_reason"].is_string(),
            }
        }
        Api::Responses => {
            let items = answer["output"].as_array().expect("output");
            let calls = items.iter().filter(|item| item["type"] == "function_call");
            let usage = &answer["usage"];
            let cached = number(&usage["input_tokens_details"]["cached_tokens"]);
            Understood {
                text: items.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect(),
                calls: calls
                    .map(|call| (string(&call["call_id"]), string(&call["name"]), parsed(&string(&call["arguments"]))))
                    .collect(),
                usage: (number(&usage["input_tokens"]), cached, number(&usage["output_tokens"])),
                finished: answer["status"] == "completed",
            }
        }
    }
}

proptest! {
    #[test]
    fn stream_and_plain_answer_say_the_same(
        text in "(\\PC|\n|\u{1F9D7}){0,80}",
        args in proptest::collection::vec("(\\PC|\"|\\\\|\n){0,60}", 0..4),
    ) {
        let calls: Vec<ToolCall> = args
            .iter()
            .enumerate()
            .map(|(index, arg)| call(&format!("call_{index}"), "bash", json!({"command": arg, "nested": {"a": [1, null]}})))
            .collect();
        for api in APIS {
            let streamed = understand_stream(api, &sent(api, answer(&text, calls.clone()), None));
            let whole = understand_plain(api, &plain(api, &answer(&text, calls.clone())));
            prop_assert_eq!(&streamed, &whole, "{:?}", api);
            prop_assert_eq!(&streamed.text, &text);
            prop_assert_eq!(streamed.calls.len(), args.len());
            prop_assert_eq!(streamed.usage, (1200, 200, 34));
            prop_assert!(streamed.finished);
        }
    }
}

#[test]
fn a_failing_stream_says_why_and_never_claims_to_be_finished() {
    for api in APIS {
        let failure = Failure { code: "overloaded_error".into(), message: "Try later".into() };
        let bytes = sent(api, answer("Well", vec![]), Some(failure));
        assert!(bytes.contains("Try later") && bytes.contains("overloaded_error"), "{api:?}: {bytes}");
        for end in ["response.completed", "message_stop", "[DONE]", "finishReason"] {
            assert!(!bytes.contains(end), "{api:?} sent {end}");
        }
    }
}

#[test]
fn chat_reports_usage_only_when_asked_and_gemini_streams_an_array_without_alt_sse() {
    let quiet: String = stream(Api::Chat, answer("Hi", vec![]), FramingOptions::default(), None).collect();
    assert!(!quiet.contains("prompt_tokens"));
    let wishes = FramingOptions { gemini_array: true, ..FramingOptions::default() };
    let array: String = stream(Api::Gemini, answer("Hi", vec![]), wishes, None).collect();
    let chunks: Vec<Value> = serde_json::from_str(&array).expect("a JSON array");
    assert_eq!(understand_gemini(&chunks).text, "Hi");
}

#[test]
fn a_chant_streams_word_by_word() {
    let chant = Answer { text: Text::Chant { word: "again ".into(), times: 3 }, ..answer("", vec![]) };
    let bytes = sent(Api::Messages, chant, None);
    assert_eq!(bytes.matches(r#""text":"again ""#).count(), 3);
    assert_eq!(understand_stream(Api::Messages, &bytes).text, "again again again ");
}

#[test]
fn freeform_calls_and_namespaces_keep_their_shape() {
    let patch = "*** Begin Patch\n*** End Patch";
    let freeform = ToolCall {
        id: "call_p".into(),
        name: "apply_patch".into(),
        namespace: Some("files".into()),
        input: Input::Freeform(patch.into()),
    };
    let item = &plain(Api::Responses, &answer("", vec![freeform.clone()]))["output"][0];
    assert_eq!(
        (&item["type"], &item["input"], &item["namespace"]),
        (&json!("custom_tool_call"), &json!(patch), &json!("files"))
    );
    let bytes = sent(Api::Responses, answer("", vec![freeform.clone()]), None);
    assert!(bytes.contains("response.custom_tool_call_input.delta"));
    // The other APIs have no freeform tools.
    let bytes = sent(Api::Messages, answer("", vec![freeform]), None);
    assert_eq!(understand_stream(Api::Messages, &bytes).calls[0].2, json!({"input": patch}));
}

#[test]
fn tool_results_are_found_in_every_dialect() {
    let bodies = [
        (
            Api::Responses,
            json!({"input": [{"type": "message"}, {"type": "function_call_output", "call_id": "c", "output": "ok"}]}),
        ),
        (
            Api::Responses,
            json!({"input": [{"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "ok"}]}]}),
        ),
        (
            Api::Chat,
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c", "content": "ok"}]}),
        ),
        (
            Api::Messages,
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "ok"}]}]}]}),
        ),
        (
            Api::Gemini,
            json!({"contents": [{"parts": [{"functionResponse": {"id": "c", "response": {"output": "ok"}}}]}]}),
        ),
    ];
    for (api, body) in bodies {
        let results = tool_results(api, &body);
        assert_eq!(results.len(), 1, "{api:?}");
        assert_eq!((results[0].id.as_str(), results[0].text.as_str()), ("c", "ok"), "{api:?}");
    }
}

#[test]
fn the_bytes_of_a_stream_do_not_change_by_accident() {
    let one = || answer("Hi", vec![call("call_1", "bash", json!({"command": "ls"}))]);
    assert_snapshot!("responses", sent(Api::Responses, one(), None));
    assert_snapshot!("chat", sent(Api::Chat, one(), None));
    assert_snapshot!("messages", sent(Api::Messages, one(), None));
    assert_snapshot!("gemini", sent(Api::Gemini, one(), None).replace('\r', ""));
}
