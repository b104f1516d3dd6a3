//! Gemini's generateContent.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ApiError, ResponseSummary};
use crate::inspect::json_scan::{self, optional_str};
use crate::sse::SseEvent;

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
    /// A thought is no part of the answer.
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

pub(super) fn read_event(event: SseEvent<'_>, answered: &mut ResponseSummary) {
    read_one(event.data, answered);
}

/// One response, or a list of them where a stream was asked for without `alt=sse`.
pub(super) fn read_plain(body: &[u8], answered: &mut ResponseSummary) {
    match serde_json::from_slice::<Vec<&RawValue>>(body) {
        Ok(list) => list.iter().for_each(|one| read_one(one.get().as_bytes(), answered)),
        Err(_) => read_one(body, answered),
    }
}

fn read_one(body: &[u8], answered: &mut ResponseSummary) {
    let Ok(response) = json_scan::parse::<Response<'_>>(body) else { return };
    ResponseSummary::set(&mut answered.id, response.response_id);
    ResponseSummary::set(&mut answered.model, response.model_version);
    if let Some(error) = response.error {
        answered.failure = Some(ApiError::read(200, error.get().as_bytes()));
    }
    if let Some(tokens) = response.usage_metadata {
        let cache_read = tokens.cached_content_token_count;
        answered.usage = Some(Usage {
            input: tokens.prompt_token_count.saturating_sub(cache_read),
            output: tokens.candidates_token_count + tokens.thoughts_token_count,
            cache_read,
            cache_write: 0,
        });
    }
    for candidate in response.candidates {
        answered.voices.select(candidate.index);
        for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
            if let Some(call) = part.function_call {
                answered.ask_at_once(Some(call));
            }
            let text = part.text.unwrap_or_default();
            match part.thought {
                true => answered.think(&text),
                false => answered.say(&text),
            }
        }
        if candidate.finish_reason.is_some() {
            answered.finish(candidate.finish_reason);
            answered.complete = answered.voices.are_all_finished();
        }
    }
}
