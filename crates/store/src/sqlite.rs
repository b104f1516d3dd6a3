//! The SQLite backend: one file in WAL mode.
//!
//! A [`SqliteStore`] owns one connection; each thread opens its own. Only the module `open` creates connections, so all
//! of them have the same settings.

mod calls;
mod chain;
mod error;
mod events;
mod migrate;
mod name_lookup;
mod open;
mod outbox;
mod prune;
mod records;
mod sessions;
#[cfg(test)]
mod tests;
mod transaction;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::session::CallRecord;
use belay_core::{Digest, Incident, SessionKey, Timestamp};
use rusqlite::Connection;

pub use open::OpenOptions;

use crate::error::Result;
use crate::outbox::{Delivery, DeliveryState, DueWork, Message};
use crate::retention::{Pruned, Retention};
use crate::rows::{
    CallQuery, EventQuery, EventRow, FindingRow, IncidentQuery, KeptSession, LogVerification, NoteRow, Settings,
    SpendRow, StoreTotals, Tombstone,
};
use crate::session::{HeldSession, Page, SessionQuery, SessionRow, StoredSession};
use crate::traits::{ChangeToken, Durability, Store, Transaction};

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    read_only: bool,
    busy_timeout: Duration,
    /// The connection's current sync mode, cached because changing it costs a statement.
    durability: Cell<Durability>,
}

impl SqliteStore {
    /// Opens the file; creates or migrates it as needed.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        open::open(path.as_ref(), options)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checkpoints and truncates the write-ahead log without waiting for readers; returns whether it is empty now.
    fn truncate_wal(&self) -> Result<bool> {
        let conn = &self.conn;
        self.map_error((|| {
            conn.busy_timeout(Duration::ZERO)?;
            let blocked = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            conn.busy_timeout(self.busy_timeout)?;
            match blocked {
                Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::DatabaseBusy => {
                    Ok(false)
                }
                blocked => Ok(blocked? == 0),
            }
        })())
    }

    fn map_error<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|e| error::to_store_error(&self.path, e))
    }
}

impl Store for SqliteStore {
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>> {
        Ok(Box::new(transaction::SqliteTransaction::begin(self, durability)?))
    }

    fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRow>> {
        self.map_error(sessions::list(&self.conn, query))
    }

    fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>> {
        self.map_error(sessions::get(&self.conn, key))
    }

    fn held_sessions(&self, limit: usize) -> Result<Vec<HeldSession>> {
        self.map_error(sessions::held(&self.conn, limit))
    }

    fn resolve(&self, text: &str) -> Result<SessionKey> {
        self.map_error(name_lookup::resolve(&self.conn, text))?
    }

    fn short_names(&self, keys: &[SessionKey], at_least: usize) -> Result<Vec<String>> {
        self.map_error(name_lookup::short_names(&self.conn, keys, at_least))
    }

    fn load(&self, key: &SessionKey, format: u16) -> Result<Option<StoredSession>> {
        // One read transaction keeps row, snapshot and tail consistent.
        let read = self.map_error(self.conn.unchecked_transaction())?;
        let Some(head) = self.map_error(sessions::head(&read, key))? else { return Ok(None) };
        self.map_error(sessions::load(&read, head, format)).map(Some)
    }

    fn rules(&self, digest: Digest) -> Result<Option<String>> {
        self.map_error(records::rules(&self.conn, digest))
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>> {
        self.map_error(events::list(&self.conn, query))
    }

    fn calls(&self, session: &SessionKey, query: &CallQuery) -> Result<Vec<CallRecord>> {
        self.map_error(calls::list(&self.conn, session, query))
    }

    fn spend(&self, from: i64, to: i64) -> Result<Vec<SpendRow>> {
        self.map_error(calls::spend(&self.conn, from, to))
    }

    fn incidents(&self, query: &IncidentQuery) -> Result<Vec<Incident>> {
        self.map_error(records::incidents(&self.conn, query))
    }

    fn incident(&self, id: &str) -> Result<Option<Incident>> {
        self.map_error(records::incident(&self.conn, id))
    }

    fn finding(&self, id: &str) -> Result<Option<FindingRow>> {
        self.map_error(records::finding(&self.conn, id))
    }

    fn findings(&self, session: &SessionKey, limit: usize) -> Result<Vec<FindingRow>> {
        self.map_error(records::findings(&self.conn, session, limit))
    }

    fn notes(&self, session: &SessionKey, limit: usize) -> Result<Vec<NoteRow>> {
        self.map_error(records::notes(&self.conn, session, limit))
    }

    fn decisions(&self, session: Option<&SessionKey>, limit: usize) -> Result<Vec<NoteRow>> {
        self.map_error(records::decisions(&self.conn, session, limit))
    }

    fn messages(&self, limit: usize) -> Result<Vec<Message>> {
        self.map_error(outbox::messages(&self.conn, limit))
    }

    fn deliveries(&self, state: Option<DeliveryState>, limit: usize) -> Result<Vec<Delivery>> {
        self.map_error(outbox::deliveries(&self.conn, state, limit))
    }

    fn due_work(&self, now: Timestamp) -> Result<DueWork> {
        self.map_error(outbox::due(&self.conn, now))
    }

    fn pending_messages(&self) -> Result<u64> {
        self.map_error(outbox::pending(&self.conn))
    }

    fn setting(&self, key: &str) -> Result<Option<String>> {
        self.map_error(records::setting(&self.conn, key))
    }

    fn settings(&self) -> Result<Settings> {
        self.map_error(records::settings(&self.conn))
    }

    fn tombstones(&self, project: Option<&str>, now: Timestamp) -> Result<Vec<Tombstone>> {
        self.map_error(records::tombstones(&self.conn, project, now))
    }

    fn totals(&self, since: Option<Timestamp>) -> Result<StoreTotals> {
        self.map_error(records::totals(&self.conn, since))
    }

    fn change_token(&self) -> Result<ChangeToken> {
        self.map_error(events::change_token(&self.conn))
    }

    fn prune(&mut self, retention: &Retention, now: Timestamp) -> Result<Pruned> {
        prune::prune(self, retention, now)
    }

    fn delete_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64> {
        self.map_error(prune::delete_sessions(&self.conn, sessions))
    }

    fn largest_kept_session(&self) -> Result<Option<KeptSession>> {
        self.map_error(prune::largest_kept(&self.conn))
    }

    fn checkpoint(&mut self) -> Result<bool> {
        if self.read_only {
            return Ok(false);
        }
        self.truncate_wal()
    }

    fn verify_log(&self, time_limit: Option<Duration>) -> Result<LogVerification> {
        self.map_error(chain::verify(&self.conn, time_limit))
    }

    fn check(&self) -> Result<Vec<String>> {
        self.map_error(migrate::check(&self.conn))
    }
}
