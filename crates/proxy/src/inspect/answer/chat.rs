//! Chat Completions.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Answered, Failure, Input, Open};
use crate::sse::SseEvent;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default, alias = "message")]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    index: u64,
    /// Only the first piece of a call has it.
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    /// A tool that takes words instead of JSON.
    #[serde(borrow, default)]
    custom: Option<Custom<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Custom<'a> {
    #[serde(borrow, default)]
    input: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
    /// In dollars; OpenRouter tells.
    cost: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: u64,
}

pub(super) fn read_event(event: SseEvent<'_>, answered: &mut Answered) {
    if event.data == b"[DONE]" {
        answered.complete = true;
        return;
    }
    read_plain(event.data, answered);
}

pub(super) fn read_plain(body: &[u8], answered: &mut Answered) {
    let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(body) else { return };
    Answered::set(&mut answered.id, chunk.id);
    Answered::set(&mut answered.model, chunk.model);
    if let Some(error) = chunk.error {
        answered.failure = Some(Failure::read(200, error.get().as_bytes()));
    }
    if let Some(tokens) = chunk.usage {
        let cache_read = tokens.prompt_tokens_details.unwrap_or_default().cached_tokens;
        answered.usage = Some(Usage {
            input: tokens.prompt_tokens.saturating_sub(cache_read),
            output: tokens.completion_tokens,
            cache_read,
            cache_write: 0,
        });
        answered.cost_micros = tokens.cost.filter(|cost| (0.0..1e9).contains(cost)).map(|cost| (cost * 1e6) as u64);
    }
    // Further choices are alternatives, not more of the conversation.
    if let Some(choice) = chunk.choices.into_iter().next() {
        if let Some(delta) = choice.delta {
            answered.say(&delta.content.unwrap_or_default());
            delta.tool_calls.unwrap_or_default().into_iter().for_each(|call| read_call(call, answered));
        }
        Answered::set(&mut answered.stop, choice.finish_reason);
    }
}

/// Only the next call, or the end of the answer, shows that a call is complete; its JSON does so before.
fn read_call(call: Call<'_>, answered: &mut Answered) {
    if call.id.is_some() {
        answered.tool_calls += 1;
        answered.place.input = Input::default();
    }
    if let Some(custom) = call.custom {
        answered.ask_for(&custom.input);
        answered.place.open = Some((call.index, Open::Words));
    } else {
        let arguments = call.function.map(|function| function.arguments).unwrap_or_default();
        answered.ask_for(&arguments);
        answered.place.input.push(&arguments);
        answered.place.open = (!answered.place.input.is_complete()).then_some((call.index, Open::Input));
    }
}
