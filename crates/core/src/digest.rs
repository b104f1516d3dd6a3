//! 64-bit content digests: small, fast, stable across platforms and releases.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// xxh3 of bytes, written as 16 hex digits. Not cryptographic: it distinguishes texts but does not resist an
/// adversary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema)]
#[schemars(with = "String")]
pub struct Digest(pub u64);

impl Digest {
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self(xxh3_64(bytes.as_ref()))
    }

    /// Digest of several parts; part boundaries matter.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut whole = DigestBuilder::default();
        for part in parts {
            whole.add(&(part.len() as u64).to_le_bytes());
            whole.add(part);
        }
        whole.digest()
    }

    /// Digest of concatenated pieces: equal to [`Digest::from_bytes`] of the complete text.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut whole = DigestBuilder::default();
        pieces.into_iter().for_each(|piece| whole.add(piece.as_bytes()));
        whole.digest()
    }

    /// The 16 hex digits.
    fn hex(self) -> [u8; 16] {
        // Eight digits at once, one per byte; those above nine become letters.
        let eight = |half: u32| {
            let wide = u64::from(half);
            let wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
            let wide = (wide | wide << 8) & 0x00ff_00ff_00ff_00ff;
            let wide = (wide | wide << 4) & 0x0f0f_0f0f_0f0f_0f0f;
            let letters = (wide + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
            (wide + 0x3030_3030_3030_3030 + letters * 0x27).to_be_bytes()
        };
        let mut hex = [0; 16];
        hex[..8].copy_from_slice(&eight((self.0 >> 32) as u32));
        hex[8..].copy_from_slice(&eight(self.0 as u32));
        hex
    }

    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 16).then(|| u64::from_str_radix(hex, 16).ok().map(Self)).flatten()
    }
}

/// Pieces on their way to one digest. What is short, as most is, is put together first: then it is several times as quick.
struct DigestBuilder {
    room: [u8; 240],
    len: usize,
    long: Option<Xxh3>,
}

impl Default for DigestBuilder {
    fn default() -> Self {
        Self { room: [0; 240], len: 0, long: None }
    }
}

impl DigestBuilder {
    #[inline]
    fn add(&mut self, piece: &[u8]) {
        let end = self.len + piece.len();
        match (&mut self.long, self.room.get_mut(self.len..end)) {
            (Some(long), _) => long.update(piece),
            (None, Some(room)) => {
                room.copy_from_slice(piece);
                self.len = end;
            }
            (None, None) => {
                let mut long = Xxh3::new();
                long.update(&self.room[..self.len]);
                long.update(piece);
                self.long = Some(long);
            }
        }
    }

    fn digest(&self) -> Digest {
        Digest(self.long.as_ref().map_or_else(|| xxh3_64(&self.room[..self.len]), Xxh3::digest))
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
        // Avoids the formatting machinery, because a session holds hundreds of digests.
        serializer.serialize_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        // Other hashes (sha256, git blob ids) are accepted, since digests are only compared.
        Ok(Self::parse(&text).unwrap_or_else(|| Self::from_bytes(text.as_bytes())))
    }
}
