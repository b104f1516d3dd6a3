//! Session rows: queries, heads and loading.

use belay_core::effect::Spend;
use belay_core::session::ResumeCondition;
use belay_core::{Digest, SessionKey, SessionState, Timestamp};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use serde::de::DeserializeOwned;

use super::events;
use crate::session::{
    Cursor, HeldSession, Page, SessionHead, SessionId, SessionQuery, SessionRow, SessionSort, Snapshot, StoredSession,
};

const COLUMNS: &str = "s.id, s.agent, s.native_id, p.agent, p.native_id, s.version, s.state_json, s.descendants_json, \
                       s.details_json, s.last_at, s.state, s.held";
const FROM: &str = "FROM sessions s LEFT JOIN sessions p ON p.id = s.parent";

/// Decodes a JSON column.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|e| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(e)))
}

/// Encodes a value for a JSON column.
pub(super) fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

pub(super) fn key(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionKey> {
    Ok(SessionKey { agent: row.get(column)?, id: row.get(column + 1)? })
}

pub(super) fn read_descendant_spend(row: &Row<'_>, column: usize) -> rusqlite::Result<Spend> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(_) => json(row, column),
        None => Ok(Spend::default()),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<(SessionRow, Timestamp)> {
    let parent = match row.get_ref(3)?.as_str_or_null()? {
        Some(_) => Some(key(row, 3)?),
        None => None,
    };
    let session = SessionRow {
        id: SessionId(row.get(0)?),
        key: key(row, 1)?,
        parent,
        version: row.get(5)?,
        state: state(row, StateColumns { json: 6, last_at: 9, name: 10, held: 11 })?,
        descendants: read_descendant_spend(row, 7)?,
        details: json(row, 8)?,
    };
    Ok((session, Timestamp::from_millis(row.get(9)?)))
}

/// The positions of the columns that describe a session's state.
struct StateColumns {
    json: usize,
    last_at: usize,
    name: usize,
    held: usize,
}

/// The state of a session. If its JSON is unreadable, the name and `held` decide: a damaged column must not release a
/// held session. The incident is then unknown and empty.
fn state(row: &Row<'_>, columns: StateColumns) -> rusqlite::Result<SessionState> {
    match json(row, columns.json) {
        Err(rusqlite::Error::FromSqlConversionFailure(..)) => {}
        readable => return readable,
    }
    let at = Timestamp::from_millis(row.get(columns.last_at)?);
    let held: bool = row.get(columns.held)?;
    let killed = || SessionState::Killed { incident: String::new(), since: at };
    let paused =
        || SessionState::Paused { incident: String::new(), since: at, until: None, gate: ResumeCondition::Operator };
    Ok(match row.get_ref(columns.name)?.as_str()? {
        "killed" => killed(),
        "archived" => SessionState::Archived { at, was: Box::new(if held { paused() } else { SessionState::Active }) },
        "paused" => paused(),
        _ if held => paused(),
        "ended" => SessionState::Ended { at },
        _ => SessionState::Active,
    })
}

/// Paused and killed sessions, newest first.
pub(super) fn held(conn: &Connection, limit: usize) -> rusqlite::Result<Vec<HeldSession>> {
    conn.prepare_cached(
        "SELECT agent, native_id, state_json, last_at, state, held FROM sessions WHERE held = 1
         ORDER BY last_at DESC, id DESC LIMIT ?1",
    )?
    .query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        let state = state(row, StateColumns { json: 2, last_at: 3, name: 4, held: 5 })?;
        Ok(HeldSession { session: key(row, 0)?, state })
    })?
    .collect()
}

pub(super) fn get(conn: &Connection, key: &SessionKey) -> rusqlite::Result<Option<SessionRow>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} {FROM} WHERE s.agent = ?1 AND s.native_id = ?2"))?
        .query_row([&key.agent, &key.id], read)
        .optional()
        .map(|found| found.map(|(row, _)| row))
}

pub(super) fn list(conn: &Connection, query: &SessionQuery) -> rusqlite::Result<Page<SessionRow>> {
    let (sql, values) = statement(query)?;
    let mut statement = conn.prepare_cached(&sql)?;
    let read_sorted = |row: &Row<'_>| Ok((read(row)?, row.get(SORT_COLUMN)?));
    let mut rows: Vec<((SessionRow, Timestamp), i64)> =
        statement.query_map(params_from_iter(values), read_sorted)?.collect::<rusqlite::Result<_>>()?;
    let more = rows.len() > limit(query);
    rows.truncate(limit(query));
    let next = rows.last().filter(|_| more).map(|((row, _), value)| Cursor { value: *value, id: row.id });
    if query.sort == SessionSort::Newest {
        // The indexed time advances at most once a second to save index writes; the details have the exact time.
        rows.sort_by_key(|((row, last_at), _)| std::cmp::Reverse(row.details.facts.last_at.max(*last_at)));
    }
    Ok(Page { rows: rows.into_iter().map(|((row, _), _)| row).collect(), next })
}

/// Position of the column that a list is sorted by, after those of [`COLUMNS`].
const SORT_COLUMN: usize = 12;

fn sort_column(sort: SessionSort) -> &'static str {
    match sort {
        SessionSort::Newest => "s.last_at",
        SessionSort::Cost => "s.cost_micros",
        SessionSort::Tokens => "s.tokens",
        SessionSort::Calls => "s.calls",
    }
}

fn limit(query: &SessionQuery) -> usize {
    if query.limit == 0 { 50 } else { query.limit }
}

/// Scans the newest-first index; the table is read only for columns the index does not contain.
pub(super) fn statement(query: &SessionQuery) -> rusqlite::Result<(String, Vec<Value>)> {
    let sort = sort_column(query.sort);
    let mut sql = format!("SELECT {COLUMNS}, {sort} {FROM} WHERE 1");
    let mut values: Vec<Value> = Vec::new();
    let mut and = |condition: &str, given: &[Value]| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend_from_slice(given);
    };
    if query.states.is_empty() {
        if !query.archived {
            and("s.state <> 'archived'", &[]);
        }
    } else {
        and("s.state IN (SELECT value FROM json_each(?))", &[to_json(&query.states)?.into()]);
        if query.states.iter().all(|state| state == "paused" || state == "killed") {
            and("s.held = 1", &[]);
        }
    }
    if let Some(agent) = &query.agent {
        // The plus keeps SQLite from choosing the index on names, which would sort all sessions of the agent.
        and("+s.agent = ?", &[agent.clone().into()]);
    }
    if let Some(project) = &query.project {
        and("s.project = ?", &[project.clone().into()]);
    }
    if let Some(parent) = &query.parent {
        and(
            "s.parent = (SELECT id FROM sessions WHERE agent = ? AND native_id = ?)",
            &[parent.agent.to_string().into(), parent.id.to_string().into()],
        );
    }
    if let Some(since) = query.since {
        and("s.last_at >= ?", &[since.millis().into()]);
    }
    if let Some(text) = query.text.as_deref().filter(|text| !text.is_empty()) {
        and(
            "instr(lower(concat_ws(char(10), s.agent || ':' || s.native_id, s.project,
                     s.details_json ->> '$.facts.task', s.details_json ->> '$.facts.branch',
                     s.details_json ->> '$.facts.model')), ?) > 0",
            &[text.to_ascii_lowercase().into()],
        );
    }
    if let Some(after) = query.after {
        and(&format!("({sort}, s.id) < (?, ?)"), &[after.value.into(), after.id.0.into()]);
    }
    sql.push_str(&format!(" ORDER BY {sort} DESC, s.id DESC LIMIT ?"));
    // One extra row shows whether there is another page.
    values.push(i64::try_from(limit(query).saturating_add(1)).unwrap_or(i64::MAX).into());
    Ok((sql, values))
}

pub(super) fn head(conn: &Connection, key: &SessionKey) -> rusqlite::Result<Option<SessionHead>> {
    conn.prepare_cached(
        "SELECT id, parent, version, snapshot, state_json, last_at, state, held FROM sessions
         WHERE agent = ?1 AND native_id = ?2",
    )?
    .query_row([&key.agent, &key.id], |row| {
        Ok(SessionHead {
            id: SessionId(row.get(0)?),
            parent: row.get::<_, Option<i64>>(1)?.map(SessionId),
            version: row.get(2)?,
            snapshot: row.get(3)?,
            state: state(row, StateColumns { json: 4, last_at: 5, name: 6, held: 7 })?,
            listed: Timestamp::from_millis(row.get(5)?),
        })
    })
    .optional()
}

pub(super) fn load(conn: &Connection, head: SessionHead, format: u16) -> rusqlite::Result<StoredSession> {
    let snapshot = conn
        .prepare_cached(
            "SELECT seq, format, rules, data FROM snapshots WHERE session = ?1 AND format = ?2 AND seq <= ?3
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![head.id.0, format, head.version], |row| {
            Ok(Snapshot {
                seq: row.get(0)?,
                format: row.get(1)?,
                rules: Digest(row.get::<_, i64>(2)?.cast_unsigned()),
                data: row.get(3)?,
            })
        })
        .optional()?;
    let tail = events::events_after(conn, head.id, snapshot.as_ref().map_or(0, |snapshot| snapshot.seq))?;
    Ok(StoredSession { head, snapshot, tail })
}
