//! OpenAI Responses.

use serde_json::{Value, json};

use super::{Encode, EncoderContext, StreamStep, ToolResult, flat_text, list, sse};
use crate::answer::{Answer, CREATED, Ids, Input, ToolCall, Usage, pieces};

pub(super) fn plain(answer: &Answer) -> Value {
    let mut output = Vec::new();
    if !answer.text.is_empty() {
        output.push(message(answer.ids, &answer.text.whole()));
    }
    output.extend(answer.calls.iter().enumerate().map(|(index, call)| call_item(answer.ids, index, call)));
    response(answer.ids, &answer.model, "completed", &output, Some(answer.usage))
}

fn response(ids: Ids, model: &str, status: &str, output: &[Value], usage: Option<Usage>) -> Value {
    json!({
        "id": ids.id("resp_", 0), "object": "response", "created_at": CREATED, "status": status, "model": model,
        "error": null, "incomplete_details": null, "output": output, "parallel_tool_calls": true,
        "tool_choice": "auto", "tools": [], "usage": usage.map(usage_json),
    })
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total(),
    })
}

fn message(ids: Ids, text: &str) -> Value {
    json!({
        "type": "message", "id": ids.id("msg_", 0), "role": "assistant", "status": "completed",
        "content": [text_part(text)],
    })
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn call_item(ids: Ids, index: usize, call: &ToolCall) -> Value {
    let mut item = match &call.input {
        Input::Json(arguments) => json!({
            "type": "function_call", "id": ids.id("fc_", index), "arguments": arguments.to_string(),
        }),
        Input::Freeform(input) => json!({"type": "custom_tool_call", "id": ids.id("ctc_", index), "input": input}),
    };
    item["call_id"] = json!(call.id);
    item["name"] = json!(call.name);
    item["status"] = json!("completed");
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

pub(super) struct Encoder {
    frame: EncoderContext,
    sequence: u64,
    output: Vec<Value>,
    calls: usize,
    text: String,
}

impl Encoder {
    pub(super) fn new(frame: EncoderContext) -> Self {
        Self { frame, sequence: 0, output: Vec::new(), calls: 0, text: String::new() }
    }

    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        sse(kind, &data)
    }

    fn response(&self, status: &str, usage: Option<Usage>) -> Value {
        response(self.frame.ids, &self.frame.model, status, &self.output, usage)
    }

    /// An event about the text part of the message being written.
    fn part_event(&mut self, kind: &str, field: &str, value: Value) -> String {
        let mut data = json!({
            "item_id": self.frame.ids.id("msg_", 0), "output_index": self.output.len(), "content_index": 0,
        });
        data[field] = value;
        self.event(kind, data)
    }

    fn item_done(&mut self, item: Value) -> String {
        let event = self.event("response.output_item.done", json!({"output_index": self.output.len(), "item": item}));
        self.output.push(item);
        event
    }

    fn call(&mut self, call: &ToolCall) -> Vec<String> {
        let item = call_item(self.frame.ids, self.calls, call);
        self.calls += 1;
        let (field, kind) = match call.input {
            Input::Json(_) => ("arguments", "response.function_call_arguments"),
            Input::Freeform(_) => ("input", "response.custom_tool_call_input"),
        };
        let whole = item[field].as_str().unwrap_or_default().to_owned();
        let at = |more: &str, value: &str| {
            let mut data = json!({"item_id": item["id"], "output_index": self.output.len()});
            data[more] = json!(value);
            data
        };
        let deltas: Vec<Value> = pieces(whole.clone()).map(|piece| at("delta", &piece)).collect();
        let done = at(field, &whole);
        let mut begun = item.clone();
        begun[field] = json!("");
        begun["status"] = json!("in_progress");
        let begun = json!({"output_index": self.output.len(), "item": begun});
        let mut events = vec![self.event("response.output_item.added", begun)];
        events.extend(deltas.into_iter().map(|delta| self.event(&format!("{kind}.delta"), delta)));
        events.push(self.event(&format!("{kind}.done"), done));
        events.push(self.item_done(item));
        events
    }
}

impl Encode for Encoder {
    fn encode(&mut self, step: StreamStep) -> Vec<String> {
        match step {
            StreamStep::Open => {
                let begun = json!({"response": self.response("in_progress", None)});
                vec![self.event("response.created", begun.clone()), self.event("response.in_progress", begun)]
            }
            StreamStep::TextOpen => {
                let mut item = message(self.frame.ids, "");
                item["content"] = json!([]);
                item["status"] = json!("in_progress");
                let item = json!({"output_index": self.output.len(), "item": item});
                vec![
                    self.event("response.output_item.added", item),
                    self.part_event("response.content_part.added", "part", text_part("")),
                ]
            }
            StreamStep::Piece(piece) => {
                self.text.push_str(&piece);
                vec![self.part_event("response.output_text.delta", "delta", json!(piece))]
            }
            StreamStep::TextClose => {
                let text = std::mem::take(&mut self.text);
                vec![
                    self.part_event("response.output_text.done", "text", json!(text)),
                    self.part_event("response.content_part.done", "part", text_part(&text)),
                    self.item_done(message(self.frame.ids, &text)),
                ]
            }
            StreamStep::Call(call) => self.call(&call),
            StreamStep::Close => {
                let done = json!({"response": self.response("completed", Some(self.frame.usage))});
                vec![self.event("response.completed", done)]
            }
            StreamStep::Fail(failure) => {
                let mut response = self.response("failed", None);
                response["error"] = json!({"code": failure.code, "message": failure.message});
                vec![self.event("response.failed", json!({"response": response}))]
            }
        }
    }
}

pub(super) fn tool_results(body: &Value) -> Vec<ToolResult> {
    let results = list(&body["input"])
        .iter()
        .filter(|item| matches!(item["type"].as_str(), Some("function_call_output" | "custom_tool_call_output")));
    results
        .map(|item| ToolResult {
            id: item["call_id"].as_str().unwrap_or_default().to_owned(),
            text: flat_text(&item["output"]),
        })
        .collect()
}
