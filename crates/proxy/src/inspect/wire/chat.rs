//! OpenAI's Chat Completions and everything compatible with it.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde_json::{Value, json};

use super::choices::Choice;
use super::message_item::{ContentParts, MessageItem, ToolInputRef};
use super::summary::set_once;
use super::tool_input::{INVALIDATING_SUFFIX, ToolInput};
use super::{ApiError, ResponseSummary, WireFormat, nudge};
use crate::inspect::json_scan::{array_fields, parse_str, parse_u64, pick};
use crate::sse::SseEvent;

/// How many tool calls of one response are tracked.
const MAX_TRACKED_CALLS: usize = 1024;
const MAX_CALL_ID_BYTES: usize = 512;

pub(super) struct Chat;

impl WireFormat for Chat {
    fn is_turn(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn messages_field(&self) -> &'static str {
        "messages"
    }

    fn read_message<'a>(&self, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
        let names = ["role", "content", "tool_calls", "tool_call_id"];
        let Some([role, content, calls, call]) = pick(message, names) else { return false };
        let Some(role) = parse_str(role) else { return false };
        match &*role {
            "user" => ContentParts(content).texts(&mut |text| each(MessageItem::Prompt { text })),
            "tool" | "function" => {
                let (call, text) = (parse_str(call).unwrap_or_default(), ContentParts(content).joined());
                each(MessageItem::Result { call, text, failed: false });
            }
            "assistant" => array_fields(calls, ["id", "function", "custom"]).filter_map(message_call).for_each(each),
            _ => {}
        }
        true
    }

    fn insert_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>> {
        let last = nudge::last_message(body, self.messages_field())?;
        Some(nudge::insert_element(body, last.end, &json!({ "role": "user", "content": text })))
    }

    fn read_stream_event(&self, event: SseEvent<'_>, summary: &mut ResponseSummary) {
        if event.data == b"[DONE]" {
            summary.complete = true;
            return;
        }
        self.read_body(event.data, summary);
    }

    fn read_body(&self, body: &[u8], summary: &mut ResponseSummary) {
        let names = ["id", "model", "choices", "usage", "error"];
        let Some([id, model, choices, usage, error]) = pick(body, names) else { return };
        set_once(&mut summary.id, parse_str(id));
        set_once(&mut summary.model, parse_str(model));
        if !error.is_empty() {
            summary.failure = Some(ApiError::read(200, error));
        }
        read_usage(usage, summary);
        let names = ["index", "delta", "message", "finish_reason"];
        array_fields(choices, names).for_each(|choice| read_choice(choice, summary));
    }

    fn end_stream(&self, summary: &ResponseSummary, text: &str) -> String {
        if summary.choices.has_opaque_call() {
            return error_event(summary, text);
        }
        let ends: String = unfinished(summary).into_iter().map(|choice| end_choice(&choice, summary, text)).collect();
        format!("{ends}data: [DONE]\n\n")
    }
}

fn message_call<'a>([id, function, custom]: [&'a [u8]; 3]) -> Option<MessageItem<'a>> {
    let [name, input] = pick(function, ["name", "arguments"]).or_else(|| pick(custom, ["name", "input"]))?;
    let input = ToolInputRef::Text(parse_str(input).unwrap_or_default());
    Some(MessageItem::Call { id: parse_str(id).unwrap_or_default(), name: parse_str(name)?, input })
}

fn read_usage(usage: &[u8], summary: &mut ResponseSummary) {
    let names = ["prompt_tokens", "completion_tokens", "prompt_tokens_details", "cost"];
    let Some([input, output, details, cost]) = pick(usage, names) else { return };
    let cache_read = pick(details, ["cached_tokens"]).map_or(0, |[cached]| parse_u64(cached).unwrap_or(0));
    let (input, output) = (parse_u64(input).unwrap_or(0), parse_u64(output).unwrap_or(0));
    let input = input.saturating_sub(cache_read);
    summary.usage = Some(Usage { input, output, cache_read, cache_write: 0, ..Usage::default() });
    // OpenRouter reports the cost in dollars.
    let cost = str::from_utf8(cost).ok().and_then(|cost| cost.parse::<f64>().ok());
    summary.cost_micros = cost.filter(|cost| (0.0..1e9).contains(cost)).map(|cost| (cost * 1e6).round() as u64);
}

fn read_choice([index, delta, message, finished]: [&[u8]; 4], summary: &mut ResponseSummary) {
    summary.choices.select(parse_u64(index).unwrap_or(0));
    // Servers use either of two names for reasoning, usually with a text.
    let names = ["content", "tool_calls", "reasoning_content", "reasoning"];
    if let Some([content, calls, reasoning_content, reasoning]) = pick(delta, names).or_else(|| pick(message, names)) {
        let reasoning = parse_str(reasoning_content).or_else(|| parse_str(reasoning));
        summary.push_reasoning(&reasoning.unwrap_or_default());
        summary.push_text(&parse_str(content).unwrap_or_default());
        array_fields(calls, ["index", "id", "function", "custom"]).for_each(|call| read_call(call, summary));
    }
    // Some servers send an empty reason with every piece.
    let finished = parse_str(finished).filter(|reason| !reason.is_empty());
    if finished.is_some() {
        summary.finish_choice(finished);
    }
}

/// A tool call, as far as it has been read. Pieces of several calls may be interleaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartialToolCall {
    index: Option<u64>,
    id: String,
    /// `None` if the tool takes plain text.
    input: Option<ToolInput>,
}

impl PartialToolCall {
    /// Whether the input is known to be incomplete.
    fn is_incomplete(&self) -> bool {
        self.input.is_some_and(|input| !input.is_complete())
    }

    /// Another piece of this call, addressed the way its server addresses calls.
    fn delta(&self, arguments: &str) -> Value {
        match self.index {
            Some(index) => json!({ "index": index, "function": { "arguments": arguments } }),
            None => json!({ "id": self.id, "function": { "arguments": arguments } }),
        }
    }
}

/// The call that a piece belongs to. `None` if the piece starts another call.
fn call_of_piece(calls: &[PartialToolCall], index: Option<u64>, id: &str) -> Option<usize> {
    let has_id = |call: &PartialToolCall| id.is_empty() || call.id.is_empty() || call.id == id;
    match index {
        // Some servers give all calls the same index. Others give each piece of one call another id.
        Some(_) => calls
            .iter()
            .rposition(|call| call.index == index)
            .filter(|at| has_id(&calls[*at]) || calls[*at].is_incomplete()),
        None if id.is_empty() => calls.len().checked_sub(1),
        None => calls.iter().rposition(|call| call.id == id),
    }
}

/// Reads a piece of a tool call. Only the next call or the end of the response marks a call as complete; its JSON shows it
/// earlier.
fn read_call([index, id, function, custom]: [&[u8]; 4], summary: &mut ResponseSummary) {
    // Not every server sends the index. Most send the id with the first piece of a call, some with every piece, and some
    // send an empty one. A custom tool takes plain text instead of JSON.
    let (index, custom) = (parse_u64(index), pick(custom, ["input"]));
    let is_plain_text = custom.is_some();
    let [piece] = custom.or_else(|| pick(function, ["arguments"])).unwrap_or_default();
    let piece = parse_str(piece).unwrap_or_default();
    summary.push_tool_input(&piece);
    let id = parse_str(id).filter(|id| id.len() <= MAX_CALL_ID_BYTES).unwrap_or_default();
    let is_first = summary.choices.is_first_choice();
    let Some(choice) = summary.choices.current_mut() else { return };
    let at = call_of_piece(&choice.calls, index, &id).unwrap_or_else(|| {
        summary.tool_calls += u32::from(is_first);
        let input = (!is_plain_text).then(ToolInput::default);
        choice.calls.push(PartialToolCall { index, id: id.into_owned(), input });
        choice.calls.len() - 1
    });
    match &mut choice.calls[at].input {
        Some(input) => input.push(&piece),
        None => choice.has_opaque_call = true,
    }
    if choice.calls.len() > MAX_TRACKED_CALLS {
        choice.calls.truncate(MAX_TRACKED_CALLS);
        choice.has_opaque_call = true;
    }
}

/// The choices to end; a first one if the response has none yet.
fn unfinished(summary: &ResponseSummary) -> Vec<Cow<'_, Choice>> {
    let unfinished: Vec<_> = summary.choices.unfinished().into_iter().map(Cow::Borrowed).collect();
    if unfinished.is_empty() { vec![Cow::Owned(Choice::default())] } else { unfinished }
}

fn end_choice(choice: &Choice, summary: &ResponseSummary, text: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        chunk_event(&json!({
            "id": summary.id, "object": "chat.completion.chunk", "created": 0, "model": summary.model,
            "choices": [{ "index": choice.index, "delta": delta, "finish_reason": finish }],
        }))
    };
    let incomplete = choice.calls.iter().filter(|call| call.is_incomplete());
    let invalidated: String =
        incomplete.map(|call| chunk(json!({ "tool_calls": [call.delta(INVALIDATING_SUFFIX)] }), Value::Null)).collect();
    let text = chunk(json!({ "content": text }), Value::Null);
    // Calls stay in the conversation, so each needs a result, even if only that its input was invalid.
    let stop = chunk(json!({}), json!(if choice.calls.is_empty() { "stop" } else { "tool_calls" }));
    format!("{invalidated}{text}{stop}")
}

/// An error as servers report it in the middle of a stream. `[DONE]` must not follow: it would complete the response.
fn error_event(summary: &ResponseSummary, text: &str) -> String {
    let error = json!({ "message": text.trim(), "type": "server_error", "code": "belay_cut" });
    let fail = |choice: Cow<'_, Choice>| json!({ "index": choice.index, "delta": {}, "finish_reason": "error" });
    let choices: Vec<Value> = unfinished(summary).into_iter().map(fail).collect();
    chunk_event(&json!({
        "id": summary.id, "object": "chat.completion.chunk", "created": 0, "model": summary.model,
        "error": error,
        "choices": choices,
    }))
}

fn chunk_event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}
