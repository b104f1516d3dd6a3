//! Cleaning up, a slice at a time, so that no writer waits long.

use belay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::pack::unpack;
use super::{SqliteStore, records};
use crate::error::Result;
use crate::retention::{Pruned, Retention};

/// Events deleted under one lock: a few milliseconds.
const MAX_DELETED_EVENTS: u64 = 500;
/// Pages given back to the disk under one lock.
const MAX_VACUUMED_PAGES: u64 = 256;

pub(super) fn prune(store: &mut SqliteStore, retention: &Retention, now: Timestamp) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    let conn = &store.conn;
    match store.explain(clear(conn))? {
        Some(events) => {
            pruned.events = events;
            pruned.more = true;
        }
        // Only when all graves are empty is it known how much room there is.
        None => {
            if let Some(session) = store.explain(candidate(conn, retention, now))? {
                store.explain(bury(conn, session))?;
                pruned.sessions = 1;
                pruned.more = true;
            }
        }
    }
    pruned.more |= store.explain(leftovers(conn, now - retention.max_age, now))? == MAX_DELETED_EVENTS;
    let (freed, left) = store.explain(vacuum(conn))?;
    pruned.freed = freed;
    pruned.more |= left;
    Ok(pruned)
}

/// The session is gone at once, with all that belongs to it; its events, which may be many, go bit by bit.
fn bury(conn: &Connection, session: i64) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached("INSERT INTO graves (session, tip) SELECT id, tip FROM sessions WHERE id = ?1")?
        .execute([session])?;
    transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session])?;
    transaction.commit()
}

/// Takes a slice of what lies in the graves; `None` when there are none.
fn clear(conn: &Connection) -> rusqlite::Result<Option<u64>> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let grave = transaction
        .prepare_cached("SELECT session, tip FROM graves ORDER BY session LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((session, mut tip)): Option<(i64, Option<i64>)> = grave else { return Ok(None) };
    let mut events = 0;
    while let Some(ord) = tip.filter(|_| events < MAX_DELETED_EVENTS) {
        let row = transaction
            .prepare_cached("DELETE FROM events WHERE ord = ?1 RETURNING prev, earlier")?
            .query_row([ord], |row| Ok((row.get(0)?, 1 + earlier(row.get_ref(1)?.as_blob_or_null()?))))
            .optional()?;
        let (prev, count) = row.unwrap_or_default();
        tip = prev;
        events += count;
    }
    let filed = transaction
        .prepare_cached("DELETE FROM filed WHERE id IN (SELECT id FROM filed WHERE session = ?1 LIMIT ?2)")?
        .execute(params![session, MAX_DELETED_EVENTS])? as u64;
    if tip.is_none() && filed < MAX_DELETED_EVENTS {
        transaction.prepare_cached("DELETE FROM graves WHERE session = ?1")?.execute([session])?;
    } else {
        transaction.prepare_cached("UPDATE graves SET tip = ?2 WHERE session = ?1")?.execute(params![session, tip])?;
    }
    transaction.commit()?;
    Ok(Some(events))
}

/// How many events a row has before its last.
fn earlier(packed: Option<&[u8]>) -> u64 {
    unpack(packed.unwrap_or_default()).map_or(0, |events| events.len() as u64)
}

/// Messages that were sent or given up long ago, and tombstones that have expired.
fn leftovers(conn: &Connection, before: Timestamp, now: Timestamp) -> rusqlite::Result<u64> {
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

/// The session that has been idle longest, if it has to go.
fn candidate(conn: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<Option<i64>> {
    let too_big = records::bytes(conn)? > retention.max_bytes;
    let before = if too_big { i64::MAX } else { (now - retention.max_age).millis() };
    conn.prepare_cached(
        "SELECT id FROM sessions s WHERE last_at < ?1 AND held = 0
             AND NOT EXISTS (SELECT 1 FROM incidents i WHERE i.session = s.id AND i.closed_at IS NULL)
             -- Numbers of the log are never given twice, so its newest event stays.
             AND id <> coalesce((SELECT session FROM events ORDER BY ord DESC LIMIT 1), 0)
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
