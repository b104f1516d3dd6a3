//! The ends of the logs that this process writes, so that it need not ask for what it wrote itself: number and place of
//! the last event, and which identities are surely not filed yet.
//!
//! Has another process written since, the next number does not follow the last one and all of this is forgotten; and
//! whatever was built on it is refused by the session's version.

use std::collections::HashMap;

use belay_core::Digest;

use crate::session::SessionId;

/// Sessions that are known.
const MOST: usize = 1024;
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
    filed: Option<Filter>,
}

impl Tips {
    /// The place of the event before the one with this number, if we wrote it.
    pub(super) fn before(&self, session: SessionId, seq: u64) -> Option<i64> {
        self.0.get(&session).filter(|tip| tip.seq + 1 == seq).map(|tip| tip.ord)
    }

    /// Whether it would pay to know what is filed for a session.
    pub(super) fn wants_filter(&self, session: SessionId) -> bool {
        self.0.get(&session).is_some_and(|tip| tip.filed.is_none() && tip.seq < LONGEST)
    }

    /// All that is filed for a session.
    pub(super) fn learn(&mut self, session: SessionId, filed: impl Iterator<Item = Digest>) {
        if let Some(tip) = self.0.get_mut(&session) {
            let mut filter = Filter::new();
            filed.for_each(|identity| filter.add(identity));
            tip.filed = Some(filter);
        }
    }

    /// Whether an identity is surely not filed.
    pub(super) fn is_new(&self, session: SessionId, identity: Digest) -> bool {
        let filter = self.0.get(&session).and_then(|tip| tip.filed.as_ref());
        filter.is_some_and(|filter| !filter.may_have(identity))
    }

    /// An identity was written, and will be filed. If the transaction is rolled back, the filter says maybe once too often.
    pub(super) fn add(&mut self, session: SessionId, identity: Digest) {
        if let Some(filter) = self.0.get_mut(&session).and_then(|tip| tip.filed.as_mut()) {
            filter.add(identity);
        }
    }

    /// A transaction was committed whose last event of the session has this number and place; `follows` if it began
    /// where the last one had ended.
    pub(super) fn set(&mut self, session: SessionId, seq: u64, ord: i64, follows: bool) {
        if self.0.len() >= MOST && !self.0.contains_key(&session) {
            self.0.clear();
        }
        let filed = self.0.remove(&session).and_then(|tip| tip.filed).filter(|_| follows);
        self.0.insert(session, Tip { seq, ord, filed });
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
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId(1);

    fn identities(range: std::ops::Range<u32>) -> impl Iterator<Item = Digest> {
        range.map(|n| Digest::of(n.to_le_bytes()))
    }

    #[test]
    fn what_was_filed_is_never_called_new_and_nearly_all_else_is() {
        let mut tips = Tips::default();
        tips.set(SESSION, 1000, 1000, true);
        assert!(!tips.is_new(SESSION, Digest(7)), "nothing is known yet");
        tips.learn(SESSION, identities(0..900));
        identities(900..1000).for_each(|identity| tips.add(SESSION, identity));
        tips.set(SESSION, 1100, 1100, true);
        assert!(identities(0..1000).all(|identity| !tips.is_new(SESSION, identity)));
        let called_new = identities(1000..11_000).filter(|identity| tips.is_new(SESSION, *identity)).count();
        assert!(called_new > 9_900, "{called_new}");
    }

    #[test]
    fn where_another_process_wrote_nothing_is_known_any_more() {
        let mut tips = Tips::default();
        tips.set(SESSION, 5, 50, true);
        tips.learn(SESSION, identities(0..5));
        assert_eq!((tips.before(SESSION, 6), tips.before(SESSION, 8)), (Some(50), None));
        tips.set(SESSION, 8, 80, false);
        assert!(tips.wants_filter(SESSION) && !tips.is_new(SESSION, Digest(7)));
    }
}
