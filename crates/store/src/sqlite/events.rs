//! The log: reading it, and telling whether it grew.

use belay_core::{Digest, SessionKey, Timestamp};
use rusqlite::{Connection, Row};

use super::pack::unpack;
use super::sessions::key;
use crate::rows::{EventQuery, EventRow, Order};
use crate::session::SessionId;
use crate::traits::ChangeToken;

const SELECT: &str = "SELECT e.ord, s.agent, s.native_id, e.seq, e.at, e.kind, e.rules, e.json, e.earlier
                      FROM events e JOIN sessions s ON s.id = e.session";

/// The rows of session `?1` with events after number `?2`, newest first.
const CHAIN: &str = "WITH RECURSIVE chain (ord, prev) AS (
                         SELECT e.ord, e.prev FROM sessions s JOIN events e ON e.ord = s.tip
                         WHERE s.id = ?1 AND e.seq > ?2
                         UNION ALL
                         SELECT e.ord, e.prev FROM chain JOIN events e ON e.ord = chain.prev WHERE e.seq > ?2
                     )
                     SELECT ord FROM chain";

/// The events of a row, oldest first.
fn read(row: &Row<'_>) -> rusqlite::Result<Vec<EventRow>> {
    let (ord, session, seq): (i64, SessionKey, u64) = (row.get(0)?, key(row, 1)?, row.get(3)?);
    let earlier = unpack(row.get_ref(8)?.as_blob_or_null()?.unwrap_or_default()).unwrap_or_else(|| {
        tracing::error!(%session, seq, "the events that were written with this one cannot be read and are left out");
        Vec::new()
    });
    let back = |back: u64, at: Timestamp, kind: &str, rules: Digest, json: &str| EventRow {
        ord: ord - back.cast_signed(),
        session: session.clone(),
        seq: seq - back,
        at,
        kind: kind.to_owned(),
        rules,
        json: json.to_owned(),
    };
    let numbers = (1..=earlier.len() as u64).rev();
    let mut events: Vec<EventRow> =
        numbers.zip(earlier).map(|(n, event)| back(n, event.at, event.kind, event.rules, event.json)).collect();
    let (at, rules) = (Timestamp::from_millis(row.get(4)?), Digest(row.get::<_, i64>(6)?.cast_unsigned()));
    events.push(back(0, at, row.get_ref(5)?.as_str()?, rules, row.get_ref(7)?.as_str()?));
    Ok(events)
}

/// The rows at these places, one after the other.
fn at_places<'c>(
    conn: &'c Connection,
    places: Vec<i64>,
) -> rusqlite::Result<impl Iterator<Item = rusqlite::Result<Vec<EventRow>>> + 'c> {
    let mut statement = conn.prepare_cached(&format!("{SELECT} WHERE e.ord = ?1"))?;
    Ok(places.into_iter().map(move |ord| statement.query_row([ord], read)))
}

/// The places of a session's rows with events after a number, newest first.
fn chain(conn: &Connection, session: SessionId, after: u64, most: i64) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached(&format!("{CHAIN} LIMIT ?3"))?.query_map((session.0, after, most), |row| row.get(0))?.collect()
}

pub(super) fn events_after(conn: &Connection, session: SessionId, after: u64) -> rusqlite::Result<Vec<EventRow>> {
    let mut places = chain(conn, session, after, -1)?;
    places.reverse();
    let mut tail = Vec::new();
    for events in at_places(conn, places)? {
        tail.extend(events?.into_iter().filter(|event| event.seq > after));
    }
    Ok(tail)
}

pub(super) fn list(conn: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<EventRow>> {
    let after = query.after.unwrap_or(0).min(i64::MAX.cast_unsigned());
    let mut wanted = Wanted::new(query, after);
    match &query.session {
        Some(session) => {
            let Some(session) = super::sessions::id(conn, session)? else { return Ok(Vec::new()) };
            // Every row has an event: without kinds to choose from, no more rows than events are needed.
            let most = match query.order {
                Order::Last if query.kinds.is_empty() => i64::try_from(wanted.limit).unwrap_or(i64::MAX),
                _ => -1,
            };
            let mut places = chain(conn, session, after, most)?;
            if query.order == Order::First {
                places.reverse();
            }
            wanted.pick(at_places(conn, places)?)?;
        }
        None => {
            let direction = if query.order == Order::Last { "DESC" } else { "ASC" };
            let mut statement =
                conn.prepare_cached(&format!("{SELECT} WHERE e.ord > ?1 ORDER BY e.ord {direction}"))?;
            wanted.pick(statement.query_map([after], read)?)?;
        }
    }
    wanted.found.sort_unstable_by_key(|row| row.ord);
    Ok(wanted.found)
}

/// Events as they are asked for, and those that were found.
struct Wanted<'q> {
    query: &'q EventQuery,
    after: u64,
    limit: usize,
    found: Vec<EventRow>,
}

impl<'q> Wanted<'q> {
    fn new(query: &'q EventQuery, after: u64) -> Self {
        let limit = if query.limit == 0 { 100 } else { query.limit };
        Self { query, after, limit, found: Vec::new() }
    }

    /// Takes what is wanted of the rows, until there is enough.
    fn pick(&mut self, mut rows: impl Iterator<Item = rusqlite::Result<Vec<EventRow>>>) -> rusqlite::Result<()> {
        while self.found.len() < self.limit
            && let Some(mut events) = rows.next().transpose()?
        {
            events.retain(|event| self.wants(event));
            let room = self.limit - self.found.len();
            match self.query.order {
                Order::First => events.truncate(room),
                Order::Last => drop(events.drain(..events.len().saturating_sub(room))),
            }
            self.found.append(&mut events);
        }
        Ok(())
    }

    fn wants(&self, event: &EventRow) -> bool {
        let number = if self.query.session.is_some() { event.seq } else { event.ord.cast_unsigned() };
        number > self.after && (self.query.kinds.is_empty() || self.query.kinds.contains(&event.kind))
    }
}

/// Other connections' commits show in `data_version`, our own in `total_changes`.
pub(super) fn change_token(conn: &Connection) -> rusqlite::Result<ChangeToken> {
    let theirs: i64 = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
    let ours: i64 = conn.prepare_cached("SELECT total_changes()")?.query_row([], |row| row.get(0))?;
    let last: Option<i64> = conn.prepare_cached("SELECT max(ord) FROM events")?.query_row([], |row| row.get(0))?;
    Ok(ChangeToken([theirs, ours, last.unwrap_or(0)]))
}
