//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{Encode, EncoderContext, StreamStep, ToolResult, flat_text, list};
use crate::answer::{Answer, CREATED, Input, ToolCall, Usage, pieces};

pub(super) fn plain(answer: &Answer) -> Value {
    let text = answer.text.whole();
    let mut message = json!({"role": "assistant", "content": (!text.is_empty()).then_some(text)});
    if !answer.calls.is_empty() {
        let call = |call: &ToolCall| {
            let function = json!({"name": call.name, "arguments": arguments(&call.input)});
            json!({"id": call.id, "type": "function", "function": function})
        };
        message["tool_calls"] = answer.calls.iter().map(call).collect();
    }
    json!({
        "id": answer.ids.id("chatcmpl-", 0), "object": "chat.completion", "created": CREATED, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(!answer.calls.is_empty())}],
        "usage": usage_json(answer.usage),
    })
}

/// This API has no freeform tools: text is sent as the argument `input`.
fn arguments(input: &Input) -> String {
    match input {
        Input::Json(arguments) => arguments.to_string(),
        Input::Freeform(text) => json!({"input": text}).to_string(),
    }
}

fn finish_reason(has_calls: bool) -> &'static str {
    if has_calls { "tool_calls" } else { "stop" }
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}

pub(super) struct Encoder {
    frame: EncoderContext,
    report_usage: bool,
    calls: usize,
}

impl Encoder {
    pub(super) fn new(frame: EncoderContext, report_usage: bool) -> Self {
        Self { frame, report_usage, calls: 0 }
    }

    fn chunk(&self, choices: Value, usage: Value) -> String {
        let mut chunk = json!({
            "id": self.frame.ids.id("chatcmpl-", 0), "object": "chat.completion.chunk", "created": CREATED,
            "model": self.frame.model, "choices": choices,
        });
        if !usage.is_null() {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    }

    fn delta(&self, delta: Value) -> String {
        self.chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    }

    fn call(&mut self, call: &ToolCall) -> Vec<String> {
        let index = self.calls;
        self.calls += 1;
        let open = json!({
            "index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""},
        });
        let mut events = vec![self.delta(json!({"tool_calls": [open]}))];
        events.extend(
            pieces(arguments(&call.input))
                .map(|piece| self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))),
        );
        events
    }
}

impl Encode for Encoder {
    fn encode(&mut self, step: StreamStep) -> Vec<String> {
        match step {
            StreamStep::Open => vec![self.delta(json!({"role": "assistant", "content": ""}))],
            StreamStep::TextOpen | StreamStep::TextClose => vec![],
            StreamStep::Piece(piece) => vec![self.delta(json!({"content": piece}))],
            StreamStep::Call(call) => self.call(&call),
            StreamStep::Close => {
                let reason = finish_reason(self.frame.has_calls);
                let mut events =
                    vec![self.chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null)];
                if self.report_usage {
                    events.push(self.chunk(json!([]), usage_json(self.frame.usage)));
                }
                events.push("data: [DONE]\n\n".into());
                events
            }
            StreamStep::Fail(failure) => {
                let error = json!({"message": failure.message, "type": "server_error", "code": failure.code});
                vec![format!("data: {}\n\n", json!({"error": error}))]
            }
        }
    }
}

pub(super) fn tool_results(body: &Value) -> Vec<ToolResult> {
    let results = list(&body["messages"]).iter().filter(|message| message["role"] == "tool");
    results
        .map(|message| ToolResult {
            id: message["tool_call_id"].as_str().unwrap_or_default().to_owned(),
            text: flat_text(&message["content"]),
        })
        .collect()
}
