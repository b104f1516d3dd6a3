//! 64-bit content digests: small, quick, stable across platforms and releases.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// xxh3 of some bytes, written as 16 hex digits. Not cryptographic: it tells equal from different,
/// it does not prove anything to an adversary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema)]
#[schemars(with = "String")]
pub struct Digest(pub u64);

impl Digest {
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(xxh3_64(bytes.as_ref()))
    }

    /// Digest of several parts; where one part ends and the next begins makes a difference.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.digest())
    }

    /// Digest of pieces as if they stood in one text: equal to [`Digest::of`] of the whole.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = Xxh3::new();
        for piece in pieces {
            hasher.update(piece.as_bytes());
        }
        Self(hasher.digest())
    }

    /// As [`Digest::of_pieces`] of two, which are short for the most part: then it is several times as quick.
    pub fn of_two(first: &str, second: &str) -> Self {
        let mut room = [0; 240];
        let (len, both) = (first.len(), first.len() + second.len());
        match room.get_mut(..both) {
            Some(room) => {
                room[..len].copy_from_slice(first.as_bytes());
                room[len..].copy_from_slice(second.as_bytes());
                Self::of(room)
            }
            None => Self::of_pieces([first, second]),
        }
    }

    /// The 16 hex digits.
    fn hex(self) -> [u8; 16] {
        let mut hex = [0; 16];
        for (at, digit) in hex.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(self.0 >> (60 - 4 * at)) as usize & 15];
        }
        hex
    }

    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 16).then(|| u64::from_str_radix(hex, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A session holds hundreds of them: no formatting machinery.
        serializer.serialize_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        // Foreign hashes (sha256, git blob ids) are welcome: they only need to tell equal from different.
        Ok(Self::parse(&text).unwrap_or_else(|| Self::of(text.as_bytes())))
    }
}
