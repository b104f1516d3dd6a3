//! A proper end for a stream that is cut off: what the agent has got stays, a sentence says why it
//! ends here, and the agent's own parser sees a complete answer.
//!
//! A tool call in the middle of its input must not be acted upon: half a command can do worse than the
//! whole. So its input is spoilt (no JSON goes on like that: some clients make do with the beginning of
//! an object), and where the API closes calls one by one it is never closed. Agents drop such a call
//! and end their turn, or tell the model that its input was invalid; none of those we tried retries or
//! runs it. An error event would be the other way, but some agents send the request again at once when
//! they see one, and would have the same answer cut again.
//!
//! Nothing spoils words. Where a tool of Chat Completions takes them, only an error keeps its client from
//! running half of them: the lesser evil, and who asks again meets a session that is paused or soon will be.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::choices::Choice;
use super::tool_input::INVALIDATING_SUFFIX;
use super::{OpenBlock, ResponseSummary};
use crate::inspect::wire::WireApi;

/// The events that end a stream here.
pub(crate) fn ending(api: WireApi, answered: &ResponseSummary, note: &str) -> String {
    match api {
        WireApi::Chat => chat(answered, note),
        WireApi::Responses => responses(answered, note),
        WireApi::Messages => messages(answered, note),
        WireApi::GenerateContent => generate(answered, note),
    }
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// Those who are to be ended; the first one where nobody has spoken.
fn voices(answered: &ResponseSummary) -> Vec<Cow<'_, Choice>> {
    let known: Vec<_> = answered.voices.unfinished().into_iter().map(Cow::Borrowed).collect();
    if known.is_empty() { vec![Cow::Owned(Choice::default())] } else { known }
}

fn chat(answered: &ResponseSummary, note: &str) -> String {
    if answered.voices.has_unsafe_partial_call() {
        return broken(answered, note);
    }
    let end = |voice: Cow<'_, Choice>| {
        let chunk = |delta: Value, finish: Value| {
            data(&json!({
                "id": answered.id, "object": "chat.completion.chunk", "created": 0, "model": answered.model,
                "choices": [{ "index": voice.index, "delta": delta, "finish_reason": finish }],
            }))
        };
        let half = voice.calls.iter().filter(|call| call.is_incomplete());
        let spoilt: String =
            half.map(|call| chunk(json!({ "tool_calls": [call.delta(INVALIDATING_SUFFIX)] }), Value::Null)).collect();
        let text = chunk(json!({ "content": note }), Value::Null);
        // Calls stay in the conversation, so each of them needs an answer, be it that it was invalid.
        let stop = chunk(json!({}), json!(if voice.calls.is_empty() { "stop" } else { "tool_calls" }));
        format!("{spoilt}{text}{stop}")
    };
    let ends: String = voices(answered).into_iter().map(end).collect();
    format!("{ends}data: [DONE]\n\n")
}

/// An error as servers report it in the middle of a stream. Nothing follows it: `[DONE]` would make a whole of it.
fn broken(answered: &ResponseSummary, note: &str) -> String {
    let error = json!({ "message": note.trim(), "type": "server_error", "code": "belay_cut" });
    let broken = |voice: Cow<'_, Choice>| json!({ "index": voice.index, "delta": {}, "finish_reason": "error" });
    let choices: Vec<Value> = voices(answered).into_iter().map(broken).collect();
    data(&json!({
        "id": answered.id, "object": "chat.completion.chunk", "created": 0, "model": answered.model,
        "error": error,
        "choices": choices,
    }))
}

fn messages(answered: &ResponseSummary, note: &str) -> String {
    let event = |name: &str, body: Value| format!("event: {name}\ndata: {body}\n\n");
    let stop = |index: u64| event("content_block_stop", json!({ "type": "content_block_stop", "index": index }));
    let delta = |index: u64, delta: Value| {
        event("content_block_delta", json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    };
    let mut out = String::new();
    let index = match answered.place.open {
        Some((index, OpenBlock::Text)) => index,
        open => {
            // Neither a call nor a thought is closed: the one would be run, the other lacks its signature.
            if let Some((index, OpenBlock::Input)) = open {
                out.push_str(&delta(index, json!({ "type": "input_json_delta", "partial_json": INVALIDATING_SUFFIX })));
            }
            let (index, block) = (answered.place.count, json!({ "type": "text", "text": "" }));
            let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
            out.push_str(&event("content_block_start", start));
            index
        }
    };
    out.extend([delta(index, json!({ "type": "text_delta", "text": note })), stop(index)]);
    let half = u32::from(matches!(answered.place.open, Some((_, OpenBlock::Input))));
    let reason = if answered.tool_calls > half { "tool_use" } else { "end_turn" };
    let stopped = json!({ "stop_reason": reason, "stop_sequence": null });
    let usage = json!({ "output_tokens": answered.output_tokens() });
    out.push_str(&event("message_delta", json!({ "type": "message_delta", "delta": stopped, "usage": usage })));
    out.push_str(&event("message_stop", json!({ "type": "message_stop" })));
    out
}

fn responses(answered: &ResponseSummary, note: &str) -> String {
    let place = &answered.place;
    let mut sequence = place.sequence;
    let mut out = String::new();
    let mut event = |mut body: Value| {
        sequence += 1;
        body["sequence_number"] = sequence.into();
        let name = body["type"].as_str().unwrap_or_default().to_owned();
        out.push_str(&format!("event: {name}\ndata: {body}\n\n"));
    };
    let (index, item, before) = match place.open {
        Some((index, OpenBlock::Text)) => (index, place.item.clone(), answered.text.as_str()),
        _ => (place.count, "msg_belay".to_owned(), ""),
    };
    if let Some((index, OpenBlock::Input)) = place.open {
        let (kind, item) = ("response.function_call_arguments.delta", &place.item);
        event(json!({ "type": kind, "item_id": item, "output_index": index, "delta": INVALIDATING_SUFFIX }));
    }
    let text = format!("{before}{note}");
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    let message = |status: &str, content: Value| json!({ "id": item, "type": "message", "role": "assistant", "status": status, "content": content });
    if !matches!(place.open, Some((_, OpenBlock::Text))) {
        let item = message("in_progress", json!([]));
        event(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
    }
    let at = json!({ "item_id": item, "output_index": index, "content_index": 0 });
    let placed = |mut body: Value| {
        if let (Some(body), Some(at)) = (body.as_object_mut(), at.as_object()) {
            body.extend(at.clone());
        }
        body
    };
    event(placed(json!({ "type": "response.output_text.delta", "delta": note })));
    event(placed(json!({ "type": "response.output_text.done", "text": text })));
    event(placed(json!({ "type": "response.content_part.done", "part": part })));
    let done = message("completed", json!([part]));
    event(json!({ "type": "response.output_item.done", "output_index": index, "item": done }));
    let finished = place.finished.iter().filter_map(|raw| serde_json::from_str::<Value>(raw).ok());
    let output: Vec<Value> = finished.chain([done]).collect();
    let (input, spent) = (answered.usage.map_or(0, |usage| usage.context()), answered.output_tokens());
    let usage = json!({ "input_tokens": input, "output_tokens": spent, "total_tokens": input + spent });
    let response = json!({
        "id": answered.id, "object": "response", "status": "completed", "model": answered.model,
        "output": output, "usage": usage, "error": null,
    });
    event(json!({ "type": "response.completed", "response": response }));
    out
}

fn generate(answered: &ResponseSummary, note: &str) -> String {
    let usage = answered.usage.unwrap_or_default();
    let spent = answered.output_tokens();
    let content = json!({ "role": "model", "parts": [{ "text": note }] });
    let end = |voice: Cow<'_, Choice>| json!({ "index": voice.index, "content": content, "finishReason": "STOP" });
    let candidates: Vec<Value> = voices(answered).into_iter().map(end).collect();
    data(&json!({
        "candidates": candidates,
        "usageMetadata": {
            "promptTokenCount": usage.context(),
            "candidatesTokenCount": spent,
            "totalTokenCount": usage.context() + spent,
        },
        "modelVersion": answered.model,
        "responseId": answered.id,
    }))
}

#[cfg(test)]
mod tests;
