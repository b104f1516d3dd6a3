//! Identities of recent events: a duplicate that arrives soon after the original needs no store lookup.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// How many identities a session remembers. The log detects older duplicates.
pub const MAX_RECENT: usize = 256;

/// Identities of recent events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecentIdentities(DigestRing);

impl RecentIdentities {
    pub fn contains(&self, identity: Digest) -> bool {
        self.0.contains(identity)
    }

    /// Adds an identity that is not contained yet.
    pub fn insert(&mut self, identity: Digest) {
        self.0.push(identity, MAX_RECENT);
    }
}

/// The most recent digests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DigestRing(VecDeque<Digest>);

impl DigestRing {
    /// Compares all digests without stopping at the first equal one, so that the compiler compares several at a time: most
    /// events and keys are new (`bench core`).
    pub(super) fn contains(&self, digest: Digest) -> bool {
        let (front, back) = self.0.as_slices();
        [front, back].into_iter().any(|part| part.iter().fold(false, |found, known| found | (known.0 == digest.0)))
    }

    /// Adds a digest. Returns the oldest one if the ring was full.
    pub(super) fn push(&mut self, digest: Digest, capacity: usize) -> Option<Digest> {
        let evicted = if self.0.len() < capacity { None } else { self.0.pop_front() };
        self.0.push_back(digest);
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_drops_the_oldest() {
        let mut ring = DigestRing::default();
        let evicted: Vec<_> = (1..=4).map(|n| ring.push(Digest(n), 2)).collect();
        assert_eq!(evicted, [None, None, Some(Digest(1)), Some(Digest(2))]);
        assert_eq!([1, 2, 3, 4].map(|n| ring.contains(Digest(n))), [false, false, true, true]);
    }
}
