//! Chat Completions.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Answered, Failure, Input, or_default};
use crate::inspect::scan;
use crate::sse::SseEvent;

/// Most calls of one answer that are told apart; nobody asks for as many.
const MAX_CALLS: usize = 1024;
/// Longest id of a call that is kept.
const MAX_ID: usize = 512;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, deserialize_with = "or_default")]
    index: u64,
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
    /// A thought, by either of its names; a text, usually.
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    /// Not every server tells it.
    #[serde(default)]
    index: Option<u64>,
    /// Most servers send it with the first piece of a call, some with every piece, and some an empty one.
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    /// A tool that takes words instead of JSON.
    #[serde(borrow, default)]
    custom: Option<Custom<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    arguments: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Custom<'a> {
    #[serde(borrow, default)]
    input: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(deserialize_with = "or_default")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
    /// In dollars; OpenRouter tells.
    cost: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "or_default")]
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
    let Ok(chunk) = scan::parse::<Chunk<'_>>(body) else { return };
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
        answered.cost_micros =
            tokens.cost.filter(|cost| (0.0..1e9).contains(cost)).map(|cost| (cost * 1e6).round() as u64);
    }
    chunk.choices.into_iter().for_each(|choice| read_choice(choice, answered));
}

fn read_choice(choice: Choice<'_>, answered: &mut Answered) {
    answered.voices.turn_to(choice.index);
    if let Some(delta) = choice.delta {
        let thought = [delta.reasoning_content, delta.reasoning].into_iter().flatten();
        let mut thought = thought.filter_map(|raw| serde_json::from_str::<Cow<'_, str>>(raw.get()).ok());
        answered.think(&thought.next().unwrap_or_default());
        answered.say(&delta.content.unwrap_or_default());
        delta.tool_calls.unwrap_or_default().into_iter().for_each(|call| read_call(call, answered));
    }
    // Some servers say that nothing ends here.
    let finished = choice.finish_reason.filter(|reason| !reason.is_empty());
    if finished.is_some() {
        answered.finish(finished);
    }
}

/// A call as far as it has come. Pieces of several calls may come in turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallSoFar {
    index: Option<u64>,
    id: String,
    /// `None`: it takes words.
    input: Option<Input>,
}

impl CallSoFar {
    /// Whether something is missing, as far as the input itself can tell.
    pub(super) fn is_half(&self) -> bool {
        self.input.is_some_and(|input| !input.is_complete())
    }

    /// Another piece of this call, told from others in the way of its server.
    pub(super) fn piece(&self, arguments: &str) -> Value {
        match self.index {
            Some(index) => json!({ "index": index, "function": { "arguments": arguments } }),
            None => json!({ "id": self.id, "function": { "arguments": arguments } }),
        }
    }
}

/// Which of the calls a piece belongs to; `None`: it begins another one.
fn place_of(calls: &[CallSoFar], index: Option<u64>, id: &str) -> Option<usize> {
    let named = |call: &CallSoFar| id.is_empty() || call.id.is_empty() || call.id == id;
    match index {
        // Some servers give all calls the same index. Others give each piece of one call another id.
        Some(_) => {
            calls.iter().rposition(|call| call.index == index).filter(|at| named(&calls[*at]) || calls[*at].is_half())
        }
        None if id.is_empty() => calls.len().checked_sub(1),
        None => calls.iter().rposition(|call| call.id == id),
    }
}

/// Only the next call, or the end of the answer, shows that a call is complete; its JSON does so before.
fn read_call(call: Call<'_>, answered: &mut Answered) {
    let words = call.custom.is_some();
    let piece = match (call.custom, call.function) {
        (Some(custom), _) => custom.input,
        (None, function) => function.and_then(|function| function.arguments),
    };
    let piece = piece.unwrap_or_default();
    answered.ask_for(&piece);
    let id = call.id.filter(|id| id.len() <= MAX_ID).unwrap_or_default();
    let is_first = answered.voices.is_first();
    let Some(voice) = answered.voices.speaking() else { return };
    let at = place_of(&voice.calls, call.index, &id).unwrap_or_else(|| {
        answered.tool_calls += u32::from(is_first);
        voice.calls.push(CallSoFar { index: call.index, id: id.into_owned(), input: (!words).then(Input::default) });
        voice.calls.len() - 1
    });
    match &mut voice.calls[at].input {
        Some(input) => input.push(&piece),
        None => voice.unsure = true,
    }
    if voice.calls.len() > MAX_CALLS {
        voice.calls.truncate(MAX_CALLS);
        voice.unsure = true;
    }
}
