//! The event log: append, read and change detection.

use std::hash::{DefaultHasher, Hash, Hasher};

use belay_core::{Digest, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::chain;
use super::sessions::{key, to_json};
use crate::rows::{EventQuery, EventRow, NewEvent, Order};
use crate::session::SessionId;
use crate::traits::ChangeToken;

const SELECT: &str = "SELECT e.id, s.agent, s.native_id, e.seq, e.at, e.kind, e.rules, e.json
                      FROM events e JOIN sessions s ON s.id = e.session";

fn read(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        ord: row.get(0)?,
        session: key(row, 1)?,
        seq: row.get(3)?,
        at: Timestamp::from_millis(row.get(4)?),
        kind: row.get(5)?,
        rules: Digest(row.get::<_, i64>(6)?.cast_unsigned()),
        json: row.get(7)?,
    })
}

/// Appends an event; returns `false` if the session already has an event with that identity.
pub(super) fn append(conn: &Connection, session: SessionId, event: &NewEvent<'_>) -> rusqlite::Result<bool> {
    let previous = chain::digest_before(conn, session, event.seq)?;
    let inserted = conn
        .prepare_cached(
            "INSERT INTO events (session, seq, identity, at, kind, rules, json, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (session, identity) DO NOTHING",
        )?
        .execute(params![
            session.0,
            event.seq,
            event.identity.0.cast_signed(),
            event.at.millis(),
            event.kind,
            event.rules.0.cast_signed(),
            event.json,
            chain::next_digest(previous, event).0.cast_signed()
        ])?;
    Ok(inserted == 1)
}

/// The events of a session after `after`, oldest first.
pub(super) fn events_after(conn: &Connection, session: SessionId, after: u64) -> rusqlite::Result<Vec<EventRow>> {
    conn.prepare_cached(&format!("{SELECT} WHERE e.session = ?1 AND e.seq > ?2 ORDER BY e.seq"))?
        .query_map((session.0, after), read)?
        .collect()
}

pub(super) fn list(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<EventRow>> {
    let (sql, values) = statement(query)?;
    let mut rows: Vec<EventRow> =
        conn.prepare_cached(&sql)?.query_map(params_from_iter(values), read)?.collect::<rusqlite::Result<_>>()?;
    if query.order == Order::Last {
        rows.reverse();
    }
    Ok(rows)
}

pub(super) fn statement(query: &EventQuery) -> rusqlite::Result<(String, Vec<Value>)> {
    let mut sql = format!("{SELECT} WHERE 1");
    let mut values: Vec<Value> = Vec::new();
    let position = match &query.session {
        Some(session) => {
            sql.push_str(" AND e.session = (SELECT id FROM sessions WHERE agent = ? AND native_id = ?)");
            values.extend([session.agent.to_string().into(), session.id.to_string().into()]);
            "e.seq"
        }
        None => "e.id",
    };
    sql.push_str(&format!(" AND {position} > ?"));
    values.push(i64::try_from(query.after.unwrap_or(0)).unwrap_or(i64::MAX).into());
    if let Some(before) = query.before {
        sql.push_str(&format!(" AND {position} < ?"));
        values.push(i64::try_from(before).unwrap_or(i64::MAX).into());
    }
    if !query.kinds.is_empty() {
        sql.push_str(" AND e.kind IN (SELECT value FROM json_each(?))");
        values.push(to_json(&query.kinds)?.into());
    }
    let direction = if query.order == Order::Last { "DESC" } else { "ASC" };
    sql.push_str(&format!(" ORDER BY {position} {direction} LIMIT ?"));
    let limit = if query.limit == 0 { 100 } else { query.limit };
    values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
    Ok((sql, values))
}

/// Commits of other connections show in `data_version`, commits of this one in `total_changes`.
pub(super) fn change_token(conn: &Connection) -> rusqlite::Result<ChangeToken> {
    let theirs: i64 = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
    let ours: i64 = conn.prepare_cached("SELECT total_changes()")?.query_row([], |row| row.get(0))?;
    let last: Option<i64> = conn.prepare_cached("SELECT max(id) FROM events")?.query_row([], |row| row.get(0))?;
    let mut hasher = DefaultHasher::new();
    (theirs, ours, last).hash(&mut hasher);
    Ok(ChangeToken(hasher.finish()))
}
