//! The two traits a backend gives. Both are object safe and synchronous.

use std::time::Duration;

use belay_core::effect::Spend;
use belay_core::event::TokenCost;
use belay_core::{Digest, Incident, Intervention, SessionKey, Timestamp};

use crate::error::Result;
use crate::outbox::{Message, MessageState, NewMessage};
use crate::retention::{Pruned, Retention};
use crate::rows::{
    EventQuery, EventRow, FindingRow, IncidentQuery, NewEvent, NoteRow, Settings, StoreTotals, Tombstone,
};
use crate::session::{Page, SessionHead, SessionId, SessionQuery, SessionRow, SessionUpdate, Snapshot, StoredSession};

/// What a commit has to outlive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process, however it comes.
    #[default]
    ProcessCrash,
    /// A power cut too.
    PowerCut,
}

/// Equal tokens: nothing was committed in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeToken(pub(crate) u64);

/// A store. Reading never blocks writers; all writing goes through [`Store::begin`].
pub trait Store: Send {
    /// Takes the write lock. Dropping the transaction leaves no trace.
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>>;

    /// Sessions, newest first.
    fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRow>>;
    fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>>;
    /// The one session meant by a prefix of `agent:native-id` or of the native id; an exact name always wins.
    fn resolve(&self, text: &str) -> Result<SessionKey>;
    /// For each key the shortest text that [`Store::resolve`] takes, with at least `at_least` characters of the
    /// native id.
    fn short_names(&self, keys: &[SessionKey], at_least: usize) -> Result<Vec<String>>;
    /// What it takes to have the session in memory again, as of the last commit.
    fn load(&self, key: &SessionKey, format: u16) -> Result<Option<StoredSession>>;
    /// Rules that were in force once, as JSON.
    fn rules(&self, digest: Digest) -> Result<Option<String>>;

    fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>>;
    fn incidents(&self, query: &IncidentQuery) -> Result<Vec<Incident>>;
    fn incident(&self, id: &str) -> Result<Option<Incident>>;
    fn finding(&self, id: &str) -> Result<Option<FindingRow>>;
    /// Findings of a session, newest first.
    fn findings(&self, session: &SessionKey, limit: usize) -> Result<Vec<FindingRow>>;
    /// Notes of a session, newest first.
    fn notes(&self, session: &SessionKey, limit: usize) -> Result<Vec<NoteRow>>;
    /// Messages, newest first; of all states without one.
    fn outbox(&self, state: Option<MessageState>, limit: usize) -> Result<Vec<Message>>;
    fn setting(&self, key: &str) -> Result<Option<String>>;
    fn settings(&self) -> Result<Settings>;
    /// Tombstones that have not expired, newest first; of all projects without one.
    fn tombstones(&self, project: Option<&str>, now: Timestamp) -> Result<Vec<Tombstone>>;
    /// Sums over sessions with an event since then; over all without a time.
    fn totals(&self, since: Option<Timestamp>) -> Result<StoreTotals>;
    /// Tells cheaply whether anything was committed, by whomever.
    fn change_token(&self) -> Result<ChangeToken>;

    /// Cleans up for a few milliseconds.
    fn prune(&mut self, retention: &Retention, now: Timestamp) -> Result<Pruned>;
    /// Looks for damage; empty when all is well. Takes time: for `belay doctor`.
    fn check(&self) -> Result<Vec<String>>;
}

/// The write lock, and all that can be done under it. Dropped without [`Transaction::commit`], nothing happened.
pub trait Transaction {
    /// The session of that key.
    fn session_head(&mut self, key: &SessionKey) -> Result<Option<SessionHead>>;
    /// Only the version, for somebody who has the session in memory; `None` when the session is gone.
    fn version(&mut self, session: SessionId) -> Result<Option<u64>>;
    /// What it takes to have the session in memory.
    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession>;
    /// A session nobody has seen before.
    fn create(&mut self, key: &SessionKey, at: Timestamp) -> Result<SessionHead>;
    /// Names the session that started this one. Returns `false` when it would become its own ancestor.
    fn set_parent(&mut self, child: SessionId, parent: SessionId) -> Result<bool>;

    /// Appends to the log; `false` if the session has an event of that identity. Call [`Transaction::save`] with the
    /// new version afterwards.
    fn append(&mut self, session: SessionId, event: &NewEvent<'_>) -> Result<bool>;
    /// Writes the row of a session, if its version is still what it was: a conflict otherwise.
    fn save(&mut self, session: SessionId, change: &SessionUpdate<'_>) -> Result<()>;
    /// Keeps a snapshot, and the one before.
    fn snapshot(&mut self, session: SessionId, snapshot: &Snapshot) -> Result<()>;
    /// Adds what a session has cost to all its ancestors.
    fn charge_ancestors(&mut self, session: SessionId, spent: &Spend) -> Result<()>;
    /// What the sub-agents of a session have cost, theirs included.
    fn descendant_spend(&mut self, session: SessionId) -> Result<Spend>;

    /// Adds to what somebody (a project, an account) has spent on a day, and tells the sums.
    fn add_ledger_spend(&mut self, day: i64, name: &str, paid: &TokenCost) -> Result<TokenCost>;
    fn rules(&mut self, digest: Digest) -> Result<Option<String>>;
    fn put_rules(&mut self, digest: Digest, json: &str) -> Result<()>;
    fn incident(&mut self, id: &str) -> Result<Option<Incident>>;
    fn put_incident(&mut self, session: SessionId, incident: &Incident) -> Result<()>;
    fn put_finding(&mut self, session: SessionId, intervention: &Intervention) -> Result<()>;
    fn put_note(&mut self, session: SessionId, note: &NoteRow) -> Result<()>;
    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<()>;
    fn put_tombstone(&mut self, tombstone: &Tombstone) -> Result<()>;

    /// `false` when a message of that key was enqueued before.
    fn enqueue(&mut self, message: &NewMessage) -> Result<bool>;
    /// Takes messages that are due. Nobody else gets them until the lease ends.
    fn claim_due(&mut self, now: Timestamp, lease: Duration, limit: usize) -> Result<Vec<Message>>;
    /// It arrived.
    fn mark_sent(&mut self, message: i64, at: Timestamp) -> Result<()>;
    /// It did not; try again then, or never.
    fn mark_failed(&mut self, message: i64, error: &str, retry_at: Option<Timestamp>) -> Result<()>;

    fn commit(self: Box<Self>) -> Result<()>;
}
