//! Events, incidents, findings, notes, tombstones and totals as rows.

use std::collections::BTreeMap;

use belay_core::event::OperatorDecision;
use belay_core::{Digest, Event, Intervention, SessionKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};

/// An event to be appended. The engine serialises it once.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// Number in its session.
    pub seq: u64,
    /// Digest of `Event::identity`: the same fact counts once.
    pub identity: Digest,
    pub at: Timestamp,
    pub kind: &'static str,
    /// Digest of the rules it is applied under.
    pub rules: Digest,
    /// The event as JSON.
    pub json: &'a str,
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Number in the whole store: what `events tail` and live pages go by.
    pub ord: i64,
    pub session: SessionKey,
    /// Number in its session.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    /// Digest of the rules it was applied under.
    pub rules: Digest,
    /// The event as JSON, exactly as it was written.
    pub json: String,
}

impl EventRow {
    pub fn event(&self) -> Result<Event> {
        serde_json::from_str(&self.json).map_err(|e| StoreError::malformed("an event", e))
    }
}

/// Which events to read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventQuery {
    /// Of one session; else of all.
    pub session: Option<SessionKey>,
    /// Only what comes after this number (`seq` of a session, else `ord`).
    pub after: Option<u64>,
    /// Only these kinds; empty for all.
    pub kinds: Vec<String>,
    /// The first ones or the last ones; both come oldest first.
    pub order: Order,
    /// At most this many; 0 stands for 100.
    pub limit: usize,
}

/// Which end of a longer answer is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    First,
    Last,
}

/// Which incidents to list, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncidentQuery {
    pub session: Option<SessionKey>,
    /// Closed ones too.
    pub closed: bool,
    /// At most this many; 0 stands for 100.
    pub limit: usize,
}

/// A finding with what was done about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingRow {
    pub session: SessionKey,
    #[serde(flatten)]
    pub intervention: Intervention,
}

/// A person's words about a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoteRow {
    pub session: SessionKey,
    pub at: Timestamp,
    /// What they decided with it.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub text: String,
}

/// What the next session of a project should know about the one before.
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

/// Sums for the status line and the front page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreTotals {
    /// Sessions by state word.
    pub sessions: BTreeMap<String, u64>,
    pub events: u64,
    pub calls: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    pub open_incidents: u64,
    /// Messages that wait to be sent.
    pub outbox: u64,
    /// Bytes in use on disk.
    pub bytes: u64,
}

/// All settings.
pub type Settings = BTreeMap<String, String>;
