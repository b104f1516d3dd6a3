//! OpenAI's Responses.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message_item::{ContentParts, MessageItem, ToolInputRef};
use super::summary::{OpenBlock, or_default, set_once};
use super::tool_input::INVALIDATING_SUFFIX;
use super::{ApiError, ResponseSummary, WireFormat, nudge};
use crate::inspect::json_scan::{self, optional_str, parse_str, pick};
use crate::sse::SseEvent;

/// How many bytes of finished items are retained.
const MAX_RETAINED_ITEM_BYTES: usize = 256 * 1024;

pub(super) struct Responses;

impl WireFormat for Responses {
    fn is_turn(&self, path: &str) -> bool {
        path.rsplit('/').next() == Some("responses")
    }

    fn messages_field(&self) -> &'static str {
        "input"
    }

    fn read_message<'a>(&self, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
        if message.starts_with(b"\"") {
            // The complete conversation is one string.
            let Some(text) = parse_str(message) else { return false };
            each(MessageItem::Prompt { text });
            return true;
        }
        let names = ["type", "role", "content", "call_id", "name", "arguments", "input", "action", "output"];
        let Some([kind, role, content, id, name, arguments, input, action, output]) = pick(message, names) else {
            return false;
        };
        let text = |raw: &'a [u8]| parse_str(raw).unwrap_or_default();
        let mut call = |name, input| each(MessageItem::Call { id: text(id), name, input });
        match &*text(kind) {
            "function_call" => call(text(name), ToolInputRef::Text(text(arguments))),
            "custom_tool_call" => call(text(name), ToolInputRef::Text(text(input))),
            "local_shell_call" => call(Cow::Borrowed("local_shell"), ToolInputRef::from_json(action)),
            "" | "message" if text(role) == "user" => {
                ContentParts(content).texts(&mut |text| each(MessageItem::Prompt { text }));
            }
            kind if kind.ends_with("_call_output") => {
                each(MessageItem::Result { call: text(id), text: ContentParts(output).joined(), failed: false });
            }
            _ => {}
        }
        true
    }

    fn insert_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>> {
        let last = nudge::last_message(body, self.messages_field())?;
        let content = json!([{ "type": "input_text", "text": text }]);
        let message = json!({ "type": "message", "role": "user", "content": content });
        Some(nudge::insert_element(body, last.end, &message))
    }

    fn read_stream_event(&self, event: SseEvent<'_>, summary: &mut ResponseSummary) {
        let data = event.data;
        let Ok(event) = json_scan::parse::<Event<'_>>(data) else { return };
        summary.position.sequence = event.sequence_number;
        let item = || event.item.and_then(|raw| serde_json::from_str::<Item<'_>>(raw.get()).ok());
        match &*event.kind {
            "response.output_text.delta" => summary.push_text(&event.delta.unwrap_or_default()),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                summary.push_reasoning(&event.delta.unwrap_or_default());
            }
            "error" => summary.failure = Some(ApiError::read(200, data)),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                summary.push_tool_input(&event.delta.unwrap_or_default());
            }
            "response.output_item.added" => {
                if let Some(item) = item() {
                    let open = match &*item.kind {
                        "message" => OpenBlock::Text,
                        "function_call" => OpenBlock::ToolInput,
                        _ => OpenBlock::Other,
                    };
                    summary.position.open = Some((event.output_index, open));
                    summary.position.count = event.output_index + 1;
                    summary.position.item_id = item.id.into_owned();
                }
            }
            "response.output_item.done" => {
                summary.tool_calls += u32::from(item().is_some_and(|item| is_tool_call(&item.kind)));
                summary.position.open = None;
                let retained: usize = summary.position.finished.iter().map(String::len).sum();
                summary.position.finished.extend(
                    event
                        .item
                        .map(|raw| raw.get().to_owned())
                        .filter(|raw| retained + raw.len() <= MAX_RETAINED_ITEM_BYTES),
                );
            }
            "response.created" => read_response(event.response, summary, false),
            "response.completed" | "response.incomplete" | "response.failed" => {
                read_response(event.response, summary, false);
                summary.complete = true;
            }
            _ => {}
        }
    }

    fn read_body(&self, body: &[u8], summary: &mut ResponseSummary) {
        if let Ok(raw) = serde_json::from_slice::<&RawValue>(body) {
            read_response(Some(raw), summary, true);
        }
    }

    fn end_stream(&self, summary: &ResponseSummary, text: &str) -> String {
        let position = &summary.position;
        let mut out = EventWriter { out: String::new(), sequence: position.sequence };
        let (index, item_id, before) = match position.open {
            Some((index, OpenBlock::Text)) => (index, position.item_id.as_str(), summary.text.as_str()),
            _ => (position.count, "msg_belay", ""),
        };
        let message = |status: &str, content: Value| json!({ "id": item_id, "type": "message", "role": "assistant", "status": status, "content": content });
        if let Some((index, OpenBlock::ToolInput)) = position.open {
            let (kind, item) = ("response.function_call_arguments.delta", &position.item_id);
            out.event(json!({ "type": kind, "item_id": item, "output_index": index, "delta": INVALIDATING_SUFFIX }));
        }
        if !matches!(position.open, Some((_, OpenBlock::Text))) {
            let item = message("in_progress", json!([]));
            out.event(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
        }
        let full_text = format!("{before}{text}");
        let part = json!({ "type": "output_text", "text": full_text, "annotations": [] });
        for (kind, field, value) in [
            ("response.output_text.delta", "delta", json!(text)),
            ("response.output_text.done", "text", json!(full_text)),
            ("response.content_part.done", "part", part.clone()),
        ] {
            let at = json!({ "type": kind, "item_id": item_id, "output_index": index, "content_index": 0 });
            out.event_with(at, field, value);
        }
        let done = message("completed", json!([part]));
        out.event(json!({ "type": "response.output_item.done", "output_index": index, "item": done }));
        let finished = position.finished.iter().filter_map(|raw| serde_json::from_str::<Value>(raw).ok());
        let output: Vec<Value> = finished.chain([done]).collect();
        let (input, spent) = (summary.usage.map_or(0, |usage| usage.context()), summary.output_tokens());
        let usage = json!({ "input_tokens": input, "output_tokens": spent, "total_tokens": input + spent });
        let response = json!({
            "id": summary.id, "object": "response", "status": "completed", "model": summary.model,
            "output": output, "usage": usage, "error": null,
        });
        out.event(json!({ "type": "response.completed", "response": response }));
        out.out
    }
}

/// Writes numbered events.
struct EventWriter {
    out: String,
    sequence: u64,
}

impl EventWriter {
    fn event(&mut self, mut body: Value) {
        self.sequence += 1;
        body["sequence_number"] = self.sequence.into();
        let name = body["type"].as_str().unwrap_or_default();
        self.out.push_str(&format!("event: {name}\ndata: {body}\n\n"));
    }

    fn event_with(&mut self, mut body: Value, field: &str, value: Value) {
        body[field] = value;
        self.event(body);
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    delta: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    sequence_number: u64,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<Vec<Part<'a>>>,
    /// The input of a tool call has either of two names.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "optional_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    status: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    output: Vec<Item<'a>>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default, deserialize_with = "optional_str")]
    reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(deserialize_with = "or_default")]
    input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
}

/// Whether an output item calls one of the agent's tools.
fn is_tool_call(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call")
}

fn read_response(raw: Option<&RawValue>, summary: &mut ResponseSummary, with_output: bool) {
    let Some(response) = raw.and_then(|raw| serde_json::from_str::<Response<'_>>(raw.get()).ok()) else { return };
    set_once(&mut summary.id, response.id);
    set_once(&mut summary.model, response.model);
    if let Some(error) = response.error.filter(|error| error.get() != "null") {
        summary.failure = Some(ApiError::read(200, error.get().as_bytes()));
    }
    if let Some(tokens) = response.usage {
        let cache_read = tokens.input_tokens_details.unwrap_or_default().cached_tokens;
        summary.usage = Some(Usage {
            input: tokens.input_tokens.saturating_sub(cache_read),
            output: tokens.output_tokens,
            cache_read,
            ..Usage::default()
        });
    }
    let finished = response.status.filter(|status| status != "in_progress" && status != "queued");
    set_once(&mut summary.stop, response.incomplete_details.and_then(|details| details.reason).or(finished));
    if with_output {
        for item in response.output {
            if is_tool_call(&item.kind) {
                summary.count_tool_call(item.arguments.or(item.input));
            }
            item.content.unwrap_or_default().iter().for_each(|part| summary.push_text(&part.text));
        }
    }
}
