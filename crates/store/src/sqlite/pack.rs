//! Events of a session that are written together, as one row.
//!
//! A row costs about as much as what is in it does: a key to find, a record to build, a cell to make room for. An agent's
//! turn is four events, and a busy moment has many turns, so the events of one transaction share rows. The last event of a
//! row has the columns to itself, as if it were alone; the ones before it stand in `earlier`, one after the other.

use belay_core::{Digest, Timestamp};

use crate::rows::NewEvent;

/// Most events of a row: whoever wants one of them has to read them all.
pub(super) const MOST: u64 = 128;
/// A row with so many bytes gets no more events.
const ENOUGH: usize = 64 * 1024;

/// Identity, time, rules, and the lengths of kind and JSON.
const HEADER: usize = 8 + 8 + 8 + 1 + 4;

/// Events that wait to become a row.
#[derive(Debug, Default)]
pub(super) struct Pack {
    bytes: Vec<u8>,
    count: u64,
    /// Where the last event begins.
    last: usize,
}

/// An event in a pack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packed<'a> {
    pub(super) identity: Digest,
    pub(super) at: Timestamp,
    pub(super) rules: Digest,
    pub(super) kind: &'a str,
    pub(super) json: &'a str,
}

impl Pack {
    /// Adds an event. Its number has to follow the last one's.
    pub(super) fn push(&mut self, event: &NewEvent<'_>) {
        self.last = self.bytes.len();
        self.count += 1;
        let (kind, json) = (event.kind.as_bytes(), event.json.as_bytes());
        // Kinds are words of ours, and JSON of 4 GiB is refused long before.
        let lengths = (u8::try_from(kind.len()).unwrap_or(u8::MAX), u32::try_from(json.len()).unwrap_or(u32::MAX));
        self.bytes.reserve(HEADER + kind.len() + json.len());
        self.bytes.extend_from_slice(&event.identity.0.to_be_bytes());
        self.bytes.extend_from_slice(&event.at.millis().to_be_bytes());
        self.bytes.extend_from_slice(&event.rules.0.to_be_bytes());
        self.bytes.push(lengths.0);
        self.bytes.extend_from_slice(&lengths.1.to_be_bytes());
        self.bytes.extend_from_slice(&kind[..usize::from(lengths.0)]);
        self.bytes.extend_from_slice(json);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= MOST || self.bytes.len() >= ENOUGH
    }

    /// The last event, and those before it as they go into their column; `None` when there is nothing to write.
    pub(super) fn row(&self) -> Option<(Packed<'_>, Option<&[u8]>)> {
        let (earlier, last) = self.bytes.split_at(self.last);
        Some((next(last)?.0.read()?, Some(earlier).filter(|earlier| !earlier.is_empty())))
    }

    /// Empty again; the memory stays, unless it is much.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * ENOUGH);
        (self.count, self.last) = (0, 0);
    }
}

/// The events of the column `earlier`, oldest first; `None` when it is damaged.
pub(super) fn unpack(mut bytes: &[u8]) -> Option<Vec<Packed<'_>>> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let (event, rest) = next(bytes)?;
        events.push(event.read()?);
        bytes = rest;
    }
    Some(events)
}

/// Their identities alone, as far as they can be read.
pub(super) fn identities(mut bytes: &[u8]) -> Vec<Digest> {
    let mut identities = Vec::new();
    while let Some((event, rest)) = next(bytes) {
        identities.push(event.identity);
        bytes = rest;
    }
    identities
}

/// An event in a pack whose texts nobody has looked at.
struct Raw<'a> {
    identity: Digest,
    at: Timestamp,
    rules: Digest,
    kind: &'a [u8],
    json: &'a [u8],
}

impl<'a> Raw<'a> {
    fn read(&self) -> Option<Packed<'a>> {
        let Self { identity, at, rules, kind, json } = *self;
        let (kind, json) = (str::from_utf8(kind).ok()?, str::from_utf8(json).ok()?);
        Some(Packed { identity, at, rules, kind, json })
    }
}

fn next(bytes: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    let (identity, bytes) = bytes.split_first_chunk::<8>()?;
    let (at, bytes) = bytes.split_first_chunk::<8>()?;
    let (rules, bytes) = bytes.split_first_chunk::<8>()?;
    let ([kind], bytes) = bytes.split_first_chunk::<1>()?;
    let (json, bytes) = bytes.split_first_chunk::<4>()?;
    let (kind, bytes) = bytes.split_at_checked(usize::from(*kind))?;
    let (json, bytes) = bytes.split_at_checked(usize::try_from(u32::from_be_bytes(*json)).ok()?)?;
    let event = Raw {
        identity: Digest(u64::from_be_bytes(*identity)),
        at: Timestamp::from_millis(i64::from_be_bytes(*at)),
        rules: Digest(u64::from_be_bytes(*rules)),
        kind,
        json,
    };
    Some((event, bytes))
}

#[cfg(test)]
mod tests;
