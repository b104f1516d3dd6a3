//! The hash chain over a session's log: the digest of each event covers the previous digest, and the session's row has
//! the last one.
//!
//! It detects events that were edited, removed, inserted or reordered by another program: damage, or an agent that
//! covers its tracks. It is not a signature: a program that can write the file can also recompute the digests.

use std::time::{Duration, Instant};

use belay_core::{Digest, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::sessions::key;
use crate::rows::{BrokenLog, LogVerification, NewEvent};
use crate::session::SessionId;

/// Maximum number of broken logs reported.
const MAX_BROKEN: usize = 12;

/// The digest of the event before `seq`. The first event follows the session's id, so that a log cannot be moved to
/// another session.
pub(super) fn digest_before(conn: &Connection, session: SessionId, seq: u64) -> rusqlite::Result<Digest> {
    if seq <= 1 {
        return Ok(first_digest(session));
    }
    let found: Option<i64> = conn
        .prepare_cached("SELECT digest FROM events WHERE session = ?1 AND seq = ?2")?
        .query_row(params![session.0, seq - 1], |row| row.get(0))
        .optional()?;
    // A gap shows in the verification.
    Ok(found.map_or_else(|| first_digest(session), |digest| Digest(digest.cast_unsigned())))
}

fn first_digest(session: SessionId) -> Digest {
    Digest(session.0.cast_unsigned())
}

pub(super) fn next_digest(previous: Digest, event: &NewEvent<'_>) -> Digest {
    Digest::of_parts([
        previous.0.to_le_bytes().as_slice(),
        &event.seq.to_le_bytes(),
        &event.identity.0.to_le_bytes(),
        &event.at.millis().to_le_bytes(),
        event.kind.as_bytes(),
        &event.rules.0.to_le_bytes(),
        event.json.as_bytes(),
    ])
}

/// Verifies sessions, newest first, until the time is up.
pub(super) fn verify(conn: &Connection, time_limit: Option<Duration>) -> rusqlite::Result<LogVerification> {
    let began = Instant::now();
    let ids: Vec<i64> = conn
        .prepare("SELECT id FROM sessions ORDER BY last_at DESC, id DESC")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut result = LogVerification { sessions: ids.len() as u64, ..LogVerification::default() };
    for id in ids {
        if time_limit.is_some_and(|limit| began.elapsed() >= limit) || result.broken.len() >= MAX_BROKEN {
            break;
        }
        result.broken.extend(verify_session(conn, SessionId(id))?);
        result.verified += 1;
    }
    Ok(result)
}

fn verify_session(conn: &Connection, id: SessionId) -> rusqlite::Result<Option<BrokenLog>> {
    // One read transaction keeps row and events consistent.
    let read = conn.unchecked_transaction()?;
    let row = read
        .prepare_cached("SELECT agent, native_id, version, chain FROM sessions WHERE id = ?1")?
        .query_row([id.0], |row| Ok((key(row, 0)?, row.get::<_, u64>(2)?, row.get::<_, i64>(3)?)))
        .optional()?;
    let Some((session, version, chain)) = row else { return Ok(None) };
    let broken = |problem: String| Ok(Some(BrokenLog { session: session.clone(), problem }));
    let mut statement = read.prepare_cached(
        "SELECT seq, identity, at, kind, rules, json, digest FROM events WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([id.0])?;
    let (mut last, mut digest) = (0, first_digest(id));
    while let Some(row) = rows.next()? {
        let event = NewEvent {
            seq: row.get(0)?,
            identity: Digest(row.get::<_, i64>(1)?.cast_unsigned()),
            at: Timestamp::from_millis(row.get(2)?),
            kind: row.get_ref(3)?.as_str()?,
            rules: Digest(row.get::<_, i64>(4)?.cast_unsigned()),
            json: row.get_ref(5)?.as_str()?,
        };
        if event.seq != last + 1 {
            return broken(format!("event {} is missing", last + 1));
        }
        digest = next_digest(digest, &event);
        if digest.0.cast_signed() != row.get::<_, i64>(6)? {
            return broken(format!("event {} was changed", event.seq));
        }
        last = event.seq;
    }
    if last != version {
        return broken(format!("it has {last} events instead of {version}"));
    }
    if last > 0 && digest.0.cast_signed() != chain {
        return broken("its last event was replaced".to_owned());
    }
    Ok(None)
}
