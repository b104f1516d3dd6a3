//! The ends of the logs that this process writes, so that it need not ask for what it wrote itself: number and place of
//! the last event, and which identities were surely never written.
//!
//! Has another process written since, the next number does not follow the last one and all of this is forgotten; and
//! whatever was built on it is refused by the session's version.

use belay_core::Digest;
use foldhash::HashMap;

use super::identities::Loose;
use crate::session::SessionId;

/// Sessions that are known.
const MOST: usize = 1024;
/// A filter is filled after so many transactions in a row: where processes take turns it would not last.
const IN_A_ROW: u8 = 4;
/// Identities that a filter has room for at least, and bits for each of them: 4 KiB.
const ROOM: usize = 1024;
const BITS_EACH: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Tips(HashMap<SessionId, Tip>);

#[derive(Debug)]
struct Tip {
    seq: u64,
    ord: i64,
    /// Transactions of ours, one after the other.
    in_a_row: u8,
    written: Option<Filter>,
    loose: Loose,
}

impl Tips {
    /// The place of the event before the one with this number, if we wrote it.
    pub(super) fn before(&self, session: SessionId, seq: u64) -> Option<i64> {
        self.0.get(&session).filter(|tip| tip.seq + 1 == seq).map(|tip| tip.ord)
    }

    /// Whether it would pay to know all that was written of a session.
    pub(super) fn wants_filter(&self, session: SessionId) -> bool {
        let pays = |tip: &Tip| tip.written.is_none() && tip.in_a_row >= IN_A_ROW;
        self.0.get(&session).is_some_and(pays)
    }

    /// All identities of a session: those that are filed, and those since.
    pub(super) fn learn(&mut self, session: SessionId, filed: &[Digest], loose: Vec<Digest>) {
        if let Some(tip) = self.0.get_mut(&session) {
            let mut filter = Filter::new(filed.len() + loose.len());
            filed.iter().chain(&loose).for_each(|identity| filter.add(*identity));
            tip.loose = Some(loose);
            tip.written = Some(filter);
        }
    }

    /// Those of its last events that have still to be filed. If the transaction comes to nothing, nobody knows them.
    pub(super) fn take_loose(&mut self, session: SessionId) -> Loose {
        self.0.get_mut(&session)?.loose.take()
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
    pub(super) fn set(&mut self, session: SessionId, seq: u64, ord: i64, follows: bool, loose: Loose) {
        if self.0.len() >= MOST && !self.0.contains_key(&session) {
            self.0.clear();
        }
        let before = self.0.remove(&session).filter(|_| follows);
        let in_a_row = before.as_ref().map_or(0, |tip| tip.in_a_row.saturating_add(1));
        let written = before.and_then(|tip| tip.written).filter(|filter| !filter.is_full());
        self.0.insert(session, Tip { seq, ord, in_a_row, written, loose });
    }
}

/// A Bloom filter: what it does not have was never added.
#[derive(Debug)]
struct Filter {
    words: Box<[u64]>,
    /// Identities it has room for until it says little.
    room: usize,
}

impl Filter {
    /// A filter for so many identities, and as many again.
    fn new(count: usize) -> Self {
        let room = (2 * count).max(ROOM).next_power_of_two();
        Self { words: vec![0; room * BITS_EACH / 64].into_boxed_slice(), room }
    }

    fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Two words of the filter, and four bits in each of them. To be wrong means to read all that is filed, so it should
    /// be wrong once in many thousand times.
    fn places(&self, identity: Digest) -> [(usize, u64); 2] {
        // Identities are hashes: some bits of one choose the word, others the bits in it.
        [identity.0, identity.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)].map(|hash| {
            let bit = |shift: u32| 1 << ((hash >> shift) & 63);
            ((hash as usize) % self.words.len(), bit(40) | bit(46) | bit(52) | bit(58))
        })
    }

    fn add(&mut self, identity: Digest) {
        for (word, bits) in self.places(identity) {
            self.words[word] |= bits;
        }
        self.room = self.room.saturating_sub(1);
    }

    fn may_have(&self, identity: Digest) -> bool {
        self.places(identity).into_iter().all(|(word, bits)| self.words[word] & bits == bits)
    }
}

#[cfg(test)]
mod tests;
