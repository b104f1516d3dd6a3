//! Retention. Works in slices of a few milliseconds so that writers are not blocked for long. The further the store is
//! above its limit, the more a slice deletes: one commit for many sessions writes the pages that they share once.

use std::time::{Duration, Instant};

use belay_core::{SessionKey, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::sessions::{key, to_json};
use super::{SqliteStore, records};
use crate::error::Result;
use crate::retention::{Pruned, Retention};
use crate::rows::KeptSession;

/// Events deleted in one step, which takes a few milliseconds.
const MAX_DELETED_EVENTS: u64 = 500;
/// Sessions deleted in one step, with their snapshots and records.
const MAX_DELETED_SESSIONS: u64 = 64;
/// At twice its limit, the store is pruned in steps that take this long together; in proportion below that, and at
/// least one. A hook that waits for the slice still has an answer within its timeout.
const MAX_SLICE_TIME: Duration = Duration::from_millis(20);
/// Pages returned to the file system in one transaction.
const MAX_VACUUMED_PAGES: u64 = 256;
/// While the store is above its limit, a write-ahead log of this size is checkpointed; if the limit is small, one of a
/// quarter of it.
const MAX_WAL_BYTES: u64 = 8 << 20;

pub(super) fn prune(store: &mut SqliteStore, retention: &Retention, now: Timestamp) -> Result<Pruned> {
    checkpoint_above(store, retention.max_bytes)?;
    let conn = &store.conn;
    let mut pruned = Pruned::default();
    // Without this check every call would take the write lock.
    if store.map_error(is_due(conn, retention, now))? {
        pruned = store.map_error(delete(conn, retention, now))?;
    }
    if !pruned.more {
        pruned.more = store.map_error(delete_expired(conn, now - retention.max_age, now))? == MAX_DELETED_EVENTS;
    }
    // While there is more to delete, writers reuse the free pages.
    if !pruned.more {
        (pruned.freed, pruned.more) = store.map_error(vacuum(conn))?;
    }
    if !pruned.more {
        checkpoint_above(store, retention.max_bytes)?;
    }
    let (used, wal) = store.map_error(sizes(&store.conn))?;
    pruned.used = used.saturating_add(wal);
    Ok(pruned)
}

/// Checkpoints the write-ahead log if it and the store exceed the limit together and a checkpoint helps.
fn checkpoint_above(store: &SqliteStore, max_bytes: u64) -> Result<()> {
    let (used, wal) = store.map_error(sizes(&store.conn))?;
    let is_large = wal >= MAX_WAL_BYTES.min(max_bytes / 4);
    if used.saturating_add(wal) > max_bytes && wal > 0 && (is_large || used <= max_bytes) {
        store.truncate_wal()?;
    }
    Ok(())
}

/// The bytes in use in the store and in the write-ahead log.
fn sizes(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    Ok((records::used_bytes(conn)?, records::wal_bytes(conn)))
}

fn is_due(conn: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<bool> {
    Ok(next_deleted(conn)?.is_some() || candidate(conn, retention, now)?.is_some())
}

/// Deletes one slice of sessions and of their events.
fn delete(conn: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<Pruned> {
    let began = Instant::now();
    let (used, wal) = sizes(conn)?;
    let max_time = slice_time(used.saturating_add(wal), retention.max_bytes);
    let mut pruned = Pruned { more: true, ..Pruned::default() };
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    while pruned.more {
        delete_step(&transaction, retention, now, &mut pruned)?;
        if began.elapsed() >= max_time {
            break;
        }
    }
    transaction.commit()?;
    Ok(pruned)
}

/// How long one slice deletes: not at all beyond its first step at the limit, up to [`MAX_SLICE_TIME`] at twice the
/// limit.
fn slice_time(bytes: u64, max_bytes: u64) -> Duration {
    let max_bytes = max_bytes.max(1);
    let above = bytes.saturating_sub(max_bytes).min(max_bytes);
    MAX_SLICE_TIME.mul_f64(above as f64 / max_bytes as f64)
}

fn delete_step(conn: &Connection, retention: &Retention, now: Timestamp, pruned: &mut Pruned) -> rusqlite::Result<()> {
    let (mut events, mut sessions) = (0, 0);
    while events < MAX_DELETED_EVENTS && sessions < MAX_DELETED_SESSIONS {
        // The size of the store is only meaningful once the events of deleted sessions are deleted.
        if let Some(deleted) = delete_events(conn, MAX_DELETED_EVENTS - events)? {
            events += deleted;
        } else if let Some(session) = candidate(conn, retention, now)? {
            delete_session(conn, session)?;
            sessions += 1;
        } else {
            pruned.more = false;
            break;
        }
    }
    pruned.events += events;
    pruned.sessions += sessions;
    Ok(())
}

/// Deletes a session and its records. Its events, possibly many, are deleted later in slices.
fn delete_session(conn: &Connection, session: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO deleted_sessions (session) VALUES (?1)")?.execute([session])?;
    conn.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session]).map(drop)
}

/// Deletes the named sessions and their records, held or not.
pub(super) fn delete_sessions(conn: &Connection, sessions: &[SessionKey]) -> rusqlite::Result<u64> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let mut deleted = 0;
    for key in sessions {
        let found: Option<i64> = transaction
            .prepare_cached("SELECT id FROM sessions WHERE agent = ?1 AND native_id = ?2")?
            .query_row([&key.agent, &key.id], |row| row.get(0))
            .optional()?;
        let Some(session) = found else { continue };
        delete_session(&transaction, session)?;
        // The newest event of the log outlives its session (see `next_deleted`), but not what it says.
        transaction
            .prepare_cached("UPDATE events SET json = '{}' WHERE session = ?1 AND id = (SELECT max(id) FROM events)")?
            .execute([session])?;
        transaction
            .prepare_cached("DELETE FROM tombstones WHERE agent = ?1 AND native_id = ?2")?
            .execute([&key.agent, &key.id])?;
        deleted += 1;
    }
    if deleted > 0 {
        // The outbox is small; one scan serves all sessions.
        let names: Vec<String> = sessions.iter().map(SessionKey::to_string).collect();
        transaction
            .prepare_cached(
                "DELETE FROM messages WHERE json_valid(payload)
                     AND coalesce(
                         (payload ->> '$.subject.session.agent') || ':' || (payload ->> '$.subject.session.id'),
                         (payload ->> '$.session.agent') || ':' || (payload ->> '$.session.id'))
                         IN (SELECT value FROM json_each(?1))",
            )?
            .execute([to_json(&names)?])?;
    }
    transaction.commit()?;
    Ok(deleted)
}

/// The next deleted session that still has events to delete, if any. The newest event of the log stays until there is a
/// newer one, so that event ids are never reused.
fn next_deleted(conn: &Connection) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached(
        "SELECT d.session FROM deleted_sessions d, (SELECT coalesce(max(id), 0) AS newest FROM events)
         WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.session = d.session)
             OR EXISTS (SELECT 1 FROM events e WHERE e.session = d.session AND e.id <> newest)
         ORDER BY d.session LIMIT 1",
    )?
    .query_row([], |row| row.get(0))
    .optional()
}

/// Deletes up to `limit` events of a deleted session; `None` if there is nothing to delete.
fn delete_events(conn: &Connection, limit: u64) -> rusqlite::Result<Option<u64>> {
    let Some(session) = next_deleted(conn)? else { return Ok(None) };
    let events = conn
        .prepare_cached(
            "DELETE FROM events WHERE id IN
                 (SELECT id FROM events WHERE session = ?1 AND id <> (SELECT max(id) FROM events) LIMIT ?2)",
        )?
        .execute(params![session, limit])? as u64;
    // Calls are fewer and smaller than events.
    let calls = conn
        .prepare_cached(
            "DELETE FROM calls WHERE session = ?1
                 AND call IN (SELECT call FROM calls WHERE session = ?1 ORDER BY call LIMIT ?2)",
        )?
        .execute(params![session, limit])? as u64;
    if events < limit && calls < limit {
        conn.prepare_cached(
            "DELETE FROM deleted_sessions WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM events WHERE session = ?1)",
        )?
        .execute([session])?;
    }
    Ok(Some(events))
}

/// Deletes old messages that have no pending delivery, expired tombstones, and old days of the ledger.
fn delete_expired(conn: &Connection, before: Timestamp, now: Timestamp) -> rusqlite::Result<u64> {
    let messages = conn
        .prepare_cached(
            "DELETE FROM messages WHERE id IN
                 (SELECT id FROM messages m WHERE created_at < ?1 AND routed = 1
                      AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message = m.id AND d.state = 'pending')
                  LIMIT ?2)",
        )?
        .execute(params![before.millis(), MAX_DELETED_EVENTS])?;
    conn.prepare_cached("DELETE FROM tombstones WHERE expires_at <= ?1")?.execute([now.millis()])?;
    conn.prepare_cached("DELETE FROM ledger WHERE day < ?1")?.execute([before.millis().div_euclid(86_400_000)])?;
    conn.prepare_cached("DELETE FROM spend WHERE hour < ?1")?.execute([before.millis().div_euclid(3_600_000)])?;
    Ok(messages as u64)
}

/// The next session to delete: the one idle longest that exceeds a limit.
fn candidate(conn: &Connection, retention: &Retention, now: Timestamp) -> rusqlite::Result<Option<i64>> {
    let (used, wal) = sizes(conn)?;
    // A write-ahead log that a reader keeps from being truncated must not cause the deletion of more than half of the
    // history.
    let too_big = used.saturating_add(wal.min(retention.max_bytes / 2)) > retention.max_bytes;
    let before = if too_big { i64::MAX } else { (now - retention.max_age).millis() };
    conn.prepare_cached(&format!(
        "SELECT id FROM sessions s WHERE last_at < ?1 AND NOT ({KEPT}) ORDER BY last_at, id LIMIT 1"
    ))?
    .query_row([before], |row| row.get(0))
    .optional()
}

/// The sessions `s` that are never deleted. The newest event stays, so that event ids are never reused.
const KEPT: &str = "s.held <> 0
    OR EXISTS (SELECT 1 FROM incidents i WHERE i.session = s.id AND i.closed_at IS NULL)
    OR s.id = coalesce((SELECT session FROM events ORDER BY id DESC LIMIT 1), 0)";

pub(super) fn largest_kept(conn: &Connection) -> rusqlite::Result<Option<KeptSession>> {
    conn.prepare_cached(&format!(
        "SELECT agent, native_id, version FROM sessions s WHERE {KEPT} ORDER BY version DESC LIMIT 1"
    ))?
    .query_row([], |row| Ok(KeptSession { session: key(row, 0)?, events: row.get(2)? }))
    .optional()
}

/// Returns the bytes freed and whether free pages remain.
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

#[cfg(test)]
mod tests {
    use super::{MAX_SLICE_TIME, slice_time};

    #[test]
    fn the_further_above_its_limit_the_larger_a_slice() {
        let times = [500, 1000, 1500, 2000, 9000].map(|bytes| slice_time(bytes, 1000).as_millis());
        assert_eq!(times, [0, 0, 10, 20, 20]);
        assert_eq!((slice_time(9000, u64::MAX).as_millis(), slice_time(9, 0)), (0, MAX_SLICE_TIME));
    }
}
