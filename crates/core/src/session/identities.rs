//! The identities of the last events, so that the same fact told twice counts once.

use serde::{Deserialize, Serialize};

use super::digest_ring::DigestRing;
use crate::digest::Digest;

/// How many identities are remembered; the store's table of them guards the rest.
pub const MAX_RECENT: usize = 256;

/// The digests of identities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecentIdentities(DigestRing);

impl RecentIdentities {
    pub fn contains(&self, identity: Digest) -> bool {
        self.0.contains(identity)
    }

    /// Remembers an identity that is not known.
    pub fn insert(&mut self, identity: Digest) {
        self.0.push(identity, MAX_RECENT);
    }
}
