//! Write transactions.

use std::time::Duration;

use belay_core::effect::Spend;
use belay_core::event::TokenCost;
use belay_core::session::CallRecord;
use belay_core::{Digest, Incident, Intervention, SessionKey, SessionState, Timestamp};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::sessions::{self, to_json};
use super::{SqliteStore, calls, error, events, outbox, records};
use crate::error::{Result, StoreError};
use crate::outbox::{AttemptResult, Delivery, NewMessage};
use crate::rows::{NewEvent, NoteRow, SpendRow, Tombstone};
use crate::session::{HeldSession, SessionHead, SessionId, SessionUpdate, Snapshot, StoredSession};
use crate::traits::{Durability, Transaction};

/// Maximum number of ancestors that a session's spend is added to.
const MAX_DEPTH: usize = 32;

pub(super) struct SqliteTransaction<'a> {
    store: &'a SqliteStore,
    open: bool,
}

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(store: &'a SqliteStore, durability: Durability) -> Result<Self> {
        if store.read_only {
            return Err(StoreError::ReadOnly(format!("{} was opened read-only", store.path.display())));
        }
        if store.durability.get() != durability {
            let sync = match durability {
                Durability::ProcessCrash => "NORMAL",
                Durability::PowerCut => "FULL",
            };
            store.map_error(store.conn.pragma_update(None, "synchronous", sync))?;
            store.durability.set(durability);
        }
        // With the lock taken first, nothing read later can become stale.
        store.map_error(execute(&store.conn, "BEGIN IMMEDIATE"))?;
        Ok(Self { store, open: true })
    }

    fn conn(&self) -> &'a Connection {
        &self.store.conn
    }

    fn map_error<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        self.store.map_error(result)
    }

    fn ancestors(&self, session: SessionId) -> Result<Vec<SessionId>> {
        let mut found = Vec::new();
        let mut at = session;
        while found.len() < MAX_DEPTH {
            let parent = self.map_error(
                self.conn()
                    .prepare_cached("SELECT parent FROM sessions WHERE id = ?1")
                    .and_then(|mut s| s.query_row([at.0], |row| row.get::<_, Option<i64>>(0)).optional()),
            )?;
            match parent.flatten().map(SessionId) {
                Some(parent) if parent != session && !found.contains(&parent) => found.push(parent),
                _ => break,
            }
            at = found[found.len() - 1];
        }
        Ok(found)
    }
}

fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        // SQLite rolls back by itself on some errors, such as a full disk.
        if self.open && !self.conn().is_autocommit() {
            let _ = execute(self.conn(), "ROLLBACK");
        }
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn session_head(&mut self, key: &SessionKey) -> Result<Option<SessionHead>> {
        self.map_error(sessions::head(self.conn(), key))
    }

    fn version(&mut self, session: SessionId) -> Result<Option<u64>> {
        self.map_error(
            self.conn()
                .prepare_cached("SELECT version FROM sessions WHERE id = ?1")
                .and_then(|mut s| s.query_row([session.0], |row| row.get(0)).optional()),
        )
    }

    fn held_sessions(&mut self, limit: usize) -> Result<Vec<HeldSession>> {
        self.map_error(sessions::held(self.conn(), limit))
    }

    fn load(&mut self, head: SessionHead, format: u16) -> Result<StoredSession> {
        self.map_error(sessions::load(self.conn(), head, format))
    }

    fn create(&mut self, key: &SessionKey, at: Timestamp) -> Result<SessionHead> {
        self.map_error(
            self.conn()
                .prepare_cached("INSERT INTO sessions (agent, native_id, last_at) VALUES (?1, ?2, ?3)")
                .and_then(|mut s| s.execute(params![key.agent, key.id, at.millis()])),
        )?;
        let id = SessionId(self.conn().last_insert_rowid());
        Ok(SessionHead { id, parent: None, version: 0, snapshot: 0, state: SessionState::Active, listed: at })
    }

    fn set_parent(&mut self, child: SessionId, parent: SessionId) -> Result<bool> {
        if child == parent || self.ancestors(parent)?.contains(&child) {
            return Ok(false);
        }
        self.map_error(
            self.conn()
                .prepare_cached("UPDATE sessions SET parent = ?2 WHERE id = ?1")
                .and_then(|mut s| s.execute([child.0, parent.0])),
        )?;
        Ok(true)
    }

    fn append(&mut self, session: SessionId, event: &NewEvent<'_>) -> Result<bool> {
        events::append(self.conn(), session, event).map_err(|error| match error {
            // The sequence number is taken: the session has changed since it was read.
            rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::ConstraintViolation => {
                StoreError::Conflict(session.0)
            }
            error => error::to_store_error(&self.store.path, error),
        })
    }

    fn save(&mut self, session: SessionId, update: &SessionUpdate<'_>) -> Result<()> {
        let details = update.details;
        let saved = self.map_error((|| {
            // State and time are indexed. Writing them only when they change saves index pages.
            if let Some(state) = update.state {
                let held = state.is_paused() || state.is_killed();
                self.conn()
                    .prepare_cached("UPDATE sessions SET state = ?2, held = ?3, state_json = ?4 WHERE id = ?1")?
                    .execute(params![session.0, state.as_str(), held, to_json(state)?])?;
            }
            if let Some(listed) = update.listed {
                self.conn()
                    .prepare_cached("UPDATE sessions SET last_at = ?2 WHERE id = ?1 AND last_at < ?2")?
                    .execute([session.0, listed.millis()])?;
            }
            self.conn()
                .prepare_cached(
                    "UPDATE sessions SET version = ?3, project = ?4, calls = ?5, tokens = ?6, cost_micros = ?7,
                            details_json = ?8,
                            chain = coalesce((SELECT digest FROM events WHERE session = ?1 AND seq = ?3), 0)
                     WHERE id = ?1 AND version = ?2",
                )?
                .execute(params![
                    session.0,
                    update.from,
                    update.to,
                    details.facts.project,
                    to_signed(details.counters.calls),
                    to_signed(details.spent.usage.total()),
                    to_signed(details.spent.cost_micros),
                    to_json(details)?
                ])
        })())?;
        if saved == 1 { Ok(()) } else { Err(StoreError::Conflict(session.0)) }
    }

    fn snapshot(&mut self, session: SessionId, snapshot: &Snapshot) -> Result<()> {
        self.map_error((|| {
            let conn = self.conn();
            // `sessions.snapshot` still names the previous snapshot, which is retained.
            conn.prepare_cached(
                "DELETE FROM snapshots WHERE session = ?1 AND seq < (SELECT snapshot FROM sessions WHERE id = ?1)",
            )?
            .execute([session.0])?;
            conn.prepare_cached(
                "INSERT OR REPLACE INTO snapshots (session, seq, format, rules, data) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                session.0,
                snapshot.seq,
                snapshot.format,
                snapshot.rules.0.cast_signed(),
                snapshot.data
            ])?;
            conn.prepare_cached("UPDATE sessions SET snapshot = ?2 WHERE id = ?1")?
                .execute(params![session.0, snapshot.seq])
                .map(drop)
        })())
    }

    fn charge_ancestors(&mut self, session: SessionId, spent: &Spend) -> Result<()> {
        for ancestor in self.ancestors(session)? {
            let mut total = self.descendant_spend(ancestor)?;
            total.add(&Spend { millis: 0, ..*spent });
            self.map_error((|| {
                self.conn()
                    .prepare_cached("UPDATE sessions SET descendants_json = ?2 WHERE id = ?1")?
                    .execute(params![ancestor.0, to_json(&total)?])
                    .map(drop)
            })())?;
        }
        Ok(())
    }

    fn descendant_spend(&mut self, session: SessionId) -> Result<Spend> {
        self.map_error(
            self.conn()
                .prepare_cached("SELECT descendants_json FROM sessions WHERE id = ?1")
                .and_then(|mut s| s.query_row([session.0], |row| sessions::read_descendant_spend(row, 0))),
        )
    }

    fn add_ledger_spend(&mut self, day: i64, name: &str, paid: &TokenCost) -> Result<TokenCost> {
        self.map_error(
            self.conn()
                .prepare_cached(
                    // A sum beyond 64 bits becomes REAL, which the table rejects.
                    "INSERT INTO ledger (day, name, tokens, cost_micros) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET
                         tokens = iif(tokens > ?5 - excluded.tokens, ?5, tokens + excluded.tokens),
                         cost_micros = iif(cost_micros > ?5 - excluded.cost_micros, ?5,
                                           cost_micros + excluded.cost_micros)
                     RETURNING tokens, cost_micros",
                )
                .and_then(|mut s| {
                    let (tokens, cost_micros) = (to_signed(paid.tokens), to_signed(paid.cost_micros));
                    s.query_row(params![day, name, tokens, cost_micros, i64::MAX], |row| {
                        Ok(TokenCost { tokens: row.get(0)?, cost_micros: row.get(1)? })
                    })
                }),
        )
    }

    fn add_spend(&mut self, spend: &SpendRow) -> Result<()> {
        self.map_error(calls::add_spend(self.conn(), spend))
    }

    fn put_call(&mut self, session: SessionId, call: &CallRecord) -> Result<()> {
        self.map_error(calls::put(self.conn(), session, call))
    }

    fn rules(&mut self, digest: Digest) -> Result<Option<String>> {
        self.map_error(records::rules(self.conn(), digest))
    }

    fn put_rules(&mut self, digest: Digest, json: &str) -> Result<()> {
        self.map_error(
            self.conn()
                .prepare_cached("INSERT INTO rules (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
                .and_then(|mut s| s.execute(params![digest.0.cast_signed(), json]).map(drop)),
        )
    }

    fn incident(&mut self, id: &str) -> Result<Option<Incident>> {
        self.map_error(records::incident(self.conn(), id))
    }

    fn put_incident(&mut self, session: SessionId, incident: &Incident) -> Result<()> {
        self.map_error((|| {
            self.conn()
                .prepare_cached(
                    "INSERT INTO incidents (id, session, opened_at, closed_at, json) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (id) DO UPDATE SET closed_at = excluded.closed_at, json = excluded.json",
                )?
                .execute(params![
                    incident.id,
                    session.0,
                    incident.opened_at.millis(),
                    incident.closed_at.map(Timestamp::millis),
                    to_json(incident)?
                ])
                .map(drop)
        })())
    }

    fn put_finding(&mut self, session: SessionId, intervention: &Intervention) -> Result<()> {
        self.map_error((|| {
            self.conn()
                .prepare_cached(
                    "INSERT INTO findings (id, session, at, json) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (id) DO UPDATE SET at = excluded.at, json = excluded.json",
                )?
                .execute(params![
                    intervention.finding.id,
                    session.0,
                    intervention.finding.at.millis(),
                    to_json(intervention)?
                ])
                .map(drop)
        })())
    }

    fn put_note(&mut self, session: SessionId, note: &NoteRow) -> Result<()> {
        self.map_error((|| {
            self.conn()
                .prepare_cached(
                    "INSERT INTO notes (session, at, decision_json, author, text) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![session.0, note.at.millis(), to_json(&note.decision)?, note.by, note.text])
                .map(drop)
        })())
    }

    fn put_setting(&mut self, key: &str, value: Option<&str>) -> Result<()> {
        self.map_error((|| match value {
            Some(value) => self
                .conn()
                .prepare_cached(
                    "INSERT INTO settings (key, value) VALUES (?1, ?2)
                     ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                )?
                .execute([key, value]),
            None => self.conn().prepare_cached("DELETE FROM settings WHERE key = ?1")?.execute([key]),
        })())
        .map(drop)
    }

    fn put_tombstone(&mut self, tombstone: &Tombstone) -> Result<()> {
        self.map_error((|| {
            self.conn()
                .prepare_cached(
                    "INSERT OR REPLACE INTO tombstones
                         (agent, native_id, project, task, pattern, message, at, expires_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    tombstone.session.agent,
                    tombstone.session.id,
                    tombstone.project,
                    tombstone.task,
                    tombstone.pattern,
                    tombstone.message,
                    tombstone.at.millis(),
                    tombstone.expires_at.millis()
                ])
                .map(drop)
        })())
    }

    fn enqueue(&mut self, message: &NewMessage) -> Result<bool> {
        self.map_error(outbox::enqueue(self.conn(), message))
    }

    fn route_messages(&mut self, channels: &[&str], now: Timestamp, limit: usize) -> Result<usize> {
        self.map_error(outbox::route(self.conn(), channels, now, limit))
    }

    fn skip_other_channels(&mut self, channels: &[&str], now: Timestamp) -> Result<usize> {
        self.map_error(outbox::skip_other_channels(self.conn(), channels, now))
    }

    fn claim_delivery(&mut self, channel: &str, now: Timestamp, lease: Duration) -> Result<Option<Delivery>> {
        self.map_error(outbox::claim(self.conn(), channel, now, lease))
    }

    fn record_attempt(&mut self, delivery: &Delivery, result: &AttemptResult, now: Timestamp) -> Result<()> {
        self.map_error(outbox::record(self.conn(), delivery, result, now))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.map_error(execute(self.conn(), "COMMIT"))?;
        self.open = false;
        Ok(())
    }
}

/// Converts to SQLite's signed integers.
pub(super) fn to_signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
