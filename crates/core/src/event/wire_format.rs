//! Deserialization of external events. Complete inputs and outputs are accepted and reduced to digests,
//! derived facts and excerpts. Every error names the field.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{Event, SCHEMA_VERSION, ToolCalled, ToolReturned};
use crate::action::{self, Action, Tool, ToolKind};
use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::key::validate_id;
use crate::outcome::{CallStatus, Outcome};
use crate::redact::{names_env_file, redact};

/// Maximum size of an event in bytes of JSON.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Why an event was rejected. A rejected event has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct EventError {
    /// The invalid field, or `event` for the event as a whole.
    pub field: String,
    /// What is wrong with it and what is expected.
    pub problem: String,
}

impl EventError {
    fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        // serde's messages quote values.
        Self { field: field.into(), problem: redact(&problem.into()).into_owned() }
    }
}

/// `tool_called` as sensors may send it: with the complete `input`, or already condensed.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ToolCalledWire {
    #[serde(default)]
    call: Option<String>,
    tool: ToolForm,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    action: Option<Action>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum ToolForm {
    Name(String),
    Full(FullToolForm),
}

#[derive(Deserialize, JsonSchema)]
struct FullToolForm {
    #[serde(default)]
    kind: Option<ToolKind>,
    name: String,
}

/// Implemented by hand because serde's untagged enums buffer the input.
impl<'de> Deserialize<'de> for ToolForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ToolForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a tool, or {\"kind\": ..., \"name\": ...}")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<ToolForm, E> {
                Ok(ToolForm::Name(name.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ToolForm, A::Error> {
                FullToolForm::deserialize(MapAccessDeserializer::new(map)).map(ToolForm::Full)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl From<ToolCalledWire> for ToolCalled {
    fn from(wire: ToolCalledWire) -> Self {
        let (kind, name) = match wire.tool {
            ToolForm::Name(name) => (None, name),
            ToolForm::Full(FullToolForm { kind, name }) => (kind, name),
        };
        match wire.action {
            // Already condensed: the input is an excerpt.
            Some(mut action) => {
                let kind = kind.unwrap_or_else(|| action::classify(&name, &wire.input));
                let input = wire.input.as_str().unwrap_or_default();
                action.env_file |= shows_env_file(kind, input);
                Self { call: wire.call, tool: Tool { kind, name }, action, input: Excerpt::new(input) }
            }
            None => Self::new(wire.call, kind, &name, &wire.input),
        }
    }
}

impl ToolCalled {
    /// Condenses a complete input. `kind` is the agent's classification of its tool, if it has one.
    pub fn new(call: Option<String>, kind: Option<ToolKind>, name: &str, input: &Value) -> Self {
        let kind = kind.unwrap_or_else(|| action::classify(name, input));
        let (mut action, salient) = Action::from_tool_call(kind, name, input);
        action.env_file = shows_env_file(kind, &salient);
        let input = if action.env_file { Excerpt::of_env_file(&salient) } else { Excerpt::new(&salient) };
        Self { call, tool: Tool { kind, name: name.to_owned() }, action, input }
    }
}

/// Whether a call with this input reads, prints or writes a file of environment variables.
fn shows_env_file(kind: ToolKind, input: &str) -> bool {
    match kind {
        // The path stands in the first lines; a text that mentions `.env` further down is not such a file.
        ToolKind::Edit | ToolKind::Write => input.lines().take(MAX_PATH_LINES).any(names_env_file),
        _ => names_env_file(input),
    }
}

/// `tool_returned` as sensors may send it: with the complete `output`, or already condensed.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ToolReturnedWire {
    #[serde(default)]
    call: Option<String>,
    #[serde(default)]
    answers: Option<Digest>,
    #[serde(default)]
    status: Option<CallStatus>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    output: String,
    #[serde(default)]
    outcome: Option<Outcome>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

impl From<ToolReturnedWire> for ToolReturned {
    fn from(wire: ToolReturnedWire) -> Self {
        let mut returned = match wire.outcome {
            Some(outcome) => Self {
                call: wire.call,
                answers: None,
                status: wire.status.unwrap_or_default(),
                exit_code: wire.exit_code,
                outcome,
                output: Excerpt::new(&wire.output),
                duration_ms: None,
            },
            None => Self::new(wire.call, wire.status, wire.exit_code, &wire.output),
        };
        returned.answers = wire.answers;
        returned.duration_ms = wire.duration_ms;
        returned
    }
}

impl ToolReturned {
    /// Condenses a complete output. Without a status, the status follows from exit code and text.
    pub fn new(call: Option<String>, status: Option<CallStatus>, exit_code: Option<i32>, output: &str) -> Self {
        let outcome = match status {
            Some(CallStatus::Ok) => Outcome::from_success(output, exit_code),
            _ => Outcome::from_output(output, exit_code),
        };
        let status = status.unwrap_or_else(|| outcome.status(exit_code));
        Self { call, answers: None, status, exit_code, outcome, output: Excerpt::new(output), duration_ms: None }
    }

    /// The result of a call that reads or prints an environment file.
    pub(crate) fn with_env_values_redacted(&self) -> Self {
        Self { output: Excerpt::of_env_file(self.output.as_str()), ..self.clone() }
    }

    /// Condenses the result of a read (a file, a search) that the sensor knows to have succeeded.
    pub fn from_read(call: Option<String>, output: &str) -> Self {
        let (outcome, output) = (Outcome::from_read(output), Excerpt::with_limit(output, READ_EXCERPT_BYTES));
        Self { call, answers: None, status: CallStatus::Ok, exit_code: None, outcome, output, duration_ms: None }
    }
}

/// Lines at the start of an edit that may hold the path.
const MAX_PATH_LINES: usize = 3;

/// Excerpt size for reads, whose source still exists.
const READ_EXCERPT_BYTES: usize = 512;

impl Event {
    /// Parses one event. An error names the field.
    pub fn from_json(json: &[u8]) -> Result<Self, EventError> {
        if json.len() > MAX_EVENT_BYTES {
            return Err(EventError::new(
                "event",
                format!("{} bytes is more than the {MAX_EVENT_BYTES} an event may have; send an excerpt", json.len()),
            ));
        }
        let value: Value =
            serde_json::from_slice(json).map_err(|e| EventError::new("event", format!("not JSON: {e}")))?;
        Self::from_value(value)
    }

    /// Like [`Event::from_json`], from a parsed value.
    pub fn from_value(value: Value) -> Result<Self, EventError> {
        let Some(object) = value.as_object() else {
            return Err(EventError::new("event", "must be a JSON object"));
        };
        if let Some(v) = object.get("v") {
            let known = v.as_u64().is_some_and(|v| (1..=u64::from(SCHEMA_VERSION)).contains(&v));
            if !known {
                return Err(EventError::new(
                    "v",
                    format!("schema version {v} is not known here; this Belay reads versions 1 to {SCHEMA_VERSION}"),
                ));
            }
        }
        id_field(object, "id")?;
        let Some(session) = object.get("session") else {
            return Err(EventError::new("session", "is missing; say {\"agent\": ..., \"id\": ...}"));
        };
        let Some(session) = session.as_object() else {
            return Err(EventError::new("session", "must be an object {\"agent\": ..., \"id\": ...}"));
        };
        id_field(session, "agent").and_then(|()| id_field(session, "id")).map_err(|mut e| {
            e.field = format!("session.{}", e.field);
            e
        })?;
        let Some(kind) = object.get("kind").and_then(Value::as_str) else {
            return Err(EventError::new("kind", "is missing; see `belay schema event` for the kinds"));
        };
        let kind = kind.to_owned();
        let mut event = serde_json::from_value::<Self>(value).map_err(|e| explain(&kind, &e))?;
        event.bound_amounts();
        event.redact_names();
        Ok(event)
    }
}

fn id_field(object: &serde_json::Map<String, Value>, field: &str) -> Result<(), EventError> {
    match object.get(field) {
        Some(Value::String(text)) => validate_id(text).map_err(|problem| EventError::new(field, problem.to_string())),
        Some(_) => Err(EventError::new(field, "must be a text")),
        None => Err(EventError::new(field, "is missing")),
    }
}

/// serde names the field only inside its message; this moves it to the front.
fn explain(kind: &str, error: &serde_json::Error) -> EventError {
    let text = error.to_string();
    if text.starts_with("unknown variant") && text.contains(&format!("`{kind}`")) {
        return EventError::new("kind", text);
    }
    let field = text.split('`').nth(1).filter(|_| text.starts_with("missing field")).map(str::to_owned);
    EventError::new(field.unwrap_or_else(|| kind.to_owned()), text)
}

/// All event kinds, for documentation and tests.
pub const EVENT_KINDS: &[&str] = &[
    "session_started",
    "session_ended",
    "prompt",
    "tool_called",
    "tool_returned",
    "learned",
    "file_changed",
    "check_ran",
    "committed",
    "model_asked",
    "model_answered",
    "model_failed",
    "limit_hit",
    "turn_ended",
    "waiting",
    "wait_ended",
    "permission_asked",
    "permission_answered",
    "approval_ended",
    "compacted",
    "sub_agent_started",
    "sub_agent_ended",
    "sub_agents_spent",
    "shared_spent",
    "task",
    "note",
    "operator",
    "delivered",
    "tick",
];
