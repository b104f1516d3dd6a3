//! A uniform view of tool inputs: an object, a string that contains an object, or plain text.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A tool's input.
pub(super) enum ToolInput<'a> {
    Fields(Cow<'a, Map<String, Value>>),
    Text(Cow<'a, str>),
}

/// Fields that only wrap the actual input.
const WRAPPER_FIELDS: &[&str] = &["input", "arguments", "args", "params", "parameters", "kwargs"];

/// Maximum nesting of wrappers.
const MAX_DEPTH: u8 = 4;

impl<'a> ToolInput<'a> {
    pub(super) fn read(value: &'a Value) -> Self {
        Self::unwrap(value, 0)
    }

    fn unwrap(value: &'a Value, depth: u8) -> Self {
        match value {
            Value::Object(map) => match (map.len(), map.iter().next()) {
                (1, Some((name, inner))) if depth < MAX_DEPTH && WRAPPER_FIELDS.contains(&name.as_str()) => match inner
                {
                    Value::Object(_) => Self::unwrap(inner, depth + 1),
                    Value::String(text) => match parse_object(text) {
                        Some(map) => Self::Fields(Cow::Owned(map)),
                        None => Self::Fields(Cow::Borrowed(map)),
                    },
                    _ => Self::Fields(Cow::Borrowed(map)),
                },
                _ => Self::Fields(Cow::Borrowed(map)),
            },
            Value::String(text) => match parse_object(text) {
                Some(map) => Self::Fields(Cow::Owned(map)),
                None => Self::Text(Cow::Borrowed(text)),
            },
            Value::Null => Self::Text(Cow::Borrowed("")),
            Value::Array(items) if items.iter().all(Value::is_string) => Self::Text(Cow::Owned(join(items))),
            other => Self::Text(Cow::Owned(other.to_string())),
        }
    }

    pub(super) fn fields(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Fields(map) => Some(map),
            Self::Text(_) => None,
        }
    }

    /// The plain text, if there is nothing else.
    pub(super) fn as_plain_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Fields(_) => None,
        }
    }

    /// The first of these fields that is a non-empty string, number or list of strings.
    pub(super) fn text(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        let map = self.fields()?;
        names.iter().find_map(|name| map.get(*name).and_then(as_text).filter(|text| !text.is_empty()))
    }

    /// The first of these fields that is present, even if empty.
    pub(super) fn first_present(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        let map = self.fields()?;
        names.iter().find_map(|name| map.get(*name).and_then(as_text))
    }

    /// Whether a field of these names is `true`.
    pub(super) fn is_set(&self, names: &[&str]) -> bool {
        self.fields().is_some_and(|map| names.iter().any(|name| map.get(*name) == Some(&Value::Bool(true))))
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.text(names).is_some()
    }
}

fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Array(items) if items.iter().all(Value::is_string) => Some(Cow::Owned(join(items))),
        _ => None,
    }
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    let trimmed = text.trim();
    if !trimmed.starts_with('{') || !trimmed.ends_with('}') {
        return None;
    }
    serde_json::from_str(trimmed).ok()
}

fn join(items: &[Value]) -> String {
    items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

/// Fields irrelevant to what is requested: timeouts, descriptions, ids.
const VOLATILE_FIELDS: &[&str] = &[
    "description",
    "explanation",
    "justification",
    "reason",
    "timeout",
    "timeout_ms",
    "timeout_seconds",
    "timeoutMs",
    "yield_time_ms",
    "yieldTimeMs",
    "max_output_tokens",
    "maxOutputTokens",
    "max_chars",
    "sandbox_permissions",
    "with_escalated_permissions",
    "security_risk",
    "requires_approval",
    "dangerouslyDisableSandbox",
    "tool_call_id",
    "toolCallId",
    "call_id",
    "request_id",
    "requestId",
    "trace_id",
    "timestamp",
    "toolSummary",
    "tool_summary",
];

/// Canonical text of the input, independent of key order, volatile fields and empty fields. `skip` excludes
/// more fields.
pub(super) fn canonical(input: &ToolInput<'_>, skip: &[&str]) -> String {
    let mut out = String::new();
    match input {
        ToolInput::Text(text) => out.push_str(text.trim()),
        ToolInput::Fields(map) => {
            let skip = |name: &str| VOLATILE_FIELDS.contains(&name) || skip.contains(&name);
            // An input with only volatile fields still counts; the key must not be the bare tool name.
            let all_volatile = map.keys().all(|name| VOLATILE_FIELDS.contains(&name.as_str()));
            write_object(&mut out, map, &|name| !all_volatile && skip(name));
        }
    }
    out
}

fn write_object(out: &mut String, map: &Map<String, Value>, skip: &dyn Fn(&str) -> bool) {
    let mut fields: Vec<_> = map.iter().filter(|(name, value)| !skip(name) && !is_blank(value)).collect();
    fields.sort_by(|a, b| a.0.cmp(b.0));
    out.push('{');
    for (i, (name, value)) in fields.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(name);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Object(map) => write_object(out, map, &|_| false),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::String(text) => write_quoted(out, text),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// JSON quoting, so that no text can be mistaken for structure.
fn write_quoted(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| matches!(b, b'"' | b'\\' | b'\n' | b'\t' | b'\r')) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        out.push_str(match special.as_bytes()[0] {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\t' => "\\t",
            _ => "\\r",
        });
        rest = &special[1..];
    }
    out.push_str(rest);
    out.push('"');
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Removes redundant path components.
pub(super) fn normalize_path(path: &str) -> String {
    let path = path.trim().trim_matches(|c| c == '"' || c == '\'' || c == '`');
    let path = path.strip_prefix("file://").unwrap_or(path);
    let path = path.replace('\\', "/");
    let absolute = path.starts_with('/');
    let mut out = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if absolute || !out.is_empty() {
            out.push('/');
        }
        out.push_str(part);
    }
    if out.is_empty() {
        out.push_str(if absolute { "/" } else { "." });
    }
    out
}

/// The text without digits and with collapsed whitespace: equal for texts that differ only in numbers and
/// indentation.
pub(super) fn skeleton(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| matches!(b, 0..=b' ' | b'\\' | b'0'..=b'9' | 0x80..)) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { break };
        // Whitespace may be literal or escaped inside a quoted value.
        let escaped_blank = c == '\\' && chars.next().is_some_and(|next| matches!(next, 'n' | 't' | 'r'));
        if escaped_blank || c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if c.is_ascii_digit() {
            if !out.ends_with('#') {
                out.push('#');
            }
        } else {
            out.push(c);
        }
        rest = &rest[c.len_utf8() + usize::from(escaped_blank)..];
    }
    out.push_str(rest);
    out
}
