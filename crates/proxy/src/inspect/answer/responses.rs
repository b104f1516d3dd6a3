//! OpenAI's Responses.

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
    /// What a tool is asked with, by either of its names.
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

/// Most bytes of finished items that are kept.
const KEPT_ITEMS: usize = 256 * 1024;

/// Whether an item of the output asks for a tool of the agent's.
fn is_call(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call")
}

pub(super) fn read_event(event: SseEvent<'_>, answered: &mut ResponseSummary) {
    let data = event.data;
    let Ok(event) = json_scan::parse::<Event<'_>>(data) else { return };
    answered.place.sequence = event.sequence_number;
    let item = || event.item.and_then(|raw| serde_json::from_str::<Item<'_>>(raw.get()).ok());
    match &*event.kind {
        "response.output_text.delta" => answered.say(&event.delta.unwrap_or_default()),
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            answered.think(&event.delta.unwrap_or_default());
        }
        "error" => answered.failure = Some(ApiError::read(200, data)),
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            answered.ask_for(&event.delta.unwrap_or_default());
        }
        "response.output_item.added" => {
            if let Some(item) = item() {
                let open = match &*item.kind {
                    "message" => OpenBlock::Text,
                    "function_call" => OpenBlock::Input,
                    _ => OpenBlock::Other,
                };
                answered.place.open = Some((event.output_index, open));
                answered.place.count = event.output_index + 1;
                answered.place.item = item.id.into_owned();
            }
        }
        "response.output_item.done" => {
            answered.tool_calls += u32::from(item().is_some_and(|item| is_call(&item.kind)));
            answered.place.open = None;
            let kept: usize = answered.place.finished.iter().map(String::len).sum();
            answered
                .place
                .finished
                .extend(event.item.map(|raw| raw.get().to_owned()).filter(|raw| kept + raw.len() <= KEPT_ITEMS));
        }
        "response.created" => read_response(event.response, answered, false),
        "response.completed" | "response.incomplete" | "response.failed" => {
            read_response(event.response, answered, false);
            answered.complete = true;
        }
        _ => {}
    }
}

/// A plain body is a response as a whole.
pub(super) fn read_plain(body: &[u8], answered: &mut ResponseSummary) {
    if let Ok(raw) = serde_json::from_slice::<&RawValue>(body) {
        read_response(Some(raw), answered, true);
    }
}

fn read_response(raw: Option<&RawValue>, answered: &mut ResponseSummary, with_output: bool) {
    let Some(response) = raw.and_then(|raw| serde_json::from_str::<Response<'_>>(raw.get()).ok()) else { return };
    ResponseSummary::set(&mut answered.id, response.id);
    ResponseSummary::set(&mut answered.model, response.model);
    if let Some(error) = response.error.filter(|error| error.get() != "null") {
        answered.failure = Some(ApiError::read(200, error.get().as_bytes()));
    }
    if let Some(tokens) = response.usage {
        let cache_read = tokens.input_tokens_details.unwrap_or_default().cached_tokens;
        answered.usage = Some(Usage {
            input: tokens.input_tokens.saturating_sub(cache_read),
            output: tokens.output_tokens,
            cache_read,
            cache_write: 0,
        });
    }
    let finished = response.status.filter(|status| status != "in_progress" && status != "queued");
    ResponseSummary::set(
        &mut answered.stop,
        response.incomplete_details.and_then(|details| details.reason).or(finished),
    );
    if with_output {
        for item in response.output {
            if is_call(&item.kind) {
                answered.ask_at_once(item.arguments.or(item.input));
            }
            item.content.unwrap_or_default().iter().for_each(|part| answered.say(&part.text));
        }
    }
}
