//! Encodes responses for each API, as one JSON document or as a stream of events.
//!
//! A stream is a list of [`StreamStep`]s, the same for all APIs. The encoder of an API turns each step into the events
//! that this API sends. Steps are lazy, so a repeated text of a gigabyte needs no gigabyte of memory.

mod chat;
mod gemini;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::answer::{Answer, Ids, ToolCall, Usage};
use crate::classify::Api;

/// A tool result found in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: String,
    pub text: String,
}

pub(crate) enum StreamStep {
    Open,
    TextOpen,
    Piece(String),
    TextClose,
    Call(ToolCall),
    Close,
    Fail(Failure),
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The context of an encoder.
#[derive(Debug)]
struct EncoderContext {
    ids: Ids,
    model: String,
    usage: Usage,
    has_calls: bool,
}

/// Details of the request that affect the framing of the response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FramingOptions {
    /// Chat Completions reports usage in a stream only on request.
    pub(crate) usage_in_stream: bool,
    /// Gemini streams a JSON array unless the query contains `alt=sse`.
    pub(crate) gemini_array: bool,
}

trait Encode: Send {
    fn encode(&mut self, step: StreamStep) -> Vec<String>;
}

pub(crate) fn plain(api: Api, answer: &Answer) -> Value {
    match api {
        Api::Responses => responses::plain(answer),
        Api::Chat => chat::plain(answer),
        Api::Messages => messages::plain(answer),
        Api::Gemini => gemini::plain(answer),
    }
}

pub(crate) fn stream(
    api: Api,
    answer: Answer,
    wishes: FramingOptions,
    failure: Option<Failure>,
) -> Box<dyn Iterator<Item = String> + Send> {
    let Answer { ids, model, text, calls, usage } = answer;
    let frame = EncoderContext { ids, model, usage, has_calls: !calls.is_empty() };
    let mut encoder: Box<dyn Encode> = match api {
        Api::Responses => Box::new(responses::Encoder::new(frame)),
        Api::Chat => Box::new(chat::Encoder::new(frame, wishes.usage_in_stream)),
        Api::Messages => Box::new(messages::Encoder::new(frame)),
        Api::Gemini => Box::new(gemini::Encoder::new(frame, wishes.gemini_array)),
    };
    let words: Box<dyn Iterator<Item = StreamStep> + Send> = if text.is_empty() {
        Box::new(std::iter::empty())
    } else {
        let pieces = text.into_pieces().map(StreamStep::Piece);
        Box::new(std::iter::once(StreamStep::TextOpen).chain(pieces).chain(std::iter::once(StreamStep::TextClose)))
    };
    let end = failure.map_or(StreamStep::Close, StreamStep::Fail);
    let steps = std::iter::once(StreamStep::Open).chain(words).chain(calls.into_iter().map(StreamStep::Call));
    Box::new(steps.chain(std::iter::once(end)).flat_map(move |step| encoder.encode(step)))
}

pub(crate) fn error(api: Option<Api>, status: u16, message: &str) -> Value {
    match api {
        Some(Api::Messages) => messages::error(status, message),
        Some(Api::Gemini) => gemini::error(status, message),
        _ => json!({"error": {"message": message, "type": openai_error_type(status), "param": null, "code": null}}),
    }
}

fn openai_error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

pub(crate) fn tool_results(api: Api, body: &Value) -> Vec<ToolResult> {
    match api {
        Api::Responses => responses::tool_results(body),
        Api::Chat => chat::tool_results(body),
        Api::Messages => messages::tool_results(body),
        Api::Gemini => gemini::tool_results(body),
    }
}

fn sse(event: &str, data: &Value) -> String {
    format!("event: {event}\ndata: {data}\n\n")
}

/// The text of a content field that is a string or a list of parts with `text`.
fn flat_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
