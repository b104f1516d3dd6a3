//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Encode, EncoderContext, StreamStep, ToolResult, flat_text, list, sse};
use crate::answer::{Answer, Input, ToolCall, Usage, pieces};

pub(super) fn plain(answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text.whole()}));
    }
    content.extend(answer.calls.iter().map(|call| tool_use(call, input(call))));
    let stop = stop_reason(!answer.calls.is_empty());
    json!({
        "id": answer.ids.id("msg_", 0), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": usage_json(answer.usage, answer.usage.output),
    })
}

fn tool_use(call: &ToolCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

/// This API has no freeform tools: text is sent as the argument `input`.
fn input(call: &ToolCall) -> Value {
    match &call.input {
        Input::Json(input) => input.clone(),
        Input::Freeform(text) => json!({"input": text}),
    }
}

fn stop_reason(has_calls: bool) -> &'static str {
    if has_calls { "tool_use" } else { "end_turn" }
}

/// Anthropic reports cached tokens in addition to the input tokens.
fn usage_json(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached), "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached, "output_tokens": output, "service_tier": "standard",
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

pub(super) struct Encoder {
    frame: EncoderContext,
    blocks: usize,
}

impl Encoder {
    pub(super) fn new(frame: EncoderContext) -> Self {
        Self { frame, blocks: 0 }
    }

    fn start(&self, block: &Value) -> String {
        event("content_block_start", json!({"index": self.blocks, "content_block": block}))
    }

    fn delta(&self, delta: Value) -> String {
        event("content_block_delta", json!({"index": self.blocks, "delta": delta}))
    }

    fn stop(&mut self) -> String {
        let event = event("content_block_stop", json!({"index": self.blocks}));
        self.blocks += 1;
        event
    }
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    sse(kind, &data)
}

impl Encode for Encoder {
    fn encode(&mut self, step: StreamStep) -> Vec<String> {
        match step {
            StreamStep::Open => {
                let message = json!({
                    "id": self.frame.ids.id("msg_", 0), "type": "message", "role": "assistant",
                    "model": self.frame.model, "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": usage_json(self.frame.usage, 1),
                });
                vec![event("message_start", json!({"message": message})), event("ping", json!({}))]
            }
            StreamStep::TextOpen => vec![self.start(&json!({"type": "text", "text": ""}))],
            StreamStep::Piece(piece) => vec![self.delta(json!({"type": "text_delta", "text": piece}))],
            StreamStep::TextClose => vec![self.stop()],
            StreamStep::Call(call) => {
                let mut events = vec![self.start(&tool_use(&call, json!({})))];
                let delta = |piece| self.delta(json!({"type": "input_json_delta", "partial_json": piece}));
                events.extend(pieces(input(&call).to_string()).map(delta));
                events.push(self.stop());
                events
            }
            StreamStep::Close => {
                let delta = json!({"stop_reason": stop_reason(self.frame.has_calls), "stop_sequence": null});
                let usage = json!({"output_tokens": self.frame.usage.output});
                vec![event("message_delta", json!({"delta": delta, "usage": usage})), event("message_stop", json!({}))]
            }
            StreamStep::Fail(failure) => {
                vec![event("error", json!({"error": {"type": failure.code, "message": failure.message}}))]
            }
        }
    }
}

pub(super) fn tool_results(body: &Value) -> Vec<ToolResult> {
    let blocks = list(&body["messages"]).iter().flat_map(|message| list(&message["content"]));
    blocks
        .filter(|block| block["type"] == "tool_result")
        .map(|block| ToolResult {
            id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            text: flat_text(&block["content"]),
        })
        .collect()
}
