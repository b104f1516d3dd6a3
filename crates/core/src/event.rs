//! The neutral schema every sensor speaks, version 1.
//!
//! An event is one thing that happened in a session. It is *idempotent*: [`Event::identity_text`] is
//! made of the agent's own ids (tool call id, response id, request id) where there are any, so the
//! same fact told by two sensors counts once. A fact learned later ([`Body::Learned`]) completes an
//! event; it does not add a second one.
//!
//! Sensors may hand in whole inputs and outputs. What stays in the event are digests, derived facts
//! ([`Action`](crate::Action), [`Outcome`](crate::Outcome)) and redacted [`Excerpt`](crate::Excerpt)s; the conversion happens while the event is
//! made or read from the wire, so an event in memory is always small and clean.

mod body;
mod conversation;
mod fast_reader;
pub mod loop_watchdog;
mod model;
mod operator;
#[cfg(test)]
mod tests;
mod tool;
mod wire_format;
mod workspace;

pub use body::Body;
pub use conversation::*;
pub use model::*;
pub use operator::*;
pub use tool::*;
pub use wire_format::{EVENT_KINDS, EventError, MAX_EVENT_BYTES};
pub use workspace::*;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::key::SessionKey;
use crate::time::Timestamp;

/// Version of this schema. Readers refuse newer versions and understand all older ones.
pub const SCHEMA_VERSION: u16 = 1;

/// One thing that happened in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Schema version; 1 when absent.
    #[serde(default = "schema_version")]
    pub v: u16,
    /// Minted by the sensor, unique (a UUIDv7 where we mint it). The same id twice is the same event.
    pub id: String,
    /// Whose event it is.
    pub session: SessionKey,
    /// For a sub-agent: the session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// Which sensor saw it.
    #[serde(default)]
    pub source: Source,
    /// When it happened (UTC), as the sensor knows it.
    #[serde(default)]
    pub at: Timestamp,
    /// The agent's turn, prompt or model message this belongs to. Tool calls that carry the same
    /// batch were made side by side: one failed batch counts once, however many calls it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Where the agent works (its current folder), when the sensor knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
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
    /// A tmux pane.
    Pane,
    /// The file watcher.
    Watcher,
    /// A person, through CLI or dashboard.
    Operator,
    /// Belay itself: the passing of time.
    Timer,
}

impl Event {
    pub fn new(id: impl Into<String>, session: SessionKey, source: Source, at: Timestamp, body: Body) -> Self {
        Self { v: SCHEMA_VERSION, id: id.into(), session, parent: None, source, at, batch: None, cwd: None, body }
    }

    /// Whether the agent waits for an answer to this.
    pub fn is_question(&self) -> bool {
        matches!(self.body, Body::ToolCalled(_) | Body::Prompt(_) | Body::ModelAsked(_) | Body::PermissionAsked(_))
    }

    /// What makes this the same fact as another event of the session. Falls back to the event id.
    pub fn identity_text(&self) -> String {
        let (kind, id) = self.identity_pieces();
        format!("{kind}{id}")
    }

    /// The identity as a digest: what sessions and stores know events by.
    pub fn identity_digest(&self) -> Digest {
        let (kind, id) = self.identity_pieces();
        Digest::of_pieces([kind, &id])
    }

    fn identity_pieces(&self) -> (&'static str, Cow<'_, str>) {
        self.body.native_id().unwrap_or(("id:", Cow::Borrowed(&self.id)))
    }
}
