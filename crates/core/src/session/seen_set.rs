//! A bounded set of everything a session has seen: contents, reads, pairs of action and outcome.
//!
//! The newest keys are exact. Evicted keys go into a Bloom filter; a full filter becomes the older of two and
//! a new one starts. Keys of the oldest filter are eventually dropped (after a few thousand) and then count as
//! new, which errs on the side of progress.

use serde::{Deserialize, Serialize};

use super::identities::DigestRing;
use crate::digest::Digest;

/// Number of exact keys.
const MAX_EXACT: usize = 128;
/// 64-bit words per filter: 12 Kibit.
const BLOOM_WORDS: usize = 192;
/// Keys per filter, for a false positive rate of about 1 %.
const BLOOM_CAPACITY: u32 = 1_200;
/// Bits set per key.
const BLOOM_PROBES: u32 = 6;

/// The keys seen so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenSet {
    recent: DigestRing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    older: Option<BloomFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oldest: Option<BloomFilter>,
}

impl SeenSet {
    pub fn contains(&self, key: Digest) -> bool {
        self.recent.contains(key) || [&self.older, &self.oldest].into_iter().flatten().any(|bloom| bloom.contains(key))
    }

    /// Adds a key; `true` if it is new.
    pub fn insert(&mut self, key: Digest) -> bool {
        if self.contains(key) {
            return false;
        }
        if let Some(evicted) = self.recent.push(key, MAX_EXACT) {
            self.archive(evicted);
        }
        true
    }

    fn archive(&mut self, key: Digest) {
        if self.older.as_ref().is_some_and(|bloom| bloom.len >= BLOOM_CAPACITY) {
            self.oldest = self.older.take();
        }
        self.older.get_or_insert_default().insert(key);
    }
}

/// A fixed-size Bloom filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BloomFilter {
    pub(super) len: u32,
    #[serde(with = "hex")]
    words: Vec<u64>,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { len: 0, words: vec![0; BLOOM_WORDS] }
    }
}

impl BloomFilter {
    pub(super) fn insert(&mut self, key: Digest) {
        self.len += 1;
        for bit in bits(key) {
            if let Some(word) = self.words.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    pub(super) fn contains(&self, key: Digest) -> bool {
        bits(key).all(|bit| self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1))
    }
}

/// Double hashing over the two halves of the digest.
fn bits(key: Digest) -> impl Iterator<Item = usize> {
    let (step, start) = (key.0 >> 32 | 1, key.0 & 0xffff_ffff);
    (0..u64::from(BLOOM_PROBES)).map(move |i| (start.wrapping_add(i.wrapping_mul(step)) as usize) % (BLOOM_WORDS * 64))
}

/// Serialises the words as one hex string to keep snapshots small.
mod hex {
    use std::fmt::Write;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Digest;

    pub(super) fn serialize<S: Serializer>(words: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(words.len() * 16);
        for word in words {
            let _ = write!(text, "{}", Digest(*word));
        }
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let word = |at: usize| text.get(at..at + 16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let words: Option<Vec<u64>> = (0..text.len()).step_by(16).map(word).collect();
        match words {
            Some(words) if words.len() == super::BLOOM_WORDS => Ok(words),
            _ => Err(D::Error::custom("a filter of seen marks is damaged")),
        }
    }
}

#[cfg(test)]
mod tests;
