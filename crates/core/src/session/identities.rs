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

    /// Remembers an identity that is not known.
    pub fn remember(&mut self, identity: Digest) {
        self.0.push(identity, REMEMBERED);
    }
}
