//! The outbox: a claim moves a message's time to the end of the lease, so a sender that dies loses nothing.

use std::time::Duration;

use belay_core::Timestamp;
use rusqlite::{Connection, Row, params};

use super::sessions::{json, to_json};
use crate::outbox::{Message, MessageState, NewMessage};

const COLUMNS: &str = "id, key, topic, payload, created_at, next_at, attempts, state, last_error";

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: row.get(0)?,
        key: row.get(1)?,
        topic: row.get(2)?,
        payload: json(row, 3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
        next_at: Timestamp::from_millis(row.get(5)?),
        attempts: row.get(6)?,
        state: MessageState::parse(row.get_ref(7)?.as_str()?).ok_or(rusqlite::Error::InvalidQuery)?,
        last_error: row.get(8)?,
    })
}

pub(super) fn list(conn: &Connection, state: Option<MessageState>, limit: usize) -> rusqlite::Result<Vec<Message>> {
    let limit = i64::try_from(if limit == 0 { 100 } else { limit }).unwrap_or(i64::MAX);
    match state {
        Some(state) => conn
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM outbox WHERE state = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2"
            ))?
            .query_map(params![state.as_str(), limit], read)?
            .collect(),
        None => conn
            .prepare_cached(&format!("SELECT {COLUMNS} FROM outbox ORDER BY id DESC LIMIT ?1"))?
            .query_map([limit], read)?
            .collect(),
    }
}

pub(super) fn enqueue(conn: &Connection, message: &NewMessage) -> rusqlite::Result<bool> {
    let taken = conn
        .prepare_cached(
            "INSERT INTO outbox (key, topic, payload, created_at, next_at) VALUES (?1, ?2, ?3, ?4, ?4)
             ON CONFLICT (key) DO NOTHING",
        )?
        .execute(params![message.key, message.topic, to_json(&message.payload)?, message.at.millis()])?;
    Ok(taken == 1)
}

pub(super) fn claim(
    conn: &Connection,
    now: Timestamp,
    lease: Duration,
    limit: usize,
) -> rusqlite::Result<Vec<Message>> {
    let mut messages: Vec<Message> = conn
        .prepare_cached(&format!(
            "UPDATE outbox SET next_at = ?2, attempts = attempts + 1
             WHERE id IN (SELECT id FROM outbox WHERE state = 'pending' AND next_at <= ?1 ORDER BY next_at, id LIMIT ?3)
             RETURNING {COLUMNS}"
        ))?
        .query_map(params![now.millis(), (now + lease).millis(), i64::try_from(limit).unwrap_or(i64::MAX)], read)?
        .collect::<rusqlite::Result<_>>()?;
    messages.sort_by_key(|message| message.id);
    Ok(messages)
}

pub(super) fn sent(conn: &Connection, id: i64, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE outbox SET state = 'sent', next_at = ?2, last_error = NULL WHERE id = ?1")?
        .execute(params![id, at.millis()])
        .map(drop)
}

pub(super) fn failed(conn: &Connection, id: i64, error: &str, retry_at: Option<Timestamp>) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE outbox SET last_error = ?2, next_at = coalesce(?3, next_at),
                           state = CASE WHEN ?3 IS NULL THEN 'failed' ELSE 'pending' END
         WHERE id = ?1 AND state = 'pending'",
    )?
    .execute(params![id, error, retry_at.map(Timestamp::millis)])
    .map(drop)
}
