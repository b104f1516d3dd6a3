//! The ends of the logs that this process writes, so that it need not ask for what it wrote itself: number and place of
//! the last event, and which identities were surely never written.
//!
//! Has another process written since, the next number does not follow the last one and all of this is forgotten; and
//! whatever was built on it is refused by the session's version.

use std::collections::HashMap;

use belay_core::Digest;

use crate::session::SessionId;

/// Sessions that are known.
const MOST: usize = 1024;
/// A filter is filled after so many transactions in a row: where processes take turns it would not last.
const IN_A_ROW: u8 = 4;
/// From so many events on a filter says little, and takes long to fill.
const LONGEST: u64 = 20_000;
/// Bits of a filter: 4 KiB a session.
const BITS: u64 = 32 * 1024;

#[derive(Debug, Default)]
pub(super) struct Tips(HashMap<SessionId, Tip>);

#[derive(Debug)]
struct Tip {
    seq: u64,
    ord: i64,
    /// Transactions of ours, one after the other.
    in_a_row: u8,
    written: Option<Filter>,
}

impl Tips {
    /// The place of the event before the one with this number, if we wrote it.
    pub(super) fn before(&self, session: SessionId, seq: u64) -> Option<i64> {
        self.0.get(&session).filter(|tip| tip.seq + 1 == seq).map(|tip| tip.ord)
    }

    /// Whether it would pay to know all that was written of a session.
    pub(super) fn wants_filter(&self, session: SessionId) -> bool {
        let pays = |tip: &Tip| tip.written.is_none() && tip.in_a_row >= IN_A_ROW && tip.seq < LONGEST;
        self.0.get(&session).is_some_and(pays)
    }

    /// All identities of a session.
    pub(super) fn learn(&mut self, session: SessionId, identities: impl Iterator<Item = Digest>) {
        if let Some(tip) = self.0.get_mut(&session) {
            let mut filter = Filter::new();
            identities.for_each(|identity| filter.add(identity));
            tip.written = Some(filter);
        }
    }

    /// Whether an identity was surely never written.
    pub(super) fn is_new(&self, session: SessionId, identity: Digest) -> bool {
        let filter = self.0.get(&session).and_then(|tip| tip.written.as_ref());
        filter.is_some_and(|filter| !filter.may_have(identity))
    }

    /// An identity was written. If the transaction is rolled back, the filter says maybe once too often.
    pub(super) fn add(&mut self, session: SessionId, identity: Digest) {
        if let Some(filter) = self.0.get_mut(&session).and_then(|tip| tip.written.as_mut()) {
            filter.add(identity);
        }
    }

    /// A transaction was committed whose last event of the session has this number and place; `follows` if it began
    /// where the last one had ended.
    pub(super) fn set(&mut self, session: SessionId, seq: u64, ord: i64, follows: bool) {
        if self.0.len() >= MOST && !self.0.contains_key(&session) {
            self.0.clear();
        }
        let before = self.0.remove(&session).filter(|_| follows);
        let in_a_row = before.as_ref().map_or(0, |tip| tip.in_a_row.saturating_add(1));
        let written = before.and_then(|tip| tip.written).filter(|_| seq < LONGEST);
        self.0.insert(session, Tip { seq, ord, in_a_row, written });
    }
}

/// A Bloom filter: what it does not have was never added.
#[derive(Debug)]
struct Filter(Box<[u64]>);

impl Filter {
    fn new() -> Self {
        Self(vec![0; BITS as usize / 64].into_boxed_slice())
    }

    /// Identities are hashes: two parts of one are two hashes.
    fn places(identity: Digest) -> [(usize, u64); 2] {
        [identity.0, identity.0 >> 32].map(|hash| {
            let bit = hash % BITS;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    fn add(&mut self, identity: Digest) {
        for (word, bit) in Self::places(identity) {
            self.0[word] |= bit;
        }
    }

    fn may_have(&self, identity: Digest) -> bool {
        Self::places(identity).iter().all(|(word, bit)| self.0[*word] & bit != 0)
    }
}

#[cfg(test)]
mod tests;
