//! The log: reading it, and telling whether it grew.

use belay_core::{Digest, Time};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::sessions::{key, to_json};
use crate::api::Mark;
use crate::records::{EventQuery, EventRow, Order};
use crate::session::SessionId;

const SELECT: &str = "SELECT e.ord, s.agent, s.native_id, e.seq, e.at, e.kind, e.rules, e.json
                      FROM events e JOIN sessions s ON s.id = e.session";

fn read(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        ord: row.get(0)?,
        session: key(row, 1)?,
        seq: row.get(3)?,
        at: Time::from_millis(row.get(4)?),
        kind: row.get(5)?,
        rules: Digest(row.get::<_, i64>(6)?.cast_unsigned()),
        json: row.get(7)?,
    })
}

pub(super) fn tail(conn: &Connection, session: SessionId, after: u64) -> rusqlite::Result<Vec<EventRow>> {
    conn.prepare_cached(&format!("{SELECT} WHERE e.session = ?1 AND e.seq > ?2 ORDER BY e.seq"))?
        .query_map((session.0, after), read)?
        .collect()
}

pub(super) fn list(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<EventRow>> {
    let limit = if query.limit == 0 { 100 } else { query.limit };
    let mut sql = format!("{SELECT} WHERE 1");
    let mut values: Vec<Value> = Vec::new();
    let number = match &query.session {
        Some(session) => {
            sql.push_str(" AND e.session = (SELECT id FROM sessions WHERE agent = ? AND native_id = ?)");
            values.extend([session.agent.clone().into(), session.id.clone().into()]);
            "e.seq"
        }
        None => "e.ord",
    };
    if let Some(after) = query.after {
        sql.push_str(&format!(" AND {number} > ?"));
        values.push(i64::try_from(after).unwrap_or(i64::MAX).into());
    }
    if !query.kinds.is_empty() {
        sql.push_str(" AND e.kind IN (SELECT value FROM json_each(?))");
        values.push(to_json(&query.kinds)?.into());
    }
    let direction = if query.order == Order::Last { "DESC" } else { "ASC" };
    sql.push_str(&format!(" ORDER BY {number} {direction} LIMIT ?"));
    values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
    let mut rows: Vec<EventRow> =
        conn.prepare_cached(&sql)?.query_map(params_from_iter(values), read)?.collect::<rusqlite::Result<_>>()?;
    if query.order == Order::Last {
        rows.reverse();
    }
    Ok(rows)
}

/// Other connections' commits show in `data_version`, our own in `total_changes`.
pub(super) fn mark(conn: &Connection) -> rusqlite::Result<Mark> {
    let theirs: i64 = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
    let ours: i64 = conn.prepare_cached("SELECT total_changes()")?.query_row([], |row| row.get(0))?;
    let last: Option<i64> = conn.prepare_cached("SELECT max(ord) FROM events")?.query_row([], |row| row.get(0))?;
    Ok(Mark([theirs, ours, last.unwrap_or(0)]))
}
