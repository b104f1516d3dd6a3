//! Queries for incidents, findings, notes, tombstones, settings and totals.

use belay_core::{Digest, Incident, SessionKey, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::outbox;
use super::sessions::{json, key};
use crate::rows::{FindingRow, IncidentQuery, NoteRow, Settings, StoreTotals, Tombstone};

/// The session whose key is in `?1` and `?2`.
const OF_SESSION: &str = "(SELECT id FROM sessions WHERE agent = ?1 AND native_id = ?2)";

/// The sessions that count in totals: all but those of the guided trial.
const COUNTED: &str = "sessions.agent <> 'trial'";

fn limit_or_default(limit: usize) -> i64 {
    i64::try_from(if limit == 0 { 100 } else { limit }).unwrap_or(i64::MAX)
}

pub(super) fn rules(conn: &Connection, digest: Digest) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT json FROM rules WHERE digest = ?1")?
        .query_row([digest.0.cast_signed()], |row| row.get(0))
        .optional()
}

pub(super) fn incidents(conn: &Connection, query: &IncidentQuery) -> rusqlite::Result<Vec<Incident>> {
    let mut sql = "SELECT json FROM incidents WHERE 1".to_owned();
    let mut values: Vec<Value> = Vec::new();
    if let Some(session) = &query.session {
        sql.push_str(" AND session = (SELECT id FROM sessions WHERE agent = ? AND native_id = ?)");
        values.extend([session.agent.to_string().into(), session.id.to_string().into()]);
    }
    if !query.closed {
        sql.push_str(" AND closed_at IS NULL");
    }
    if let Some(since) = query.since {
        sql.push_str(" AND (closed_at IS NULL OR closed_at >= ?)");
        values.push(since.millis().into());
    }
    sql.push_str(" ORDER BY opened_at DESC, id LIMIT ?");
    values.push(limit_or_default(query.limit).into());
    conn.prepare_cached(&sql)?.query_map(params_from_iter(values), |row| json(row, 0))?.collect()
}

pub(super) fn incident(conn: &Connection, id: &str) -> rusqlite::Result<Option<Incident>> {
    conn.prepare_cached("SELECT json FROM incidents WHERE id = ?1")?.query_row([id], |row| json(row, 0)).optional()
}

fn read_finding(row: &Row<'_>) -> rusqlite::Result<FindingRow> {
    Ok(FindingRow { session: key(row, 0)?, intervention: json(row, 2)? })
}

pub(super) fn finding(conn: &Connection, id: &str) -> rusqlite::Result<Option<FindingRow>> {
    conn.prepare_cached(
        "SELECT s.agent, s.native_id, f.json FROM findings f JOIN sessions s ON s.id = f.session WHERE f.id = ?1",
    )?
    .query_row([id], read_finding)
    .optional()
}

pub(super) fn findings(conn: &Connection, of: &SessionKey, limit: usize) -> rusqlite::Result<Vec<FindingRow>> {
    conn.prepare_cached(&format!(
        "SELECT ?1, ?2, json FROM findings WHERE session = {OF_SESSION} ORDER BY at DESC, id LIMIT ?3"
    ))?
    .query_map(params![of.agent, of.id, limit_or_default(limit)], read_finding)?
    .collect()
}

pub(super) fn notes(conn: &Connection, of: &SessionKey, limit: usize) -> rusqlite::Result<Vec<NoteRow>> {
    conn.prepare_cached(&format!(
        "SELECT ?1, ?2, at, decision_json, author, text FROM notes WHERE session = {OF_SESSION} AND text <> ''
         ORDER BY at DESC, id DESC LIMIT ?3"
    ))?
    .query_map(params![of.agent, of.id, limit_or_default(limit)], read_note)?
    .collect()
}

pub(super) fn decisions(conn: &Connection, of: Option<&SessionKey>, limit: usize) -> rusqlite::Result<Vec<NoteRow>> {
    let mut sql = "SELECT s.agent, s.native_id, n.at, n.decision_json, n.author, n.text
                   FROM notes n JOIN sessions s ON s.id = n.session"
        .to_owned();
    let mut values: Vec<Value> = Vec::new();
    if let Some(session) = of {
        sql.push_str(" WHERE n.session = (SELECT id FROM sessions WHERE agent = ? AND native_id = ?)");
        values.extend([session.agent.to_string().into(), session.id.to_string().into()]);
    }
    sql.push_str(" ORDER BY n.id DESC LIMIT ?");
    values.push(limit_or_default(limit).into());
    conn.prepare_cached(&sql)?.query_map(params_from_iter(values), read_note)?.collect()
}

fn read_note(row: &Row<'_>) -> rusqlite::Result<NoteRow> {
    Ok(NoteRow {
        session: key(row, 0)?,
        at: Timestamp::from_millis(row.get(2)?),
        decision: json(row, 3)?,
        by: row.get(4)?,
        text: row.get(5)?,
    })
}

pub(super) fn setting(conn: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM settings WHERE key = ?1")?.query_row([name], |row| row.get(0)).optional()
}

pub(super) fn settings(conn: &Connection) -> rusqlite::Result<Settings> {
    conn.prepare_cached("SELECT key, value FROM settings")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

pub(super) fn tombstones(conn: &Connection, project: Option<&str>, now: Timestamp) -> rusqlite::Result<Vec<Tombstone>> {
    conn.prepare_cached(
        "SELECT agent, native_id, project, task, pattern, message, at, expires_at FROM tombstones
         WHERE (?1 IS NULL OR project = ?1) AND expires_at > ?2 ORDER BY at DESC, id DESC",
    )?
    .query_map(params![project, now.millis()], |row| {
        Ok(Tombstone {
            session: key(row, 0)?,
            project: row.get(2)?,
            task: row.get(3)?,
            pattern: row.get(4)?,
            message: row.get(5)?,
            at: Timestamp::from_millis(row.get(6)?),
            expires_at: Timestamp::from_millis(row.get(7)?),
        })
    })?
    .collect()
}

pub(super) fn totals(conn: &Connection, since: Option<Timestamp>) -> rusqlite::Result<StoreTotals> {
    let mut totals = StoreTotals::default();
    // sum() fails beyond 64 bits, so halves are added up.
    let mut by_state = conn.prepare_cached(&format!(
        "SELECT state, count(*), sum(version), sum(calls >> 32), sum(calls & 0xffffffff), sum(tokens >> 32),
                sum(tokens & 0xffffffff), sum(cost_micros >> 32), sum(cost_micros & 0xffffffff)
         FROM sessions WHERE last_at >= ?1 AND {COUNTED} GROUP BY state",
    ))?;
    let mut rows = by_state.query([since.map_or(i64::MIN, Timestamp::millis)])?;
    while let Some(row) = rows.next()? {
        totals.sessions.insert(row.get(0)?, row.get(1)?);
        totals.events += row.get::<_, u64>(2)?;
        totals.calls = totals.calls.saturating_add(sum_of_halves(row, 3)?);
        totals.tokens = totals.tokens.saturating_add(sum_of_halves(row, 5)?);
        totals.cost_micros = totals.cost_micros.saturating_add(sum_of_halves(row, 7)?);
    }
    totals.unpriced_micros = unpriced_micros(conn, since)?;
    let count = |sql: &str| conn.prepare_cached(sql)?.query_row([], |row| row.get::<_, u64>(0));
    totals.open_incidents = count(&format!(
        "SELECT count(*) FROM incidents i JOIN sessions ON sessions.id = i.session WHERE i.closed_at IS NULL AND {COUNTED}"
    ))?;
    totals.outbox = outbox::pending(conn)?;
    totals.bytes = used_bytes(conn)?.saturating_add(wal_bytes(conn));
    Ok(totals)
}

/// Few sessions have such a cost, so it has no column of its own.
fn unpriced_micros(conn: &Connection, since: Option<Timestamp>) -> rusqlite::Result<u64> {
    conn.prepare_cached(&format!(
        "SELECT coalesce(sum(micros >> 32), 0), coalesce(sum(micros & 0xffffffff), 0)
         FROM (SELECT json_extract(details_json, '$.spent.unpriced_micros') AS micros FROM sessions
               WHERE last_at >= ?1 AND instr(details_json, '\"unpriced_micros\":') AND json_valid(details_json)
                   AND {COUNTED})",
    ))?
    .query_row([since.map_or(i64::MIN, Timestamp::millis)], |row| sum_of_halves(row, 0))
}

/// The sum of a column from the sums of its upper and lower 32 bits.
fn sum_of_halves(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let (upper, lower) = (row.get::<_, u64>(column)?, row.get::<_, u64>(column + 1)?);
    let sum = (u128::from(upper) << 32) + u128::from(lower);
    Ok(u64::try_from(sum).unwrap_or(u64::MAX))
}

/// Bytes in use, excluding free pages.
pub(super) fn used_bytes(conn: &Connection) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    )?
    .query_row([], |row| row.get(0))
}

/// The size of the write-ahead log; 0 if there is none.
pub(super) fn wal_bytes(conn: &Connection) -> u64 {
    let wal = conn.path().filter(|path| !path.is_empty()).map(|path| format!("{path}-wal"));
    wal.and_then(|wal| std::fs::metadata(wal).ok()).map_or(0, |found| found.len())
}
