//! The traits that a backend implements. Both are object-safe and synchronous.

use std::time::Duration;

use belay_core::effect::Spend;
use belay_core::event::TokenCost;
use belay_core::session::CallRecord;
use belay_core::{Digest, Incident, Intervention, SessionKey, Timestamp};

use crate::error::Result;
use crate::outbox::{AttemptResult, Delivery, DeliveryState, DueWork, Message, NewMessage};
use crate::retention::{Pruned, Retention};
use crate::rows::{
    CallQuery, EventQuery, EventRow, FindingRow, IncidentQuery, KeptSession, LogVerification, NewEvent, NoteRow,
    Settings, SpendRow, StoreTotals, Tombstone,
};
use crate::session::{
    HeldSession, Page, SessionHead, SessionId, SessionQuery, SessionRow, SessionUpdate, Snapshot, StoredSession,
};

/// The failure that a commit must survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A crash of this process.
    #[default]
    ProcessCrash,
    /// A power cut.
    PowerCut,
}

/// A token that changes with every commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeToken(pub(crate) u64);

/// A store. Readers never block writers; all writes except pruning go through [`Store::begin`].
pub trait Store: Send {
    /// Takes the write lock. Dropping the transaction rolls it back.
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>>;

    /// Sessions, newest first.
    fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRow>>;
    fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>>;
    /// All paused and killed sessions, newest first, up to `limit`.
    fn held_sessions(&self, limit: usize) -> Result<Vec<HeldSession>>;
    /// Resolves a prefix of `agent:native-id` or of the native id to one session. An exact match wins.
    fn resolve(&self, text: &str) -> Result<SessionKey>;
    /// For each key, the shortest text that [`Store::resolve`] accepts, with at least `at_least` characters of the
    /// native id.
    fn short_names(&self, keys: &[SessionKey], at_least: usize) -> Result<Vec<String>>;
    /// Loads a session as of the last commit.
    fn load(&self, key: &SessionKey, format: u16) -> Result<Option<StoredSession>>;
    /// The rules with this digest, as JSON.
    fn rules(&self, digest: Digest) -> Result<Option<String>>;

    fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>>;
    /// Calls of a session, oldest first.
    fn calls(&self, session: &SessionKey, query: &CallQuery) -> Result<Vec<CallRecord>>;
    /// Spend from the hour `from` to before the hour `to` (hours since 1970), oldest first.
    fn spend(&self, from: i64, to: i64) -> Result<Vec<SpendRow>>;
    fn incidents(&self, query: &IncidentQuery) -> Result<Vec<Incident>>;
    fn incident(&self, id: &str) -> Result<Option<Incident>>;
    fn finding(&self, id: &str) -> Result<Option<FindingRow>>;
    /// Findings of a session, newest first.
    fn findings(&self, session: &SessionKey, limit: usize) -> Result<Vec<FindingRow>>;
    /// Decisions about a session that have a note, newest first.
    fn notes(&self, session: &SessionKey, limit: usize) -> Result<Vec<NoteRow>>;
    /// Decisions of people about one session or all, newest first; their notes may be empty.
    fn decisions(&self, session: Option<&SessionKey>, limit: usize) -> Result<Vec<NoteRow>>;
    /// Messages of the outbox, newest first.
    fn messages(&self, limit: usize) -> Result<Vec<Message>>;
    /// Deliveries in the given state or in any, newest message first.
    fn deliveries(&self, state: Option<DeliveryState>, limit: usize) -> Result<Vec<Delivery>>;
    /// What the outbox has to do now.
    fn due_work(&self, now: Timestamp) -> Result<DueWork>;
    /// Number of messages that are not routed or have a pending delivery.
    fn pending_messages(&self) -> Result<u64>;
    fn setting(&self, key: &str) -> Result<Option<String>>;
    fn settings(&self) -> Result<Settings>;
    /// Unexpired tombstones, newest first, optionally only those of one project.
    fn tombstones(&self, project: Option<&str>, now: Timestamp) -> Result<Vec<Tombstone>>;
    /// Totals over all sessions, or over those with an event at or after `since`.
    fn totals(&self, since: Option<Timestamp>) -> Result<StoreTotals>;
    /// A token that differs after any commit by any process. Cheap enough to poll.
    fn change_token(&self) -> Result<ChangeToken>;

    /// Deletes one slice of what exceeds `retention`, for at most a few milliseconds.
    fn prune(&mut self, retention: &Retention, now: Timestamp) -> Result<Pruned>;
    /// Deletes sessions with all their records, held or not, in one transaction; returns how many existed. Their events
    /// are deleted by later calls of [`Store::prune`].
    fn delete_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64>;
    /// The session with the most events among those that [`Store::prune`] does not delete: held ones, ones with an open
    /// incident, and the one with the newest event.
    fn largest_kept_session(&self) -> Result<Option<KeptSession>>;
    /// Checkpoints the write-ahead log. Returns `false` if a reader or another process prevented it.
    fn checkpoint(&mut self) -> Result<bool>;
    /// Verifies the chained digests of the log, newest sessions first, for about `time_limit`.
    fn verify_log(&self, time_limit: Option<Duration>) -> Result<LogVerification>;
    /// Checks integrity and returns the problems found. Slow; used by `belay doctor`.
    fn check(&self) -> Result<Vec<String>>;
}

/// A write transaction, which holds the write lock. It rolls back unless [`Transaction::commit`] is called.
pub trait Transaction {
    fn session_head(&mut self, key: &SessionKey) -> Result<Option<SessionHead>>;
    /// The current version, to validate a cached session; `None` if the session was deleted.
    fn version(&mut self, session: SessionId) -> Result<Option<u64>>;
    /// All paused and killed sessions, including changes of this transaction, newest first, up to `limit`.
    fn held_sessions(&mut self, limit: usize) -> Result<Vec<HeldSession>>;
    /// Loads the session's snapshot and tail.
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession>;
    /// Creates a session.
    fn create(&mut self, key: &SessionKey, at: Timestamp) -> Result<SessionHead>;
    /// Sets the session that started this one. Returns `false` if that would create a cycle.
    fn set_parent(&mut self, child: SessionId, parent: SessionId) -> Result<bool>;

    /// Appends to the log; returns `false` if the session already has an event with that identity. Call
    /// [`Transaction::save`] with the new version afterwards.
    fn append(&mut self, session: SessionId, event: &NewEvent<'_>) -> Result<bool>;
    /// Updates a session's row. Fails with a conflict if its version is not `update.from`.
    fn save(&mut self, session: SessionId, update: &SessionUpdate<'_>) -> Result<()>;
    /// Writes a snapshot. The previous one is retained, older ones are deleted.
    fn snapshot(&mut self, session: SessionId, snapshot: &Snapshot) -> Result<()>;
    /// Adds spend of a session to all its ancestors.
    fn charge_ancestors(&mut self, session: SessionId, spent: &Spend) -> Result<()>;
    /// The spend of all descendants of a session.
    fn descendant_spend(&mut self, session: SessionId) -> Result<Spend>;

    /// Adds to a day's spend of a project or account and returns the new total.
    fn add_ledger_spend(&mut self, day: i64, name: &str, paid: &TokenCost) -> Result<TokenCost>;
    /// Adds to the spend of an hour.
    fn add_spend(&mut self, spend: &SpendRow) -> Result<()>;
    /// Writes or updates a call. Figures and a file that are already known are kept if the record has none.
    fn put_call(&mut self, session: SessionId, call: &CallRecord) -> Result<()>;
    fn rules(&mut self, digest: Digest) -> Result<Option<String>>;
    fn put_rules(&mut self, digest: Digest, json: &str) -> Result<()>;
    fn incident(&mut self, id: &str) -> Result<Option<Incident>>;
    fn put_incident(&mut self, session: SessionId, incident: &Incident) -> Result<()>;
    fn put_finding(&mut self, session: SessionId, intervention: &Intervention) -> Result<()>;
    fn put_note(&mut self, session: SessionId, note: &NoteRow) -> Result<()>;
    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<()>;
    fn put_tombstone(&mut self, tombstone: &Tombstone) -> Result<()>;

    /// Returns `false` if a message with that key already exists.
    fn enqueue(&mut self, message: &NewMessage) -> Result<bool>;
    /// Creates a delivery to each channel for up to `limit` messages that have none; returns how many messages.
    fn route_messages(&mut self, channels: &[&str], now: Timestamp, limit: usize) -> Result<usize>;
    /// Skips pending deliveries to channels other than these; returns how many.
    fn skip_other_channels(&mut self, channels: &[&str], now: Timestamp) -> Result<usize>;
    /// Claims the delivery to the channel that is due longest. It is not claimed again before the lease ends.
    fn claim_delivery(&mut self, channel: &str, now: Timestamp, lease: Duration) -> Result<Option<Delivery>>;
    /// Records the result of a claimed delivery.
    fn record_attempt(&mut self, delivery: &Delivery, result: &AttemptResult, now: Timestamp) -> Result<()>;

    fn commit(self: Box<Self>) -> Result<()>;
}
