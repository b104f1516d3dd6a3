//! The identities of the last events, so that the same fact told twice counts once.

use serde::{Deserialize, Serialize};

use super::recent::Recent;
use crate::digest::Digest;

/// How many identities are remembered; the store's table of them guards the rest.
pub const REMEMBERED: usize = 256;

/// The digests of identities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identities(Recent);

impl Identities {
    pub fn contains(&self, identity: Digest) -> bool {
        self.0.contains(identity)
    }

    /// Remembers an identity; `false` when it was known.
    pub fn insert(&mut self, identity: Digest) -> bool {
        let is_new = !self.contains(identity);
        if is_new {
            self.0.push(identity, REMEMBERED);
        }
        is_new
    }
}
