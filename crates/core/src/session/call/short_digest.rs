//! 32-bit digests, because a window holds many of them.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// A digest folded to 32 bits: enough to distinguish the calls of one window. Zero means "none".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShortDigest(u32);

impl ShortDigest {
    pub const NONE: Self = Self(0);

    pub fn is_some(self) -> bool {
        self != Self::NONE
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    /// Equal and known on both sides.
    pub fn equals_if_known(self, other: Self) -> bool {
        self.is_some() && self == other
    }

    /// Not known to differ: an unknown digest is compatible with any.
    pub fn is_compatible_with(self, other: Self) -> bool {
        self == other || !self.is_some() || !other.is_some()
    }
}

impl From<Digest> for ShortDigest {
    fn from(digest: Digest) -> Self {
        // Zero means "none".
        Self(((digest.0 >> 32) as u32 ^ digest.0 as u32).max(1))
    }
}

impl From<Option<Digest>> for ShortDigest {
    fn from(digest: Option<Digest>) -> Self {
        digest.map_or(Self::NONE, Self::from)
    }
}
