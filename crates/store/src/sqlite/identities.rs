//! Which facts a session has been told: the same one counts once, however long ago it was.
//!
//! The last ones are remembered by the session itself. The rest is filed, many at a time, in rows that are read through
//! from end to end: 8 bytes an event are soon read, and a tree that finds each of them by itself would be written all over
//! with every few events.

use belay_core::Digest;
use rusqlite::{Connection, params};

use super::pack;
use crate::session::SessionId;
use crate::traits::UNFILED;

/// So many are filed at a time.
const SHEET: u64 = 128;

// What waits to be written and what waits to be filed is what the session has to remember.
const _: () = assert!(pack::MOST + SHEET - 1 <= UNFILED);

/// The identities since the last full sheet, as far as somebody has kept them.
pub(super) type Loose = Option<Vec<Digest>>;

/// Files the identities of events up to a full sheet, if the ones just written fill it: those with numbers after `before`
/// and up to `now`, in the session's last row.
pub(super) fn file(
    conn: &Connection,
    session: SessionId,
    tip: i64,
    (before, now): (u64, u64),
    loose: &mut Loose,
) -> rusqlite::Result<()> {
    let (filed, full) = (before / SHEET * SHEET, now / SHEET * SHEET);
    if filed == full {
        return Ok(());
    }
    let identities: Vec<Digest> = match loose {
        Some(kept) if kept.len() as u64 == now - filed => kept.drain(..(full - filed) as usize).collect(),
        _ => {
            // What was kept does not go with the log: it is of no use any more.
            *loose = None;
            let mut found = Vec::new();
            walk_back(conn, tip, filed, |seq, identity| found.extend((seq <= full).then_some(identity)))?;
            found
        }
    };
    let sheet: Vec<u8> = identities.iter().flat_map(|identity| identity.0.to_be_bytes()).collect();
    conn.prepare_cached("INSERT INTO filed (session, identities) VALUES (?1, ?2)")?
        .execute(params![session.0, sheet])
        .map(drop)
}

/// Whether an identity is filed.
pub(super) fn is_filed(conn: &Connection, session: SessionId, identity: Digest) -> rusqlite::Result<bool> {
    let wanted = identity.0.to_be_bytes();
    let mut statement = conn.prepare_cached("SELECT identities FROM filed WHERE session = ?1")?;
    let mut rows = statement.query([session.0])?;
    while let Some(row) = rows.next()? {
        if identities(row.get_ref(0)?.as_blob()?).any(|known| *known == wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All identities of a session whose last row is `tip` and whose last event has that number: those on sheets, and those
/// since.
pub(super) fn all(
    conn: &Connection,
    session: SessionId,
    tip: i64,
    seq: u64,
) -> rusqlite::Result<(Vec<Digest>, Vec<Digest>)> {
    let mut all = Vec::new();
    let mut statement = conn.prepare_cached("SELECT identities FROM filed WHERE session = ?1")?;
    let mut rows = statement.query([session.0])?;
    while let Some(row) = rows.next()? {
        all.extend(identities(row.get_ref(0)?.as_blob()?).map(|bytes| Digest(u64::from_be_bytes(*bytes))));
    }
    let mut loose = Vec::new();
    walk_back(conn, tip, seq / SHEET * SHEET, |_, identity| loose.push(identity))?;
    loose.reverse();
    Ok((all, loose))
}

fn identities(row: &[u8]) -> impl Iterator<Item = &[u8; 8]> {
    row.as_chunks().0.iter()
}

/// Tells number and identity of a session's events after the one with number `back_to`, from the row `tip` on back.
fn walk_back(conn: &Connection, tip: i64, back_to: u64, mut tell: impl FnMut(u64, Digest)) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached("SELECT prev, seq, identity, earlier FROM events WHERE ord = ?1")?;
    let mut at = Some(tip);
    while let Some(ord) = at {
        let mut rows = statement.query([ord])?;
        let Some(row) = rows.next()? else { break };
        let seq: u64 = row.get(1)?;
        if seq <= back_to {
            break;
        }
        tell(seq, Digest(row.get::<_, i64>(2)?.cast_unsigned()));
        // A damaged row must not keep the session from going on: at worst a fact counts twice.
        let earlier = pack::identities(row.get_ref(3)?.as_blob_or_null()?.unwrap_or_default());
        for (seq, identity) in (back_to + 1..seq).rev().zip(earlier.into_iter().rev()) {
            tell(seq, identity);
        }
        at = row.get(0)?;
    }
    Ok(())
}
