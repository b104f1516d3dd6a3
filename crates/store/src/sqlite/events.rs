//! The log: reading it, and telling whether it grew.

use belay_core::{Digest, Time};
use rusqlite::{Connection, Row};

use super::sessions::{key, to_json};
use crate::api::Mark;
use crate::records::{EventQuery, EventRow, Order};
use crate::session::SessionId;

const SELECT: &str = "SELECT e.ord, s.agent, s.native_id, e.seq, e.at, e.kind, e.rules, e.json
                      FROM events e JOIN sessions s ON s.id = e.session";

/// The events of session `?1` after number `?2` as `chain (ord, kind)`, newest first.
const CHAIN: &str = "WITH RECURSIVE chain (ord, prev, seq, kind) AS (
                         SELECT e.ord, e.prev, e.seq, e.kind FROM sessions s JOIN events e ON e.ord = s.tip
                         WHERE s.id = ?1 AND e.seq > ?2
                         UNION ALL
                         SELECT e.ord, e.prev, e.seq, e.kind FROM chain JOIN events e ON e.ord = chain.prev
                         WHERE e.seq > ?2
                     )";

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
    let mut rows: Vec<EventRow> = conn
        .prepare_cached(&format!("{CHAIN} {SELECT} WHERE e.ord IN (SELECT ord FROM chain)"))?
        .query_map((session.0, after), read)?
        .collect::<rusqlite::Result<_>>()?;
    rows.sort_unstable_by_key(|row| row.seq);
    Ok(rows)
}

pub(super) fn list(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<EventRow>> {
    let limit = i64::try_from(if query.limit == 0 { 100 } else { query.limit }).unwrap_or(i64::MAX);
    let after = i64::try_from(query.after.unwrap_or(0)).unwrap_or(i64::MAX);
    let direction = if query.order == Order::Last { "DESC" } else { "ASC" };
    let kinds = if query.kinds.is_empty() { None } else { Some(to_json(&query.kinds)?) };
    let wanted = if kinds.is_some() { "AND kind IN (SELECT value FROM json_each(?4))" } else { "AND ?4 IS NULL" };
    let (sql, session) = match &query.session {
        Some(session) => {
            let Some(session) = super::sessions::id(conn, session)? else { return Ok(Vec::new()) };
            // A chain comes newest first by itself; only its beginning has to be sorted for.
            let order = if query.order == Order::Last { "" } else { "ORDER BY ord" };
            let picked = format!("SELECT ord FROM chain WHERE TRUE {wanted} {order} LIMIT ?3");
            (format!("{CHAIN} {SELECT} WHERE e.ord IN ({picked})"), session.0)
        }
        None => (format!("{SELECT} WHERE ?1 = 0 AND e.ord > ?2 {wanted} ORDER BY e.ord {direction} LIMIT ?3"), 0),
    };
    let mut rows: Vec<EventRow> = conn
        .prepare_cached(&sql)?
        .query_map(rusqlite::params![session, after, limit, kinds], read)?
        .collect::<rusqlite::Result<_>>()?;
    rows.sort_unstable_by_key(|row| row.ord);
    Ok(rows)
}

/// Other connections' commits show in `data_version`, our own in `total_changes`.
pub(super) fn mark(conn: &Connection) -> rusqlite::Result<Mark> {
    let theirs: i64 = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
    let ours: i64 = conn.prepare_cached("SELECT total_changes()")?.query_row([], |row| row.get(0))?;
    let last: Option<i64> = conn.prepare_cached("SELECT max(ord) FROM events")?.query_row([], |row| row.get(0))?;
    Ok(Mark([theirs, ours, last.unwrap_or(0)]))
}
