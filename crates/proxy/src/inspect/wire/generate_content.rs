//! Gemini's generateContent.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message_item::{MessageItem, ToolInputRef};
use super::summary::set_once;
use super::{ApiError, ResponseSummary, WireFormat, nudge};
use crate::inspect::json_scan::{self, array_fields, optional_str, parse_str, pick};
use crate::sse::SseEvent;

pub(super) struct GenerateContent;

impl WireFormat for GenerateContent {
    fn is_turn(&self, path: &str) -> bool {
        path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent")
    }

    fn model_in_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.split(['?', '#']).next()?.rsplit('/').next()?.split(':').next()
    }

    fn messages_field(&self) -> &'static str {
        "contents"
    }

    fn read_message<'a>(&self, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool {
        let Some([role, parts]) = pick(message, ["role", "parts"]) else { return false };
        let is_user = role != b"\"model\"";
        let names = ["text", "functionCall", "functionResponse"];
        array_fields(parts, names).filter_map(|part| message_part(part, is_user)).for_each(each);
        true
    }

    fn insert_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>> {
        let last = nudge::last_message(body, self.messages_field())?;
        // Roles alternate: a nudge after a user's turn becomes another part of it.
        let (at, element) = match nudge::end_of_user_parts(body, &last, "parts") {
            Some(at) => (at, json!({ "text": text })),
            None => (last.end, json!({ "role": "user", "parts": [{ "text": text }] })),
        };
        Some(nudge::insert_element(body, at, &element))
    }

    fn read_stream_event(&self, event: SseEvent<'_>, summary: &mut ResponseSummary) {
        read_response(event.data, summary);
    }

    fn read_body(&self, body: &[u8], summary: &mut ResponseSummary) {
        // A stream without `alt=sse` is a list of responses.
        match serde_json::from_slice::<Vec<&RawValue>>(body) {
            Ok(list) => list.iter().for_each(|response| read_response(response.get().as_bytes(), summary)),
            Err(_) => read_response(body, summary),
        }
    }

    fn end_stream(&self, summary: &ResponseSummary, text: &str) -> String {
        let usage = summary.usage.unwrap_or_default();
        let spent = summary.output_tokens();
        let content = json!({ "role": "model", "parts": [{ "text": text }] });
        let unfinished = summary.choices.unfinished();
        let indexes =
            if unfinished.is_empty() { vec![0] } else { unfinished.iter().map(|choice| choice.index).collect() };
        let end = |index: u64| json!({ "index": index, "content": content, "finishReason": "STOP" });
        let candidates: Vec<Value> = indexes.into_iter().map(end).collect();
        let response = json!({
            "candidates": candidates,
            "usageMetadata": {
                "promptTokenCount": usage.context(),
                "candidatesTokenCount": spent,
                "totalTokenCount": usage.context() + spent,
            },
            "modelVersion": summary.model,
            "responseId": summary.id,
        });
        format!("data: {response}\n\n")
    }
}

fn message_part<'a>([text, call, response]: [&'a [u8]; 3], is_user: bool) -> Option<MessageItem<'a>> {
    if let Some([id, name, args]) = pick(call, ["id", "name", "args"]) {
        return Some(MessageItem::Call {
            id: parse_str(id).unwrap_or_default(),
            name: parse_str(name)?,
            input: ToolInputRef::from_json(args),
        });
    }
    if let Some([id, response]) = pick(response, ["id", "response"]) {
        // By convention a tool's result is in `output` or `error`.
        let [output, error] = pick(response, ["output", "error"]).unwrap_or_default().map(parse_str);
        let failed = error.is_some();
        let text = output.or(error).unwrap_or_else(|| String::from_utf8_lossy(response));
        return Some(MessageItem::Result { call: parse_str(id).unwrap_or_default(), text, failed });
    }
    parse_str(text).filter(|_| is_user).map(|text| MessageItem::Prompt { text })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
    #[serde(default)]
    usage_metadata: Option<Tokens>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    model_version: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    response_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default, deserialize_with = "optional_str")]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default, deserialize_with = "optional_str")]
    text: Option<Cow<'a, str>>,
    /// Reasoning is not part of the text.
    #[serde(default)]
    thought: bool,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
    cached_content_token_count: u64,
}

fn read_response(body: &[u8], summary: &mut ResponseSummary) {
    let Ok(response) = json_scan::parse::<Response<'_>>(body) else { return };
    set_once(&mut summary.id, response.response_id);
    set_once(&mut summary.model, response.model_version);
    if let Some(error) = response.error {
        summary.failure = Some(ApiError::read(200, error.get().as_bytes()));
    }
    if let Some(tokens) = response.usage_metadata {
        let cache_read = tokens.cached_content_token_count;
        summary.usage = Some(Usage {
            input: tokens.prompt_token_count.saturating_sub(cache_read),
            output: tokens.candidates_token_count + tokens.thoughts_token_count,
            cache_read,
            ..Usage::default()
        });
    }
    for candidate in response.candidates {
        summary.choices.select(candidate.index);
        for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
            if let Some(call) = part.function_call {
                summary.count_tool_call(Some(call));
            }
            let text = part.text.unwrap_or_default();
            match part.thought {
                true => summary.push_reasoning(&text),
                false => summary.push_text(&text),
            }
        }
        if candidate.finish_reason.is_some() {
            summary.finish_choice(candidate.finish_reason);
            summary.complete = summary.choices.are_all_finished();
        }
    }
}
