//! Events into the log.

use belay_core::Digest;
use rusqlite::{Connection, params};

use super::transaction::SqliteTransaction;
use crate::api::UNFILED;
use crate::error::Result;
use crate::records::NewEvent;
use crate::session::SessionId;

/// The last event that a session got in a transaction.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) seq: u64,
    pub(super) ord: i64,
    /// The first one followed the last that this process had written.
    pub(super) follows: bool,
}

impl SqliteTransaction<'_> {
    /// The last event the session got here, if any.
    pub(super) fn tip(&self, session: SessionId) -> Option<Written> {
        self.tips.iter().rev().find(|(of, _)| *of == session).map(|(_, written)| *written)
    }

    /// Whether the event can go in as it is, behind the one before it: then this is its place.
    fn follows(&self, session: SessionId, event: &NewEvent<'_>) -> Result<Option<i64>> {
        let mut tips = self.store.tips.borrow_mut();
        let before = match self.tip(session) {
            Some(written) => Some(written.ord).filter(|_| written.follows),
            None => tips.before(session, event.seq),
        };
        let Some(before) = before else { return Ok(None) };
        if tips.wants_filter(session) {
            let filed = self.run(known_identities(self.conn(), session, before, event.seq))?;
            tips.learn(session, filed.into_iter());
        }
        Ok(Some(before).filter(|_| tips.is_new(session, event.identity)))
    }

    /// Puts an event in: as it is, or only if its identity is not filed.
    fn insert(&self, session: SessionId, before: Option<i64>, event: &NewEvent<'_>) -> rusqlite::Result<usize> {
        let sql = match before {
            Some(_) => {
                "INSERT INTO events (session, seq, prev, identity, at, kind, rules, json)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            }
            None => {
                "INSERT INTO events (session, seq, prev, identity, at, kind, rules, json)
                 SELECT ?1, ?2, coalesce(?3, (SELECT tip FROM sessions WHERE id = ?1)), ?4, ?5, ?6, ?7, ?8
                 WHERE NOT EXISTS (SELECT 1 FROM identities WHERE session = ?1 AND identity = ?4)"
            }
        };
        self.conn().prepare_cached(sql)?.execute(params![
            session.0,
            event.seq,
            before.or_else(|| self.tip(session).map(|written| written.ord)),
            event.identity.0.cast_signed(),
            event.at.millis(),
            event.kind,
            event.rules.0.cast_signed(),
            event.json
        ])
    }

    /// Appends an event; `false` if the session has it already.
    pub(super) fn put_event(&mut self, session: SessionId, event: &NewEvent<'_>) -> Result<bool> {
        let before = self.follows(session, event)?;
        let added = self.run(self.insert(session, before, event))?;
        if added == 1 {
            let ord = self.conn().last_insert_rowid();
            let mut tips = self.store.tips.borrow_mut();
            tips.add(session, event.identity);
            match self.tips.iter_mut().rev().find(|(of, _)| *of == session) {
                Some((_, written)) => (written.seq, written.ord) = (event.seq, ord),
                None => {
                    let follows = tips.before(session, event.seq).is_some();
                    self.tips.push((session, Written { seq: event.seq, ord, follows }));
                }
            }
            if event.seq.is_multiple_of(UNFILED) {
                self.run(file_identities(self.conn(), session, ord, event.seq))?;
            }
        }
        Ok(added == 1)
    }
}

/// The identities of the events up to the one at `?2`, those not yet filed at least: back to the number `?3`.
macro_rules! chain {
    ($then:literal) => {
        concat!(
            "WITH RECURSIVE chain (prev, identity) AS (
                 SELECT prev, identity FROM events WHERE ord = ?2
                 UNION ALL
                 SELECT e.prev, e.identity FROM chain JOIN events e ON e.ord = chain.prev WHERE e.seq > ?3
             ) ",
            $then
        )
    };
}

/// Files the identities of the last events up to the one at `tip`. Their places are all over the index, so each of them
/// alone would cost a page of the write-ahead log; together they share some.
fn file_identities(conn: &Connection, session: SessionId, tip: i64, seq: u64) -> rusqlite::Result<()> {
    conn.prepare_cached(chain!("INSERT OR IGNORE INTO identities SELECT ?1, identity FROM chain ORDER BY identity"))?
        .execute(params![session.0, tip, seq - UNFILED])
        .map(drop)
}

/// All identities that are filed, or will be: those of the events up to the one at `tip`.
fn known_identities(conn: &Connection, session: SessionId, tip: i64, seq: u64) -> rusqlite::Result<Vec<Digest>> {
    let mut known = conn.prepare_cached(chain!(
        "SELECT identity FROM identities WHERE session = ?1 UNION ALL SELECT identity FROM chain"
    ))?;
    let back_to = seq.saturating_sub(UNFILED);
    let found = known.query_map(params![session.0, tip, back_to], |row| row.get::<_, i64>(0))?;
    found.map(|identity| identity.map(|identity| Digest(identity.cast_unsigned()))).collect()
}
