//! Anthropic's Messages.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message_item::{ContentParts, MessageItem, ToolInputRef};
use super::summary::{OpenBlock, or_default, set_once};
use super::tool_input::INVALIDATING_SUFFIX;
use super::{ApiError, ResponseSummary, WireFormat, nudge};
use crate::inspect::json_scan::{self, array_fields, optional_str, parse_str, pick};
use crate::sse::SseEvent;

pub(super) struct Messages;

impl WireFormat for Messages {
    fn is_turn(&self, path: &str) -> bool {
        path.rsplit('/').next() == Some("messages")
    }

    fn messages_field(&self) -> &'static str {
        "messages"
    }

    fn read_message<'a>(&self, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
        let Some([role, content]) = pick(message, ["role", "content"]) else { return false };
        let Some(role) = parse_str(role) else { return false };
        let is_user = role == "user";
        match content.first() {
            Some(b'[') => {
                array_fields(content, BLOCK_FIELDS).filter_map(|block| message_block(block, is_user)).for_each(each);
            }
            _ => {
                let Some(text) = parse_str(content) else { return false };
                if is_user {
                    each(MessageItem::Prompt { text });
                }
            }
        }
        true
    }

    fn insert_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>> {
        let last = nudge::last_message(body, self.messages_field())?;
        // Roles alternate: a nudge after a user's turn becomes another part of it.
        let (at, element) = match nudge::end_of_user_parts(body, &last, "content") {
            Some(at) => (at, json!({ "type": "text", "text": text })),
            None => (last.end, json!({ "role": "user", "content": text })),
        };
        Some(nudge::insert_element(body, at, &element))
    }

    fn read_stream_event(&self, event: SseEvent<'_>, summary: &mut ResponseSummary) {
        let Ok(event) = json_scan::parse::<Event<'_>>(event.data) else { return };
        match &*event.kind {
            "message_start" => {
                if let Some(message) = event.message {
                    read_response(message, summary);
                }
            }
            "content_block_start" => {
                let kind = event.content_block.map(|block| block.kind).unwrap_or_default();
                summary.tool_calls += u32::from(kind == "tool_use");
                let open = match &*kind {
                    "text" => OpenBlock::Text,
                    "tool_use" => OpenBlock::ToolInput,
                    _ => OpenBlock::Other,
                };
                summary.position.open = Some((event.index, open));
                summary.position.count = event.index + 1;
            }
            "content_block_stop" => summary.position.open = None,
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    summary.push_text(&delta.text.unwrap_or_default());
                    summary.push_tool_input(&delta.partial_json.unwrap_or_default());
                    summary.push_reasoning(&delta.thinking.unwrap_or_default());
                }
            }
            "message_delta" => {
                set_once(&mut summary.stop, event.delta.and_then(|delta| delta.stop_reason));
                if let Some(tokens) = event.usage {
                    tokens.merge_into(summary);
                }
            }
            "message_stop" => summary.complete = true,
            "error" => {
                let error = event.error.map_or("", RawValue::get);
                summary.failure = Some(ApiError::read(200, error.as_bytes()));
            }
            _ => {}
        }
    }

    fn read_body(&self, body: &[u8], summary: &mut ResponseSummary) {
        if let Ok(message) = json_scan::parse(body) {
            read_response(message, summary);
        }
    }

    fn end_stream(&self, summary: &ResponseSummary, text: &str) -> String {
        let mut out = String::new();
        let index = match summary.position.open {
            Some((index, OpenBlock::Text)) => index,
            open => {
                // Neither a call nor reasoning is closed: the call would run, and the reasoning lacks its signature.
                if let Some((index, OpenBlock::ToolInput)) = open {
                    let delta = json!({ "type": "input_json_delta", "partial_json": INVALIDATING_SUFFIX });
                    out.push_str(&block_delta(index, &delta));
                }
                let (index, block) = (summary.position.count, json!({ "type": "text", "text": "" }));
                let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
                out.push_str(&stream_event("content_block_start", &start));
                index
            }
        };
        out.push_str(&block_delta(index, &json!({ "type": "text_delta", "text": text })));
        out.push_str(&stream_event("content_block_stop", &json!({ "type": "content_block_stop", "index": index })));
        let incomplete = u32::from(matches!(summary.position.open, Some((_, OpenBlock::ToolInput))));
        let reason = if summary.tool_calls > incomplete { "tool_use" } else { "end_turn" };
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        let usage = json!({ "output_tokens": summary.output_tokens() });
        let last = json!({ "type": "message_delta", "delta": delta, "usage": usage });
        out.push_str(&stream_event("message_delta", &last));
        out.push_str(&stream_event("message_stop", &json!({ "type": "message_stop" })));
        out
    }
}

/// The fields that are read of a block.
const BLOCK_FIELDS: [&str; 8] = ["type", "text", "id", "name", "input", "tool_use_id", "content", "is_error"];

fn message_block<'a>(block: [&'a [u8]; BLOCK_FIELDS.len()], is_user: bool) -> Option<MessageItem<'a>> {
    let [kind, text, id, name, input, call, content, failed] = block;
    match &*parse_str(kind)? {
        "text" if is_user => Some(MessageItem::Prompt { text: parse_str(text)? }),
        "tool_use" => {
            let (id, name) = (parse_str(id).unwrap_or_default(), parse_str(name).unwrap_or_default());
            Some(MessageItem::Call { id, name, input: ToolInputRef::from_json(input) })
        }
        "tool_result" => {
            let (call, text) = (parse_str(call).unwrap_or_default(), ContentParts(content).joined());
            Some(MessageItem::Result { call, text, failed: failed == b"true" })
        }
        _ => None,
    }
}

fn block_delta(index: u64, delta: &Value) -> String {
    stream_event("content_block_delta", &json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn stream_event(name: &str, body: &Value) -> String {
    format!("event: {name}\ndata: {body}\n\n")
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Block<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "optional_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    content: Vec<Block<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, deserialize_with = "optional_str")]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    partial_json: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    stop_reason: Option<Cow<'a, str>>,
}

/// Later events repeat or complete the figures of earlier ones.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Tokens {
    fn merge_into(self, summary: &mut ResponseSummary) {
        let usage = summary.usage.get_or_insert_with(Usage::default);
        for (tokens, slot) in [
            (self.input_tokens, &mut usage.input),
            (self.output_tokens, &mut usage.output),
            (self.cache_read_input_tokens, &mut usage.cache_read),
            (self.cache_creation_input_tokens, &mut usage.cache_write),
        ] {
            *slot = tokens.unwrap_or(*slot);
        }
    }
}

fn read_response(message: Message<'_>, summary: &mut ResponseSummary) {
    set_once(&mut summary.id, message.id);
    set_once(&mut summary.model, message.model);
    set_once(&mut summary.stop, message.stop_reason);
    if let Some(tokens) = message.usage {
        tokens.merge_into(summary);
    }
    for block in message.content {
        if block.kind == "tool_use" {
            summary.count_tool_call(block.input);
        }
        summary.push_text(&block.text.unwrap_or_default());
        summary.push_reasoning(&block.thinking.unwrap_or_default());
    }
}
