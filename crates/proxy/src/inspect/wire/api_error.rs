//! Errors of model APIs.

use serde::Deserialize;
use serde_json::Value;

/// An error that a model API reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// HTTP status; 200 if the error arrived within a stream.
    pub(crate) status: u16,
    /// The API's name for the error.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// When an exhausted quota resets, in seconds since 1970.
    pub(crate) resets_at: Option<i64>,
    /// Seconds after which the agent may try again, by the `Retry-After` header.
    pub(crate) retry_after: Option<u32>,
}

/// The error formats of all APIs: the message is in `error` or at the top level.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: Value,
    #[serde(rename = "type")]
    kind: Value,
    code: Value,
    status: Value,
    message: Value,
    resets_at: Option<i64>,
}

impl ApiError {
    /// Parses an error body in any of the formats.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        let parsed: Body = match serde_json::from_slice::<Value>(body) {
            // Gemini sends a list with one error.
            Ok(Value::Array(mut list)) if !list.is_empty() => serde_json::from_value(list.swap_remove(0)),
            Ok(value) => serde_json::from_value(value),
            Err(error) => Err(error),
        }
        .unwrap_or_default();
        let inner: Body = match &parsed.error {
            object @ Value::Object(_) => serde_json::from_value(object.clone()).unwrap_or_default(),
            text @ Value::String(_) => Body { message: text.clone(), ..Body::default() },
            _ => Body::default(),
        };
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = [&inner.code, &inner.status, &inner.kind, &parsed.code, &parsed.kind].into_iter().find_map(text);
        let message = text(&inner.message).or_else(|| text(&parsed.message));
        let raw = || String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned();
        Self {
            status,
            kind: kind.unwrap_or_default(),
            message: message.unwrap_or_else(raw),
            resets_at: inner.resets_at.or(parsed.resets_at),
            retry_after: None,
        }
    }

    /// Whether a quota is exhausted, as opposed to an overloaded API.
    pub(crate) fn is_usage_limit(&self) -> bool {
        ["usage_limit_reached", "insufficient_quota", "billing_hard_limit_reached", "usage_not_included"]
            .contains(&self.kind.as_str())
    }
}
