//! Lenient access to a payload: what is missing or of the wrong type is absent, never an error.

use std::borrow::Cow;

use belay_core::Timestamp;
use belay_core::key::MAX_ID_BYTES;
use serde_json::{Map, Value};

/// Longest name, path or id that is taken over as it is.
pub(crate) const MAX_NAME_BYTES: usize = 4096;

/// A JSON object an agent wrote.
#[derive(Debug)]
pub(crate) struct HookPayload(Map<String, Value>);

impl HookPayload {
    /// Reads what can be read; invalid UTF-8 inside texts does not cost the rest.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let value = serde_json::from_slice::<Value>(bytes).or_else(|error| match String::from_utf8_lossy(bytes) {
            Cow::Owned(mended) => serde_json::from_str(&mended),
            Cow::Borrowed(_) => Err(error),
        });
        match value {
            Ok(Value::Object(object)) => Some(Self(object)),
            _ => None,
        }
    }

    pub(crate) fn of(value: &Value) -> Option<Self> {
        value.as_object().cloned().map(Self)
    }

    pub(crate) fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    /// The first of these keys that holds a text that is not empty.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.get(key).as_str()).filter(|text| !text.is_empty())
    }

    /// As [`Payload::text`], owned and no longer than a name may be.
    pub(crate) fn name(&self, keys: &[&str]) -> Option<String> {
        self.text(keys).and_then(bounded_name)
    }

    /// As [`Payload::text`], if it can name a session.
    pub(crate) fn id(&self, keys: &[&str]) -> Option<&str> {
        self.text(keys).filter(|id| is_id(id))
    }

    pub(crate) fn bool(&self, key: &str) -> bool {
        self.get(key).as_bool().unwrap_or(false)
    }

    pub(crate) fn u64(&self, key: &str) -> Option<u64> {
        self.get(key).as_u64()
    }

    /// A time, however it is written.
    pub(crate) fn time(&self, key: &str) -> Option<Timestamp> {
        match self.get(key) {
            Value::String(text) => Timestamp::parse(text),
            Value::Number(number) => Timestamp::from_number(number.as_f64()?),
            _ => None,
        }
        .filter(|time| time.is_known())
    }

    /// The first of these keys that holds anything.
    pub(crate) fn value(&self, keys: &[&str]) -> &Value {
        keys.iter().map(|key| self.get(key)).find(|value| !value.is_null()).unwrap_or(&Value::Null)
    }

    /// As [`Payload::value`]; a JSON text where an object is meant is read as one.
    pub(crate) fn input(&self, keys: &[&str]) -> Value {
        let value = self.value(keys);
        match value {
            Value::String(text) if text.starts_with('{') => {
                serde_json::from_str(text).unwrap_or_else(|_| value.clone())
            }
            _ => value.clone(),
        }
    }
}

/// Whether a text can name a session. Half the length of a key, because a sub-agent's is made of two.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() < MAX_ID_BYTES / 2 && !text.chars().any(char::is_control)
}

/// The text, if it is no longer than a name may be.
pub(crate) fn bounded_name(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_NAME_BYTES).then(|| text.to_owned())
}

/// Fields in which agents put the text of a tool's answer, best first.
const TEXT_FIELDS: &[&str] = &[
    "llmContent",
    "textResultForLlm",
    "text",
    "content",
    "output",
    "result",
    "message",
    "file",
    "response_parts",
    "functionResponse",
    "response",
    "error",
    "filenames",
    "result_display",
    "returnDisplay",
];

/// The text of a tool's answer, whatever it is wrapped in.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    inner(value, 6).unwrap_or_else(|| match value {
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    })
}

fn inner(value: &Value, depth: u8) -> Option<Cow<'_, str>> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(parts) => {
            let parts: Vec<_> = parts.iter().filter_map(|part| inner(part, depth)).collect();
            (!parts.is_empty()).then(|| Cow::Owned(parts.join("\n")))
        }
        Value::Object(object) => {
            if object.contains_key("stdout") || object.contains_key("stderr") {
                let stream = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
                return Some(match (stream("stdout"), stream("stderr")) {
                    (out, "") => Cow::Borrowed(out),
                    ("", err) => Cow::Borrowed(err),
                    (out, err) => Cow::Owned(format!("{out}\n{err}")),
                });
            }
            // Of an edit, what it changed says more than the whole file before and after.
            if let Some(hunks) = object.get("structuredPatch").and_then(Value::as_array).filter(|it| !it.is_empty()) {
                let lines = hunks.iter().filter_map(|hunk| inner(hunk.get("lines")?, depth));
                return Some(Cow::Owned(lines.collect::<Vec<_>>().join("\n")));
            }
            TEXT_FIELDS.iter().find_map(|key| inner(object.get(*key)?, depth))
        }
        _ => None,
    }
}
