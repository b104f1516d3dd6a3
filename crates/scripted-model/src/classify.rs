//! Classifies requests: the API, and whether it is a turn of the conversation or auxiliary.

use hyper::Method;
use serde_json::Value;

use crate::offered_tools::OfferedTool;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Messages,
    /// Gemini generateContent.
    Gemini,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Consumed a turn of the script; turns count from 0 within their conversation.
    Turn(usize),
    /// A title, a summary, or anything else without tools.
    Aside,
    TokenCount,
    Models,
    /// An attempt to upgrade, declined with 426 so that the agent falls back to plain HTTP.
    WebSocket,
    Unknown,
}

/// The route of a request by method and path. Paths may have any prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Completion(Api),
    TokenCount(Api),
    Models(Api),
    Unknown,
}

pub(crate) fn route(method: &Method, path: &str) -> Route {
    let post = method == Method::POST;
    match path.trim_end_matches('/') {
        path if post && path.ends_with("/responses") => Route::Completion(Api::Responses),
        path if post && path.ends_with("/chat/completions") => Route::Completion(Api::Chat),
        path if post && path.ends_with("/messages") => Route::Completion(Api::Messages),
        path if post && path.ends_with(":generateContent") => Route::Completion(Api::Gemini),
        path if post && path.ends_with(":streamGenerateContent") => Route::Completion(Api::Gemini),
        path if post && path.ends_with("/messages/count_tokens") => Route::TokenCount(Api::Messages),
        path if post && path.ends_with(":countTokens") => Route::TokenCount(Api::Gemini),
        path if post && path.ends_with("/responses/input_tokens") => Route::TokenCount(Api::Responses),
        path if path.ends_with("/v1beta/models") => Route::Models(Api::Gemini),
        path if path.ends_with("/models") => Route::Models(Api::Chat),
        _ => Route::Unknown,
    }
}

/// Whether the caller requests server-sent events.
pub(crate) fn wants_stream(path: &str, body: &Value) -> bool {
    path.ends_with(":streamGenerateContent") || body["stream"] == true
}

/// Titles and summaries offer no tools. Codex's title requests do, but are marked in their metadata.
pub(crate) fn is_auxiliary(tools: &[OfferedTool], body: &Value, codex_metadata: Option<&str>) -> bool {
    let metadata = codex_metadata.or(body["client_metadata"]["x-codex-turn-metadata"].as_str());
    let source = metadata.and_then(|metadata| serde_json::from_str::<Value>(metadata).ok());
    tools.is_empty() || source.is_some_and(|source| source["thread_source"] == "thread_title")
}

/// The schema that the response must match, if the request has one.
pub(crate) fn wanted_schema(api: Api, body: &Value) -> Option<&Value> {
    let schema = match api {
        Api::Responses => &body["text"]["format"]["schema"],
        Api::Chat => &body["response_format"]["json_schema"]["schema"],
        Api::Messages => &body["output_config"]["format"]["schema"],
        Api::Gemini => {
            let config = &body["generationConfig"];
            if config["responseJsonSchema"].is_null() {
                &config["responseSchema"]
            } else {
                &config["responseJsonSchema"]
            }
        }
    };
    schema.is_object().then_some(schema)
}
