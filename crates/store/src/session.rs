//! What a session looks like to readers (a row) and to the engine (head, snapshot, tail).

use belay_core::effect::Spend;
use belay_core::session::{Budget, Counters, DeclaredWait, ProgressClock, SessionFacts};
use belay_core::{Digest, Session, SessionKey, SessionState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::rows::EventRow;

/// A session's number in its store. Never used again for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub i64);

/// One session as lists and pages show it. Always as of its last event, never older.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    #[serde(skip)]
    pub id: SessionId,
    pub key: SessionKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// Number of its last event.
    pub version: u64,
    /// May it go on? This row, not a replay, is the authority.
    pub state: SessionState,
    /// What it and its sub-agents cost is `spent` and `beneath` together.
    pub descendants: Spend,
    /// Everything else.
    #[serde(flatten)]
    pub details: SessionDetails,
}

/// The part of a session that is shown but never searched for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionDetails {
    pub facts: SessionFacts,
    pub counters: Counters,
    pub spent: Spend,
    /// Since when, and at what cost, it has not moved.
    pub clock: ProgressClock,
    pub budget: Budget,
    /// Id of the open incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DeclaredWait>,
}

impl SessionDetails {
    pub fn of(session: &Session) -> Self {
        Self {
            facts: session.facts.clone(),
            counters: session.counters,
            spent: session.spent,
            clock: session.clock,
            budget: session.budget,
            incident: session.incident.as_ref().map(|incident| incident.id.clone()),
            waiting: session.waiting.clone(),
        }
    }
}

/// Which sessions to list, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionQuery {
    /// Only these states (words of [`SessionState::as_str`]); empty for all.
    pub states: Vec<String>,
    /// Only this agent (canonical id).
    pub agent: Option<String>,
    /// Only this project.
    pub project: Option<String>,
    /// Only sub-agents of this session.
    pub parent: Option<SessionKey>,
    /// Archived ones too. Asking for the state `archived` implies it.
    pub archived: bool,
    /// Only sessions with an event at or after this.
    pub since: Option<Timestamp>,
    /// At most this many; 0 stands for 50.
    pub limit: usize,
    /// Where the last page ended.
    pub after: Option<Cursor>,
}

/// A place in a list that is sorted newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub last_at: Timestamp,
    pub id: SessionId,
}

/// Some rows, and where to go on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// `None` when this was the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

/// What the engine needs to know before it touches a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionHead {
    pub id: SessionId,
    pub parent: Option<SessionId>,
    pub version: u64,
    /// Event number of the newest snapshot; 0 when there is none.
    pub snapshot: u64,
    /// The authority on whether the session may go on.
    pub state: SessionState,
    /// The time it is listed by.
    pub listed: Timestamp,
}

/// What events made of a session's row.
#[derive(Clone, Copy, Debug)]
pub struct SessionUpdate<'a> {
    /// The version it builds on.
    pub from: u64,
    pub to: u64,
    /// The state, where it is another one.
    pub state: Option<&'a SessionState>,
    /// The time to list it by, where that should move. It never goes back.
    pub listed: Option<Timestamp>,
    pub details: &'a SessionDetails,
}

/// A whole session at some event, serialised.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The last event it contains.
    pub seq: u64,
    /// `SESSION_FORMAT` of the writer.
    pub format: u16,
    /// Digest of the rules it was made under.
    pub rules: Digest,
    /// The session as JSON.
    pub data: String,
}

/// What it takes to have a session in memory again.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    pub head: SessionHead,
    /// The newest snapshot of the wanted format.
    pub snapshot: Option<Snapshot>,
    /// The events since the snapshot; all of them without one.
    pub tail: Vec<EventRow>,
}
