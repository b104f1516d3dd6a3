//! Lenient access to a payload: a field that is missing or of the wrong type is absent, never an error.

use std::borrow::Cow;

use belay_core::Timestamp;
use belay_core::key::{MAX_ID_BYTES, validate_id};
use serde_json::{Map, Value};

/// Maximum length of a name or path.
pub(crate) const MAX_NAME_BYTES: usize = 4096;

/// The JSON object of a hook call.
#[derive(Debug)]
pub(crate) struct HookPayload(Map<String, Value>);

impl HookPayload {
    /// Parses a JSON object; invalid UTF-8 is replaced.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let value = serde_json::from_slice::<Value>(bytes).or_else(|error| match String::from_utf8_lossy(bytes) {
            Cow::Owned(lossy) => serde_json::from_str(&lossy),
            Cow::Borrowed(_) => Err(error),
        });
        match value {
            Ok(Value::Object(object)) => Some(Self(object)),
            _ => None,
        }
    }

    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        value.as_object().cloned().map(Self)
    }

    pub(crate) fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    /// The first of these fields that is a string, unless it is empty.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.get(key).as_str()).filter(|text| !text.is_empty())
    }

    /// Like [`Self::text`], owned and bounded by [`MAX_NAME_BYTES`].
    pub(crate) fn name(&self, keys: &[&str]) -> Option<String> {
        self.text(keys).and_then(bounded_name)
    }

    /// Like [`Self::text`], if it is a valid session id.
    pub(crate) fn id(&self, keys: &[&str]) -> Option<&str> {
        self.text(keys).filter(|id| is_id(id))
    }

    pub(crate) fn bool(&self, key: &str) -> bool {
        self.get(key).as_bool().unwrap_or(false)
    }

    pub(crate) fn u64(&self, key: &str) -> Option<u64> {
        self.get(key).as_u64()
    }

    /// A timestamp as text or number.
    pub(crate) fn time(&self, key: &str) -> Option<Timestamp> {
        match self.get(key) {
            Value::String(text) => Timestamp::parse(text),
            Value::Number(number) => Timestamp::from_number(number.as_f64()?),
            _ => None,
        }
        .filter(|time| time.is_known())
    }

    /// The first of these fields that is not null.
    pub(crate) fn value(&self, keys: &[&str]) -> &Value {
        keys.iter().map(|key| self.get(key)).find(|value| !value.is_null()).unwrap_or(&Value::Null)
    }

    /// Like [`Self::value`]; an object encoded as a string is parsed.
    pub(crate) fn input(&self, keys: &[&str]) -> Value {
        parsed_input(self.value(keys))
    }
}

/// A tool's input; an object encoded as a string is parsed.
pub(crate) fn parsed_input(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('{') => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        _ => value.clone(),
    }
}

/// Whether a text is a valid session id. The limit is half of a key's, because a sub-agent's key joins two ids.
pub(crate) fn is_id(text: &str) -> bool {
    validate_id(text).is_ok() && text.len() < MAX_ID_BYTES / 2
}

/// The text, unless it is empty or longer than [`MAX_NAME_BYTES`].
pub(crate) fn bounded_name(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_NAME_BYTES).then(|| text.to_owned())
}

/// Fields with the text of a tool result, in order of preference.
const TEXT_FIELDS: &[&str] = &[
    "llmContent",
    "textResultForLlm",
    "text_result_for_llm",
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

/// The text of a tool result inside nested objects and arrays.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    nested_text(value, 6).unwrap_or_else(|| match value {
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    })
}

fn nested_text(value: &Value, depth: u8) -> Option<Cow<'_, str>> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(parts) => {
            let parts: Vec<_> = parts.iter().filter_map(|part| nested_text(part, depth)).collect();
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
            // The hunks of an edit are more informative than the complete file.
            if let Some(hunks) =
                object.get("structuredPatch").and_then(Value::as_array).filter(|hunks| !hunks.is_empty())
            {
                let lines = hunks.iter().filter_map(|hunk| nested_text(hunk.get("lines")?, depth));
                return Some(Cow::Owned(lines.collect::<Vec<_>>().join("\n")));
            }
            TEXT_FIELDS.iter().find_map(|key| nested_text(object.get(*key)?, depth))
        }
        _ => None,
    }
}
