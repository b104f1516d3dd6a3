//! Retention. Works in slices of a few milliseconds, so that no writer waits long.

use belay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{SqliteStore, records};
use crate::error::Result;
use crate::retention::{Pruned, Retention};

/// Events deleted under one lock: a few milliseconds.
const MAX_DELETED_EVENTS: u64 = 500;
/// Pages returned to the file system under one lock.
const MAX_VACUUMED_PAGES: u64 = 256;

pub(super) fn prune(store: &mut SqliteStore, retention: &Retention, now: Timestamp) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    let conn = &store.conn;
    match store.explain(delete_events(conn))? {
        Some(events) => {
            pruned.events = events;
            pruned.more = true;
        }
        // The size of the store is known only after the events of deleted sessions are gone.
        None => {
            if let Some(session) = store.explain(candidate(conn, retention, now))? {
                store.explain(delete_session(conn, session))?;
                pruned.sessions = 1;
                pruned.more = true;
            }
        }
    }
    pruned.more |= store.explain(delete_expired(conn, now - retention.max_age, now))? == MAX_DELETED_EVENTS;
    let (freed, left) = store.explain(vacuum(conn))?;
    pruned.freed = freed;
    pruned.more |= left;
    Ok(pruned)
}

/// Deletes the session and its records at once; its events, which may be many, are deleted in slices.
fn delete_session(conn: &Connection, session: i64) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    transaction.prepare_cached("INSERT INTO deleted_sessions (session) VALUES (?1)")?.execute([session])?;
    transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session])?;
    transaction.commit()
}

/// Deletes a slice of the events of deleted sessions; `None` if there are no deleted sessions.
fn delete_events(conn: &Connection) -> rusqlite::Result<Option<u64>> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let session: Option<i64> = transaction
        .prepare_cached("SELECT session FROM deleted_sessions ORDER BY session LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(session) = session else { return Ok(None) };
    let events = transaction
        .prepare_cached("DELETE FROM events WHERE id IN (SELECT id FROM events WHERE session = ?1 LIMIT ?2)")?
        .execute(params![session, MAX_DELETED_EVENTS])? as u64;
    if events < MAX_DELETED_EVENTS {
        transaction.prepare_cached("DELETE FROM deleted_sessions WHERE session = ?1")?.execute([session])?;
    }
    transaction.commit()?;
    Ok(Some(events))
}

/// Deletes old messages that were sent or abandoned, expired tombstones, and old days of the ledger.
fn delete_expired(conn: &Connection, before: Timestamp, now: Timestamp) -> rusqlite::Result<u64> {
    let messages = conn
        .prepare_cached(
            "DELETE FROM outbox WHERE id IN
                 (SELECT id FROM outbox WHERE state IN ('sent', 'failed') AND created_at < ?1 LIMIT ?2)",
        )?
        .execute(params![before.millis(), MAX_DELETED_EVENTS])?;
    conn.prepare_cached("DELETE FROM tombstones WHERE expires_at <= ?1")?.execute([now.millis()])?;
    conn.prepare_cached("DELETE FROM ledger WHERE day < ?1")?.execute([before.millis().div_euclid(86_400_000)])?;
    Ok(messages as u64)
}

/// The session that has been idle longest, if it has to be deleted.
fn candidate(conn: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<Option<i64>> {
    let too_big = records::bytes(conn)? > retention.max_bytes;
    let before = if too_big { i64::MAX } else { (now - retention.max_age).millis() };
    conn.prepare_cached(
        "SELECT id FROM sessions s WHERE last_at < ?1 AND held = 0
             AND NOT EXISTS (SELECT 1 FROM incidents i WHERE i.session = s.id AND i.closed_at IS NULL)
             -- The newest event stays, so that ids of events are never reused.
             AND id <> coalesce((SELECT session FROM events ORDER BY id DESC LIMIT 1), 0)
         ORDER BY last_at, id LIMIT 1",
    )?
    .query_row([before], |row| row.get(0))
    .optional()
}

fn vacuum(conn: &Connection) -> rusqlite::Result<(u64, bool)> {
    let free = || conn.prepare_cached("PRAGMA freelist_count")?.query_row([], |row| row.get::<_, u64>(0));
    let size: u64 = conn.prepare_cached("PRAGMA page_size")?.query_row([], |row| row.get(0))?;
    let before = free()?;
    if before == 0 {
        return Ok((0, false));
    }
    let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({MAX_VACUUMED_PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    let after = free()?;
    Ok((before.saturating_sub(after) * size, after > 0 && after < before))
}
