//! Events into the log.

use rusqlite::params;

use super::identities::{self, Loose};
use super::pack::Pack;
use super::tips::Tips;
use super::transaction::SqliteTransaction;
use crate::error::Result;
use crate::rows::NewEvent;
use crate::session::SessionId;

/// What the log of a session gets in a transaction.
pub(super) struct Growth {
    session: SessionId,
    /// The last row, if this process has written it: in this transaction, or in the last one of all.
    tip: Option<i64>,
    /// Number of the last event.
    seq: u64,
    /// The first one followed the last that this process had written.
    follows: bool,
    /// What has still to be written.
    pack: Pack,
    /// Some of it has been written.
    written: bool,
    /// What has still to be filed.
    loose: Loose,
}

impl Growth {
    /// All of it is committed. What is left is room for the next.
    pub(super) fn remember(self, tips: &mut Tips) -> Pack {
        if let Some(tip) = self.tip.filter(|_| self.written) {
            tips.set(self.session, self.seq, tip, self.follows, self.loose);
        }
        self.pack
    }
}

impl SqliteTransaction<'_> {
    fn place(&self, session: SessionId) -> Option<usize> {
        self.growth.iter().rposition(|growth| growth.session == session)
    }

    /// The session's last row, if it got one here.
    pub(super) fn tip(&self, session: SessionId) -> Option<i64> {
        self.place(session)
            .map(|place| &self.growth[place])
            .filter(|growth| growth.written)
            .and_then(|growth| growth.tip)
    }

    /// Begins to let a session's log grow.
    fn begin_growth(&mut self, session: SessionId, seq: u64) -> Result<usize> {
        let mut tips = self.store.tips.borrow_mut();
        let tip = tips.before(session, seq);
        if let Some(tip) = tip
            && tips.wants_filter(session)
        {
            let (filed, loose) = self.run(identities::all(self.conn(), session, tip, seq - 1))?;
            tips.learn(session, &filed, loose);
        }
        let loose = if seq == 1 { Some(Vec::new()) } else { tips.take_loose(session).filter(|_| tip.is_some()) };
        let (follows, pack) = (tip.is_some(), self.store.spare.take());
        self.growth.push(Growth { session, tip, seq: seq - 1, follows, pack, loose, written: false });
        Ok(self.growth.len() - 1)
    }

    /// Appends an event; `false` if the session has it already.
    pub(super) fn put_event(&mut self, session: SessionId, event: &NewEvent<'_>) -> Result<bool> {
        let place = match self.place(session) {
            Some(place) => place,
            None => self.begin_growth(session, event.seq)?,
        };
        let surely_new = self.growth[place].follows && self.store.tips.borrow().is_new(session, event.identity);
        if !surely_new && self.run(identities::is_filed(self.conn(), session, event.identity))? {
            return Ok(false);
        }
        if self.growth[place].pack.is_full() || self.growth[place].seq + 1 != event.seq {
            self.flush(place)?;
        }
        self.store.tips.borrow_mut().add(session, event.identity);
        let growth = &mut self.growth[place];
        growth.pack.push(event);
        growth.loose.iter_mut().for_each(|loose| loose.push(event.identity));
        growth.seq = event.seq;
        Ok(true)
    }

    /// Writes what waits of a session.
    pub(super) fn flush_session(&mut self, session: SessionId) -> Result<()> {
        self.place(session).map_or(Ok(()), |place| self.flush(place))
    }

    fn flush(&mut self, place: usize) -> Result<()> {
        let conn = self.conn();
        let growth = &mut self.growth[place];
        let (count, session, seq) = (growth.pack.count(), growth.session.0, growth.seq);
        let Some((last, earlier)) = growth.pack.row() else { return Ok(()) };
        let mut write = || {
            // The number of one event comes by itself; several need as many.
            let ord: Option<i64> = match earlier {
                None => None,
                Some(_) => conn
                    .prepare_cached("SELECT coalesce(max(ord), 0) + ?1 FROM events")?
                    .query_row([count], |row| row.get(0))?,
            };
            conn.prepare_cached(
                "INSERT INTO events (ord, session, seq, prev, identity, at, kind, rules, json, earlier)
                 VALUES (?1, ?2, ?3, coalesce(?4, (SELECT tip FROM sessions WHERE id = ?2)), ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                ord,
                session,
                seq,
                growth.tip,
                last.identity.0.cast_signed(),
                last.at.millis(),
                last.kind,
                last.rules.0.cast_signed(),
                last.json,
                earlier
            ])?;
            let tip = conn.last_insert_rowid();
            identities::file(conn, growth.session, tip, (seq - count, seq), &mut growth.loose).map(|()| tip)
        };
        let tip = self.store.explain(write())?;
        (growth.tip, growth.written) = (Some(tip), true);
        growth.pack.clear();
        Ok(())
    }
}
