//! Anthropic's Messages.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ApiError, OpenBlock, ResponseSummary, or_default};
use crate::inspect::json_scan::{self, optional_str};
use crate::sse::SseEvent;

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

/// Later events repeat or complete what earlier ones said.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Tokens {
    fn into(self, answered: &mut ResponseSummary) {
        let usage = answered.usage.get_or_insert_with(Usage::default);
        for (told, slot) in [
            (self.input_tokens, &mut usage.input),
            (self.output_tokens, &mut usage.output),
            (self.cache_read_input_tokens, &mut usage.cache_read),
            (self.cache_creation_input_tokens, &mut usage.cache_write),
        ] {
            *slot = told.unwrap_or(*slot);
        }
    }
}

pub(super) fn read_event(event: SseEvent<'_>, answered: &mut ResponseSummary) {
    let Ok(event) = json_scan::parse::<Event<'_>>(event.data) else { return };
    match &*event.kind {
        "message_start" => {
            if let Some(message) = event.message {
                read_message(message, answered);
            }
        }
        "content_block_start" => {
            let kind = event.content_block.map(|block| block.kind).unwrap_or_default();
            answered.tool_calls += u32::from(kind == "tool_use");
            let open = match &*kind {
                "text" => OpenBlock::Text,
                "tool_use" => OpenBlock::Input,
                _ => OpenBlock::Other,
            };
            answered.place.open = Some((event.index, open));
            answered.place.count = event.index + 1;
        }
        "content_block_stop" => answered.place.open = None,
        "content_block_delta" => {
            if let Some(delta) = event.delta {
                answered.say(&delta.text.unwrap_or_default());
                answered.ask_for(&delta.partial_json.unwrap_or_default());
                answered.think(&delta.thinking.unwrap_or_default());
            }
        }
        "message_delta" => {
            ResponseSummary::set(&mut answered.stop, event.delta.and_then(|delta| delta.stop_reason));
            if let Some(tokens) = event.usage {
                tokens.into(answered);
            }
        }
        "message_stop" => answered.complete = true,
        "error" => {
            let error = event.error.map_or("", RawValue::get);
            answered.failure = Some(ApiError::read(200, error.as_bytes()));
        }
        _ => {}
    }
}

pub(super) fn read_plain(body: &[u8], answered: &mut ResponseSummary) {
    if let Ok(message) = json_scan::parse(body) {
        read_message(message, answered);
    }
}

fn read_message(message: Message<'_>, answered: &mut ResponseSummary) {
    ResponseSummary::set(&mut answered.id, message.id);
    ResponseSummary::set(&mut answered.model, message.model);
    ResponseSummary::set(&mut answered.stop, message.stop_reason);
    if let Some(tokens) = message.usage {
        tokens.into(answered);
    }
    for block in message.content {
        if block.kind == "tool_use" {
            answered.ask_at_once(block.input);
        }
        answered.say(&block.text.unwrap_or_default());
        answered.think(&block.thinking.unwrap_or_default());
    }
}
