//! The embedded backend: one SQLite file in WAL mode.
//!
//! One connection per [`SqliteStore`]; open another for another thread. Only the module `open` creates connections, so that all
//! of them have the same settings.

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

use belay_core::{Digest, Incident, SessionKey, Timestamp};
use rusqlite::Connection;

pub use open::OpenOptions;

use crate::error::Result;
use crate::outbox::{Message, MessageState};
use crate::retention::{Pruned, Retention};
use crate::rows::{EventQuery, EventRow, FindingRow, IncidentQuery, NoteRow, Settings, StoreTotals, Tombstone};
use crate::session::{Page, SessionQuery, SessionRow, StoredSession};
use crate::traits::{ChangeToken, Durability, Store, Transaction};

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    read_only: bool,
    /// The current sync mode of the connection; changing it costs a statement.
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

    fn explain<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|e| error::to_store_error(&self.path, e))
    }
}

impl Store for SqliteStore {
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>> {
        Ok(Box::new(transaction::SqliteTransaction::begin(self, durability)?))
    }

    fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRow>> {
        self.explain(sessions::list(&self.conn, query))
    }

    fn session(&self, key: &SessionKey) -> Result<Option<SessionRow>> {
        self.explain(sessions::get(&self.conn, key))
    }

    fn resolve(&self, text: &str) -> Result<SessionKey> {
        self.explain(name_lookup::resolve(&self.conn, text))?
    }

    fn short_names(&self, keys: &[SessionKey], at_least: usize) -> Result<Vec<String>> {
        self.explain(name_lookup::short_names(&self.conn, keys, at_least))
    }

    fn load(&self, key: &SessionKey, format: u16) -> Result<Option<StoredSession>> {
        // One read transaction, so that row, snapshot and tail are consistent.
        let read = self.explain(self.conn.unchecked_transaction())?;
        let Some(head) = self.explain(sessions::head(&read, key))? else { return Ok(None) };
        self.explain(sessions::load(&read, head, format)).map(Some)
    }

    fn rules(&self, digest: Digest) -> Result<Option<String>> {
        self.explain(records::rules(&self.conn, digest))
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<EventRow>> {
        self.explain(events::list(&self.conn, query))
    }

    fn incidents(&self, query: &IncidentQuery) -> Result<Vec<Incident>> {
        self.explain(records::incidents(&self.conn, query))
    }

    fn incident(&self, id: &str) -> Result<Option<Incident>> {
        self.explain(records::incident(&self.conn, id))
    }

    fn finding(&self, id: &str) -> Result<Option<FindingRow>> {
        self.explain(records::finding(&self.conn, id))
    }

    fn findings(&self, session: &SessionKey, limit: usize) -> Result<Vec<FindingRow>> {
        self.explain(records::findings(&self.conn, session, limit))
    }

    fn notes(&self, session: &SessionKey, limit: usize) -> Result<Vec<NoteRow>> {
        self.explain(records::notes(&self.conn, session, limit))
    }

    fn outbox(&self, state: Option<MessageState>, limit: usize) -> Result<Vec<Message>> {
        self.explain(outbox::list(&self.conn, state, limit))
    }

    fn setting(&self, key: &str) -> Result<Option<String>> {
        self.explain(records::setting(&self.conn, key))
    }

    fn settings(&self) -> Result<Settings> {
        self.explain(records::settings(&self.conn))
    }

    fn tombstones(&self, project: Option<&str>, now: Timestamp) -> Result<Vec<Tombstone>> {
        self.explain(records::tombstones(&self.conn, project, now))
    }

    fn totals(&self, since: Option<Timestamp>) -> Result<StoreTotals> {
        self.explain(records::totals(&self.conn, since))
    }

    fn change_token(&self) -> Result<ChangeToken> {
        self.explain(events::change_token(&self.conn))
    }

    fn prune(&mut self, retention: &Retention, now: Timestamp) -> Result<Pruned> {
        prune::prune(self, retention, now)
    }

    fn check(&self) -> Result<Vec<String>> {
        self.explain(migrate::check(&self.conn))
    }
}
