//! The agent-neutral event schema, version 1.
//!
//! An event is one thing that happened in a session. It is *idempotent*: [`Event::identity_text`] is built
//! from the agent's own ids (tool call id, response id, request id) where they exist, so the same fact from
//! two sensors counts once. A fact that becomes known later ([`Body::Learned`]) completes an event; it does
//! not add a second one.
//!
//! Sensors may pass complete inputs and outputs. An event retains only digests, derived facts
//! ([`Action`](crate::Action), [`Outcome`](crate::Outcome)) and redacted [`Excerpt`](crate::Excerpt)s. The
//! conversion happens when the event is built or deserialized, so an event in memory is always small and free
//! of secrets.

mod amounts;
mod body;
mod conversation;
mod model;
mod names;
mod operator;
#[cfg(test)]
mod tests;
mod tool;
mod wire_format;
mod workspace;

pub use amounts::MAX_AMOUNT;
pub use body::Body;
pub use conversation::*;
pub use model::*;
pub use names::{MAX_REPORTED_FILES, redact_path};
pub use operator::*;
pub use tool::*;
pub use wire_format::{EVENT_KINDS, EventError, MAX_EVENT_BYTES};
pub use workspace::*;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::key::{InvalidId, SessionKey, validate_id};
use crate::time::Timestamp;

/// Version of this schema. Readers accept all older versions and reject newer ones.
pub const SCHEMA_VERSION: u16 = 1;

/// One thing that happened in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Schema version; 1 when absent.
    #[serde(default = "schema_version")]
    pub v: u16,
    /// Unique id assigned by the sensor (a UUIDv7 if Belay assigns it). Two events with the same id are the
    /// same event.
    pub id: String,
    /// The session the event belongs to.
    pub session: SessionKey,
    /// For a sub-agent: the session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// The sensor that reported it.
    #[serde(default)]
    pub source: Source,
    /// When it happened (UTC), according to the sensor.
    #[serde(default)]
    pub at: Timestamp,
    /// The agent's turn, prompt or model message. Tool calls with the same batch were made in parallel; a
    /// failed batch counts once, however many calls it contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// The agent's working directory, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What a client posted, if the event was made of a report in another format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<ClientReport>>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

fn schema_version() -> u16 {
    SCHEMA_VERSION
}

/// Where an event comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A hook of the agent itself.
    Hook,
    /// The proxy between agent and model.
    Proxy,
    /// The agent's own session file.
    Transcript,
    /// Posted by a client (`belay events post`, the HTTP API).
    #[default]
    Api,
    /// Posted over HTTP without the API token: by any program of the user, possibly the agent itself.
    Unverified,
    /// A tmux pane.
    Pane,
    /// The file watcher.
    Watcher,
    /// A person, through the CLI or the dashboard.
    Operator,
    /// Belay's own clock ticks.
    Timer,
}

impl Event {
    pub fn new(id: impl Into<String>, session: SessionKey, source: Source, at: Timestamp, body: Body) -> Self {
        Self {
            v: SCHEMA_VERSION,
            id: id.into(),
            session,
            parent: None,
            source,
            at,
            batch: None,
            cwd: None,
            report: None,
            body,
        }
    }

    /// Whether the agent waits for a verdict on this event.
    pub fn is_question(&self) -> bool {
        matches!(self.body, Body::ToolCalled(_) | Body::Prompt(_) | Body::ModelAsked(_) | Body::PermissionAsked(_))
    }

    /// The text that identifies this fact within the session. Falls back to the event id.
    pub fn identity_text(&self) -> String {
        let (kind, id) = self.identity_pieces();
        format!("{kind}{id}")
    }

    /// Digest of the identity. Sessions and stores use it to detect duplicates.
    pub fn identity_digest(&self) -> Digest {
        let (kind, id) = self.identity_pieces();
        Digest::of_pieces([kind, &id])
    }

    /// Checks the ids of the event and of its session.
    pub fn validate_ids(&self) -> Result<(), InvalidId> {
        validate_id(&self.id).map_err(|problem| InvalidId { field: "id", problem })?;
        self.session.validate()
    }

    fn identity_pieces(&self) -> (&'static str, Cow<'_, str>) {
        self.body.native_id().unwrap_or(("id:", Cow::Borrowed(&self.id)))
    }
}
