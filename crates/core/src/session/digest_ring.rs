//! A ring of digests. Most of those it is asked for it does not hold, and then it knows without going through them: it
//! counts how many it holds of each of a thousand classes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize, Serializer};

use crate::digest::Digest;

const CLASSES: usize = 1024;

/// The ring, oldest first.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "VecDeque<Digest>")]
pub(super) struct DigestRing {
    ring: VecDeque<Digest>,
    counts: Box<[u16; CLASSES]>,
}

impl DigestRing {
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.counts[class(digest)] > 0 && self.ring.contains(&digest)
    }

    /// Takes one more, and tells which had to go for it where there were as many as there may be.
    pub(super) fn push(&mut self, digest: Digest, most: usize) -> Option<Digest> {
        let gone = if self.ring.len() < most { None } else { self.ring.pop_front() };
        if let Some(gone) = gone {
            self.counts[class(gone)] -= 1;
        }
        self.counts[class(digest)] += 1;
        self.ring.push_back(digest);
        gone
    }
}

fn class(digest: Digest) -> usize {
    digest.0 as usize % CLASSES
}

impl Default for DigestRing {
    fn default() -> Self {
        Self { ring: VecDeque::new(), counts: Box::new([0; CLASSES]) }
    }
}

impl PartialEq for DigestRing {
    fn eq(&self, other: &Self) -> bool {
        self.ring == other.ring
    }
}

impl From<VecDeque<Digest>> for DigestRing {
    fn from(ring: VecDeque<Digest>) -> Self {
        let mut counts = Box::new([0; CLASSES]);
        ring.iter().for_each(|digest| counts[class(*digest)] += 1);
        Self { ring, counts }
    }
}

impl Serialize for DigestRing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.ring.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
