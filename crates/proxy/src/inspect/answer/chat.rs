//! Chat Completions.

use belay_core::event::Usage;
use serde_json::{Value, json};

use super::{ApiError, ResponseSummary, ToolInput};
use crate::inspect::json_scan::{array_fields, parse_str, parse_u64, pick};
use crate::sse::SseEvent;

/// Most calls of one answer that are told apart; nobody asks for as many.
const MAX_TRACKED_CALLS: usize = 1024;
/// Longest id of a call that is kept.
const MAX_CALL_ID_BYTES: usize = 512;

pub(super) fn read_event(event: SseEvent<'_>, answered: &mut ResponseSummary) {
    if event.data == b"[DONE]" {
        answered.complete = true;
        return;
    }
    read_plain(event.data, answered);
}

pub(super) fn read_plain(body: &[u8], answered: &mut ResponseSummary) {
    let names = ["id", "model", "choices", "usage", "error"];
    let Some([id, model, choices, usage, error]) = pick(body, names) else { return };
    ResponseSummary::set(&mut answered.id, parse_str(id));
    ResponseSummary::set(&mut answered.model, parse_str(model));
    if !error.is_empty() {
        answered.failure = Some(ApiError::read(200, error));
    }
    let names = ["prompt_tokens", "completion_tokens", "prompt_tokens_details", "cost"];
    if let Some([input, output, details, cost]) = pick(usage, names) {
        let cache_read = pick(details, ["cached_tokens"]).map_or(0, |[cached]| parse_u64(cached).unwrap_or(0));
        let (input, output) = (parse_u64(input).unwrap_or(0), parse_u64(output).unwrap_or(0));
        let input = input.saturating_sub(cache_read);
        answered.usage = Some(Usage { input, output, cache_read, cache_write: 0 });
        // In dollars; OpenRouter tells.
        let cost = str::from_utf8(cost).ok().and_then(|cost| cost.parse::<f64>().ok());
        answered.cost_micros = cost.filter(|cost| (0.0..1e9).contains(cost)).map(|cost| (cost * 1e6).round() as u64);
    }
    let names = ["index", "delta", "message", "finish_reason"];
    array_fields(choices, names).for_each(|choice| read_choice(choice, answered));
}

fn read_choice([index, delta, message, finished]: [&[u8]; 4], answered: &mut ResponseSummary) {
    answered.voices.select(parse_u64(index).unwrap_or(0));
    // A thought has either of two names, and is a text, usually.
    let names = ["content", "tool_calls", "reasoning_content", "reasoning"];
    if let Some([content, calls, thought, reasoning]) = pick(delta, names).or_else(|| pick(message, names)) {
        answered.think(&parse_str(thought).or_else(|| parse_str(reasoning)).unwrap_or_default());
        answered.say(&parse_str(content).unwrap_or_default());
        array_fields(calls, ["index", "id", "function", "custom"]).for_each(|call| read_call(call, answered));
    }
    // Some servers say that nothing ends here.
    let finished = parse_str(finished).filter(|reason| !reason.is_empty());
    if finished.is_some() {
        answered.finish(finished);
    }
}

/// A call as far as it has come. Pieces of several calls may come in turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartialToolCall {
    index: Option<u64>,
    id: String,
    /// `None`: it takes words.
    input: Option<ToolInput>,
}

impl PartialToolCall {
    /// Whether something is missing, as far as the input itself can tell.
    pub(super) fn is_incomplete(&self) -> bool {
        self.input.is_some_and(|input| !input.is_complete())
    }

    /// Another piece of this call, told from others in the way of its server.
    pub(super) fn delta(&self, arguments: &str) -> Value {
        match self.index {
            Some(index) => json!({ "index": index, "function": { "arguments": arguments } }),
            None => json!({ "id": self.id, "function": { "arguments": arguments } }),
        }
    }
}

/// Which of the calls a piece belongs to; `None`: it begins another one.
fn place_of(calls: &[PartialToolCall], index: Option<u64>, id: &str) -> Option<usize> {
    let named = |call: &PartialToolCall| id.is_empty() || call.id.is_empty() || call.id == id;
    match index {
        // Some servers give all calls the same index. Others give each piece of one call another id.
        Some(_) => calls
            .iter()
            .rposition(|call| call.index == index)
            .filter(|at| named(&calls[*at]) || calls[*at].is_incomplete()),
        None if id.is_empty() => calls.len().checked_sub(1),
        None => calls.iter().rposition(|call| call.id == id),
    }
}

/// Only the next call, or the end of the answer, shows that a call is complete; its JSON does so before.
fn read_call([index, id, function, custom]: [&[u8]; 4], answered: &mut ResponseSummary) {
    // Not every server tells the index. Most send the id with the first piece of a call, some with every piece, and some
    // an empty one. A custom tool takes words instead of JSON.
    let (index, custom) = (parse_u64(index), pick(custom, ["input"]));
    let words = custom.is_some();
    let [piece] = custom.or_else(|| pick(function, ["arguments"])).unwrap_or_default();
    let piece = parse_str(piece).unwrap_or_default();
    answered.ask_for(&piece);
    let id = parse_str(id).filter(|id| id.len() <= MAX_CALL_ID_BYTES).unwrap_or_default();
    let is_first = answered.voices.is_first_choice();
    let Some(voice) = answered.voices.current_mut() else { return };
    let at = place_of(&voice.calls, index, &id).unwrap_or_else(|| {
        answered.tool_calls += u32::from(is_first);
        voice.calls.push(PartialToolCall { index, id: id.into_owned(), input: (!words).then(ToolInput::default) });
        voice.calls.len() - 1
    });
    match &mut voice.calls[at].input {
        Some(input) => input.push(&piece),
        None => voice.unsure = true,
    }
    if voice.calls.len() > MAX_TRACKED_CALLS {
        voice.calls.truncate(MAX_TRACKED_CALLS);
        voice.unsure = true;
    }
}
