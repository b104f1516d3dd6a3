//! What a session has already come across: contents, looks, pairs of action and outcome.
//!
//! The newest marks are kept exactly. What is pushed out goes into a Bloom filter and still counts as
//! seen; when that filter fills up, it becomes the older one of two and a new one begins. So memory
//! is bounded, and what is forgotten at last (after some thousand marks) counts as new: when in
//! doubt, the agent made progress.

use serde::{Deserialize, Serialize};

use super::identities::DigestRing;
use crate::digest::Digest;

/// How many marks are kept exactly.
const MAX_EXACT: usize = 128;
/// Words of one filter: 12 Kibit.
const BLOOM_WORDS: usize = 192;
/// How many marks one filter takes before it would answer "seen" too often (about 1 in 100).
const BLOOM_CAPACITY: u32 = 1_200;
/// Bits set per mark.
const BLOOM_PROBES: u32 = 6;

/// The memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenSet {
    recent: DigestRing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    older: Option<BloomFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oldest: Option<BloomFilter>,
}

impl SeenSet {
    pub fn contains(&self, mark: Digest) -> bool {
        self.recent.contains(mark)
            || [&self.older, &self.oldest].into_iter().flatten().any(|bloom| bloom.contains(mark))
    }

    /// Remembers a mark; `true` when it was new.
    pub fn insert(&mut self, mark: Digest) -> bool {
        if self.contains(mark) {
            return false;
        }
        if let Some(evicted) = self.recent.push(mark, MAX_EXACT) {
            self.put_away(evicted);
        }
        true
    }

    fn put_away(&mut self, mark: Digest) {
        if self.older.as_ref().is_some_and(|bloom| bloom.held >= BLOOM_CAPACITY) {
            self.oldest = self.older.take();
        }
        self.older.get_or_insert_default().insert(mark);
    }
}

/// A set that never forgets and is rarely wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BloomFilter {
    held: u32,
    #[serde(with = "hex")]
    words: Vec<u64>,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { held: 0, words: vec![0; BLOOM_WORDS] }
    }
}

impl BloomFilter {
    fn insert(&mut self, mark: Digest) {
        self.held += 1;
        for bit in bits(mark) {
            if let Some(word) = self.words.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    fn contains(&self, mark: Digest) -> bool {
        bits(mark).all(|bit| self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1))
    }
}

/// Double hashing: the two halves of the digest are as good as two hashes.
fn bits(mark: Digest) -> impl Iterator<Item = usize> {
    let (step, start) = (mark.0 >> 32 | 1, mark.0 & 0xffff_ffff);
    (0..u64::from(BLOOM_PROBES)).map(move |i| (start.wrapping_add(i.wrapping_mul(step)) as usize) % (BLOOM_WORDS * 64))
}

/// Words as one text, for a small snapshot.
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
