//! Sessions as readers see them (rows) and as the engine loads them (head, snapshot, tail).

use belay_core::effect::Spend;
use belay_core::session::{Budget, CallStrip, Counters, DeclaredWait, NewestCall, ProgressClock, SessionFacts};
use belay_core::status::PhaseRecord;
use belay_core::{Digest, Session, SessionKey, SessionState, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rows::EventRow;

/// A session's row id. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub i64);

/// A session as lists and pages show it, current as of its last event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    #[serde(skip)]
    pub id: SessionId,
    pub key: SessionKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// Sequence number of its last event.
    pub version: u64,
    /// The authoritative state: it overrides the result of a replay.
    pub state: SessionState,
    /// Spend of its sub-agents; not included in `details.spent`.
    pub descendants: Spend,
    #[serde(flatten)]
    pub details: SessionDetails,
}

/// The part of a session row that is displayed but not filtered on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionDetails {
    pub facts: SessionFacts,
    pub counters: Counters,
    pub spent: Spend,
    /// Time and spend since the last progress.
    pub clock: ProgressClock,
    pub budget: Budget,
    /// Id of the open incident, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// The sentence of that incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident_sentence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DeclaredWait>,
    /// What the agent does or waits for.
    pub phase: PhaseRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_call: Option<NewestCall>,
    /// The whole session in at most 128 buckets.
    pub strip: CallStrip,
    /// Tokens by minute since 1970, oldest first, for the last minutes with any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub burn: Vec<(i64, u64)>,
    /// Cost per minute over the last minutes with any, in millionths of a US dollar.
    pub cost_per_minute: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u32>,
    /// The limits in force for this session alone.
    pub limits: Budget,
}

impl SessionDetails {
    pub fn from_session(session: &Session) -> Self {
        Self {
            facts: session.facts.clone(),
            counters: session.counters,
            spent: session.spent,
            clock: session.clock,
            budget: session.budget,
            incident: session.incident.as_ref().map(|incident| incident.id.clone()),
            incident_sentence: session.incident.as_ref().map(|incident| incident.sentence.clone()),
            waiting: session.waiting.clone(),
            phase: session.phase.clone(),
            newest_call: session.newest_call_summary(),
            strip: session.strip.clone(),
            burn: session.meter().minutes().map(|(minute, tokens, _)| (minute, tokens)).collect(),
            cost_per_minute: session.meter().per_minute().1,
            context_percent: session.meter().context_fill_percent(),
            limits: session.own_limits(),
        }
    }
}

/// The order of a list of sessions. All orders are descending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionSort {
    /// By the last event.
    #[default]
    Newest,
    Cost,
    Tokens,
    Calls,
}

/// Selects sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionQuery {
    /// Only these states (names from [`SessionState::as_str`]); empty selects all.
    pub states: Vec<String>,
    /// Only this agent (canonical id).
    pub agent: Option<String>,
    /// Only this project.
    pub project: Option<String>,
    /// Only sub-agents of this session.
    pub parent: Option<SessionKey>,
    /// Include archived sessions. Implied by the state `archived` in `states`.
    pub archived: bool,
    /// Only sessions with an event at or after this time.
    pub since: Option<Timestamp>,
    /// Only sessions whose id, project, task, branch or model contains this text, ignoring the case of ASCII letters.
    pub text: Option<String>,
    pub sort: SessionSort,
    /// Maximum number of rows; 0 means 50.
    pub limit: usize,
    /// Continue after this position, from [`Page::next`].
    pub after: Option<Cursor>,
}

/// A position in a list of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// What the list is sorted by: milliseconds since 1970, millionths of a US dollar, tokens or calls.
    pub value: i64,
    pub id: SessionId,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Where the next page starts; `None` on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

/// A paused or killed session, archived or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldSession {
    pub session: SessionKey,
    pub state: SessionState,
}

/// The part of a session row that the engine reads before loading the session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionHead {
    pub id: SessionId,
    pub parent: Option<SessionId>,
    pub version: u64,
    /// Sequence number of the newest snapshot; 0 if there is none.
    pub snapshot: u64,
    /// The authoritative state.
    pub state: SessionState,
    /// The indexed time by which lists are sorted; lags the last event by up to a second.
    pub listed: Timestamp,
}

/// An update of a session's row.
#[derive(Clone, Copy, Debug)]
pub struct SessionUpdate<'a> {
    /// The version the update is based on.
    pub from: u64,
    pub to: u64,
    /// The new state, if it changed.
    pub state: Option<&'a SessionState>,
    /// The new sort time, if it changed. Earlier times are ignored.
    pub listed: Option<Timestamp>,
    pub details: &'a SessionDetails,
}

/// A serialised session as of one of its events.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Sequence number of the last event it includes.
    pub seq: u64,
    /// `SESSION_FORMAT` of the writer.
    pub format: u16,
    /// Digest of the rules in force at that event.
    pub rules: Digest,
    /// The session as JSON.
    pub data: String,
}

/// Everything needed to restore a session in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    pub head: SessionHead,
    /// The newest snapshot of the requested format.
    pub snapshot: Option<Snapshot>,
    /// The events after the snapshot, or all events if there is none.
    pub tail: Vec<EventRow>,
}
