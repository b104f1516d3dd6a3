//! A proper end for a stream that is cut off: what the agent has got stays, a sentence says why it
//! ends here, and the agent's own parser sees a complete answer.

use serde_json::{Value, json};

use super::Answered;
use crate::inspect::api::Api;

/// The events that end a stream here; `None` in the middle of something that cannot be ended, such as
/// the input of a tool call.
pub(crate) fn ending(api: Api, answered: &Answered, note: &str) -> Option<String> {
    match api {
        Api::Chat => chat(answered, note),
        Api::Responses => responses(answered, note),
        Api::Messages => messages(answered, note),
        Api::Generate => Some(generate(answered, note)),
    }
}

/// Tokens of the output, as far as they can be guessed: four bytes each.
fn output_tokens(answered: &Answered) -> u64 {
    answered.usage.map_or(0, |usage| usage.output).max(answered.said / 4)
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn chat(answered: &Answered, note: &str) -> Option<String> {
    if answered.tool_calls > 0 {
        return None;
    }
    let chunk = |delta: Value, finish: Value| {
        data(&json!({
            "id": answered.id, "object": "chat.completion.chunk", "created": 0, "model": answered.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }))
    };
    let text = chunk(json!({ "content": note }), Value::Null);
    let stop = chunk(json!({}), json!("stop"));
    Some(format!("{text}{stop}data: [DONE]\n\n"))
}

fn messages(answered: &Answered, note: &str) -> Option<String> {
    let event = |name: &str, body: Value| format!("event: {name}\ndata: {body}\n\n");
    let stop = |index: u64| event("content_block_stop", json!({ "type": "content_block_stop", "index": index }));
    let text = |index: u64| {
        let delta = json!({ "type": "text_delta", "text": note });
        event("content_block_delta", json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    };
    let mut out = String::new();
    match answered.place.open {
        Some((index, true)) => out.extend([text(index), stop(index)]),
        // A thought can be left; the input of a call cannot.
        Some(_) if answered.tool_calls > 0 => return None,
        open => {
            out.extend(open.map(|(index, _)| stop(index)));
            let index = answered.place.count;
            let block = json!({ "type": "text", "text": "" });
            let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
            out.extend([event("content_block_start", start), text(index), stop(index)]);
        }
    }
    let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    let usage = json!({ "output_tokens": output_tokens(answered) });
    out.push_str(&event("message_delta", json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    out.push_str(&event("message_stop", json!({ "type": "message_stop" })));
    Some(out)
}

fn responses(answered: &Answered, note: &str) -> Option<String> {
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
        Some((index, true)) => (index, place.item.clone(), answered.text.as_str()),
        Some(_) => return None,
        None => (place.count, "msg_belay".to_owned(), ""),
    };
    let text = format!("{before}{note}");
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    let message = |status: &str, content: Value| json!({ "id": item, "type": "message", "role": "assistant", "status": status, "content": content });
    if place.open.is_none() {
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
    let (input, spent) = (answered.usage.map_or(0, |usage| usage.context()), output_tokens(answered));
    let usage = json!({ "input_tokens": input, "output_tokens": spent, "total_tokens": input + spent });
    let response = json!({
        "id": answered.id, "object": "response", "status": "completed", "model": answered.model,
        "output": output, "usage": usage, "error": null,
    });
    event(json!({ "type": "response.completed", "response": response }));
    Some(out)
}

fn generate(answered: &Answered, note: &str) -> String {
    let usage = answered.usage.unwrap_or_default();
    let spent = output_tokens(answered);
    let candidate =
        json!({ "index": 0, "content": { "role": "model", "parts": [{ "text": note }] }, "finishReason": "STOP" });
    data(&json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.context(),
            "candidatesTokenCount": spent,
            "totalTokenCount": usage.context() + spent,
        },
        "modelVersion": answered.model,
        "responseId": answered.id,
    }))
}
