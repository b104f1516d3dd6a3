//! Row and query types for events, incidents, findings, notes, tombstones and totals.

use std::collections::BTreeMap;

use belay_core::event::OperatorDecision;
use belay_core::{Digest, Event, Intervention, SessionKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};

/// An event to append, already serialised.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// Sequence number in its session, from 1.
    pub seq: u64,
    /// Digest of `Event::identity`; an identity is recorded once per session.
    pub identity: Digest,
    pub at: Timestamp,
    pub kind: &'a str,
    /// Digest of the rules under which it is applied.
    pub rules: Digest,
    /// The event as JSON.
    pub json: &'a str,
}

/// An event in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Position in the log of all sessions; `events tail` and live pages read from it.
    pub ord: i64,
    pub session: SessionKey,
    /// Sequence number in its session.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    /// Digest of the rules under which it was applied.
    pub rules: Digest,
    /// The event as JSON, exactly as it was written.
    pub json: String,
}

impl EventRow {
    pub fn event(&self) -> Result<Event> {
        serde_json::from_str(&self.json).map_err(|e| StoreError::malformed("an event", e))
    }
}

/// Selects events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventQuery {
    /// Only events of this session.
    pub session: Option<SessionKey>,
    /// Only events after this position: a `seq` if `session` is set, otherwise an `ord`.
    pub after: Option<u64>,
    /// Only events before this position, likewise.
    pub before: Option<u64>,
    /// Only these kinds; empty selects all.
    pub kinds: Vec<String>,
    /// Whether `limit` keeps the first or the last events. Both are returned oldest first.
    pub order: Order,
    /// Maximum number of rows; 0 means 100.
    pub limit: usize,
}

/// The end of a result that a limit keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    First,
    Last,
}

/// Selects calls of a session, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallQuery {
    /// Only calls before this ordinal; the last ones of them are returned.
    pub before: Option<u64>,
    /// Maximum number of rows; 0 means 120.
    pub limit: usize,
}

/// Spend of one hour under an agent, project and model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpendRow {
    /// Hours since 1970.
    pub hour: i64,
    pub agent: String,
    /// Empty if it is unknown.
    pub project: String,
    /// Empty if it is unknown.
    pub model: String,
    pub tokens: u64,
    /// Known cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Cost of models without a price, at an assumed price.
    pub unpriced_micros: u64,
}

/// Selects incidents, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncidentQuery {
    pub session: Option<SessionKey>,
    /// Include closed incidents.
    pub closed: bool,
    /// Only incidents that were open at or after this time.
    pub since: Option<Timestamp>,
    /// Maximum number of rows; 0 means 100.
    pub limit: usize,
}

/// A finding and the intervention that followed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingRow {
    pub session: SessionKey,
    #[serde(flatten)]
    pub intervention: Intervention,
}

/// An operator's note on a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoteRow {
    pub session: SessionKey,
    pub at: Timestamp,
    /// The decision it was written with.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub text: String,
}

/// A note to a project's next session about why an earlier one was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tombstone {
    pub session: SessionKey,
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub pattern: String,
    pub message: String,
    pub at: Timestamp,
    pub expires_at: Timestamp,
}

/// Totals for the status line and the index page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreTotals {
    /// Number of sessions by state name.
    pub sessions: BTreeMap<String, u64>,
    pub events: u64,
    pub calls: u64,
    pub tokens: u64,
    /// Known cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Cost of models without a price, at an assumed price.
    pub unpriced_micros: u64,
    pub open_incidents: u64,
    /// Messages that are not yet delivered to every channel.
    pub outbox: u64,
    /// Bytes in use on disk.
    pub bytes: u64,
}

/// A session that retention does not delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptSession {
    pub session: SessionKey,
    pub events: u64,
}

/// The result of verifying the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogVerification {
    /// Sessions verified, and sessions in the store.
    pub verified: u64,
    pub sessions: u64,
    /// Sessions whose log was changed by another program; at most 12.
    pub broken: Vec<BrokenLog>,
}

/// A session whose log does not match its digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenLog {
    pub session: SessionKey,
    pub problem: String,
}

/// Settings by key.
pub type Settings = BTreeMap<String, String>;
