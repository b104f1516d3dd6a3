//! Messages and deliveries. A claim moves `next_at` to the end of the lease, so the delivery of a process that dies is
//! due again.

use std::time::Duration;

use belay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::sessions::{json, to_json};
use crate::outbox::{AttemptResult, Delivery, DeliveryState, DueWork, Message, NewMessage};

const MESSAGE: &str = "m.id, m.key, m.topic, m.payload, m.created_at";
const DELIVERY: &str = "d.channel, d.state, d.attempts, d.next_at, d.last_error";

fn read_message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: row.get(0)?,
        key: row.get(1)?,
        topic: row.get(2)?,
        payload: json(row, 3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
    })
}

fn read_delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        message: read_message(row)?,
        channel: row.get(5)?,
        state: DeliveryState::parse(row.get_ref(6)?.as_str()?).ok_or(rusqlite::Error::InvalidQuery)?,
        attempts: row.get(7)?,
        next_at: Timestamp::from_millis(row.get(8)?),
        last_error: row.get(9)?,
    })
}

fn row_limit(limit: usize) -> i64 {
    i64::try_from(if limit == 0 { 100 } else { limit }).unwrap_or(i64::MAX)
}

pub(super) fn messages(conn: &Connection, limit: usize) -> rusqlite::Result<Vec<Message>> {
    conn.prepare_cached(&format!("SELECT {MESSAGE} FROM messages m ORDER BY m.id DESC LIMIT ?1"))?
        .query_map([row_limit(limit)], read_message)?
        .collect()
}

pub(super) fn deliveries(
    conn: &Connection,
    state: Option<DeliveryState>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    conn.prepare_cached(&format!(
        "SELECT {MESSAGE}, {DELIVERY} FROM deliveries d JOIN messages m ON m.id = d.message
         WHERE ?1 IS NULL OR d.state = ?1 ORDER BY d.message DESC, d.channel LIMIT ?2"
    ))?
    .query_map(params![state.map(DeliveryState::as_str), row_limit(limit)], read_delivery)?
    .collect()
}

pub(super) fn due(conn: &Connection, now: Timestamp) -> rusqlite::Result<DueWork> {
    let unrouted = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM messages WHERE routed = 0)")?
        .query_row([], |row| row.get(0))?;
    let channels = conn
        .prepare_cached(
            "SELECT DISTINCT channel FROM deliveries WHERE state = 'pending' AND (next_at <= ?1 OR since > ?1)",
        )?
        .query_map([now.millis()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(DueWork { unrouted, channels })
}

pub(super) fn pending(conn: &Connection) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "SELECT (SELECT count(*) FROM messages WHERE routed = 0)
              + (SELECT count(DISTINCT message) FROM deliveries WHERE state = 'pending')",
    )?
    .query_row([], |row| row.get(0))
}

pub(super) fn enqueue(conn: &Connection, message: &NewMessage) -> rusqlite::Result<bool> {
    let inserted = conn
        .prepare_cached(
            "INSERT INTO messages (key, topic, payload, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO NOTHING",
        )?
        .execute(params![message.key, message.topic, to_json(&message.payload)?, message.at.millis()])?;
    Ok(inserted == 1)
}

pub(super) fn route(conn: &Connection, channels: &[&str], now: Timestamp, limit: usize) -> rusqlite::Result<usize> {
    let messages: Vec<i64> = conn
        .prepare_cached("SELECT id FROM messages WHERE routed = 0 ORDER BY id LIMIT ?1")?
        .query_map([row_limit(limit)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO deliveries (message, channel, since, next_at) VALUES (?1, ?2, ?3, ?3) ON CONFLICT DO NOTHING",
    )?;
    let mut routed = conn.prepare_cached("UPDATE messages SET routed = 1 WHERE id = ?1")?;
    for message in &messages {
        for channel in channels {
            insert.execute(params![message, channel, now.millis()])?;
        }
        routed.execute([message])?;
    }
    Ok(messages.len())
}

pub(super) fn skip_other_channels(conn: &Connection, channels: &[&str], now: Timestamp) -> rusqlite::Result<usize> {
    let configured = serde_json::Value::from(channels).to_string();
    conn.prepare_cached(
        "UPDATE deliveries SET state = 'skipped', since = ?2, next_at = ?2, last_error = 'the channel is not configured'
         WHERE state = 'pending' AND channel NOT IN (SELECT value FROM json_each(?1))",
    )?
    .execute(params![configured, now.millis()])
}

pub(super) fn claim(
    conn: &Connection,
    channel: &str,
    now: Timestamp,
    lease: Duration,
) -> rusqlite::Result<Option<Delivery>> {
    // A row from the future: the clock was set back. Its delay starts again and is not extended.
    conn.prepare_cached(
        "UPDATE deliveries SET next_at = ?2 + (next_at - since), since = ?2
         WHERE channel = ?1 AND state = 'pending' AND since > ?2",
    )?
    .execute(params![channel, now.millis()])?;
    let message: Option<i64> = conn
        .prepare_cached(
            "UPDATE deliveries SET attempts = attempts + 1, since = ?2, next_at = ?3
             WHERE channel = ?1 AND message = (SELECT message FROM deliveries
                 WHERE channel = ?1 AND state = 'pending' AND next_at <= ?2 ORDER BY next_at, message LIMIT 1)
             RETURNING message",
        )?
        .query_row(params![channel, now.millis(), (now + lease).millis()], |row| row.get(0))
        .optional()?;
    let Some(message) = message else { return Ok(None) };
    conn.prepare_cached(&format!(
        "SELECT {MESSAGE}, {DELIVERY} FROM deliveries d JOIN messages m ON m.id = d.message
         WHERE d.message = ?1 AND d.channel = ?2"
    ))?
    .query_row(params![message, channel], read_delivery)
    .optional()
}

pub(super) fn record(
    conn: &Connection,
    delivery: &Delivery,
    result: &AttemptResult,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let (state, error, next_at) = match result {
        AttemptResult::Sent => (DeliveryState::Sent, None, now),
        AttemptResult::Skipped => (DeliveryState::Skipped, None, now),
        AttemptResult::Retry { error, after } => (DeliveryState::Pending, Some(error), now + *after),
        AttemptResult::Failed { error } => (DeliveryState::Failed, Some(error), now),
    };
    // If the lease ended, another process may have claimed the delivery. Then only a success counts.
    conn.prepare_cached(
        "UPDATE deliveries SET state = ?3, last_error = ?4, since = ?5, next_at = ?6, attempts = attempts - ?7
         WHERE message = ?1 AND channel = ?2 AND state = 'pending' AND (attempts = ?8 OR ?3 = 'sent')",
    )?
    .execute(params![
        delivery.message.id,
        delivery.channel,
        state.as_str(),
        error,
        now.millis(),
        next_at.millis(),
        u32::from(state == DeliveryState::Skipped),
        delivery.attempts,
    ])
    .map(drop)
}
