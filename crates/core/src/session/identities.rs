//! The identities of the last events, so that the same fact told twice counts once.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// How many identities are remembered; the store's table of them guards the rest.
pub const REMEMBERED: usize = 256;

/// A ring of digests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identities(VecDeque<Digest>);

impl Identities {
    pub fn contains(&self, identity: Digest) -> bool {
        holds(&self.0, identity)
    }

    /// Remembers an identity; `false` when it was known.
    pub fn insert(&mut self, identity: Digest) -> bool {
        if self.contains(identity) {
            return false;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(identity);
        true
    }
}

/// Whether a ring holds a digest. Most do not, so there is no way out between neighbours: they are compared together.
pub(super) fn holds(ring: &VecDeque<Digest>, digest: Digest) -> bool {
    let (older, newer) = ring.as_slices();
    let any = |some: &[Digest]| some.iter().fold(false, |any, known| any | (*known == digest));
    older.chunks(32).chain(newer.chunks(32)).any(any)
}
