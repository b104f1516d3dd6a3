//! What calls are about, and whether their outputs say anything new: for circles in which every call differs.
//!
//! [`Intent`] is a MinHash of the words of an input: two rewordings of one question share most of them. [`KnownWords`]
//! remembers the words of all inputs and outputs, so that an output without a new word counts as known, however it is worded.

use serde::{Deserialize, Serialize};

use super::seen_set::BloomFilter;
use crate::digest::Digest;
use crate::excerpt::{ceil, floor};
use crate::simhash::{hash_word, words};

/// Read from the start and the end of a text. The rest costs time and rarely decides.
const HEAD_BYTES: usize = 640;
const TAIL_BYTES: usize = 256;
/// Read from an input.
const MAX_INTENT_BYTES: usize = 256;
/// Shorter words say little about an intent.
const MIN_WORD_BYTES: usize = 3;
/// One word in so many is remembered, chosen by its hash.
const SAMPLED: u64 = 2;
/// Number of sampled words in the filter. A full filter starts over, which errs on the side of novelty.
const MAX_KNOWN: u32 = 1_200;
/// An output must have so many sampled words to be judged.
const MIN_JUDGED: u32 = 4;
/// Up to one word in so many may be new in an output that says nothing new: a counter, a name that is cut off.
const MAX_NEW_SHARE: u32 = 12;

/// MinHash of the words of an input: eight bits of the smallest hash in each of 16 buckets; 0 is an empty bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Intent([Digest; 2]);

impl Intent {
    const BUCKETS: usize = 16;
    /// Words are compared by their start, so that "connect" and "connection" are the same.
    const STEM_BYTES: usize = 6;

    /// The intent of an input. Programs, flags and paths say how and where, not what.
    pub(crate) fn from_input(input: &str, is_command: bool) -> Self {
        let mut smallest = [u64::MAX; Self::BUCKETS];
        for token in floor(input, MAX_INTENT_BYTES).split_ascii_whitespace().skip(usize::from(is_command)) {
            if token.starts_with('-') || token.contains('/') || token.contains(":\\") {
                continue;
            }
            for word in token.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= MIN_WORD_BYTES) {
                if COMMON_WORDS.contains(&word) {
                    continue;
                }
                let mut stem = [0; Self::STEM_BYTES];
                let len = word.len().min(Self::STEM_BYTES);
                stem[..len].copy_from_slice(&word.as_bytes()[..len]);
                stem.make_ascii_lowercase();
                let hash = hash_word(&stem[..len]);
                let slot = &mut smallest[hash as usize % Self::BUCKETS];
                *slot = (*slot).min(hash >> 8);
            }
        }
        let byte = |hash: u64| if hash == u64::MAX { 0 } else { (hash % 255 + 1) as u8 };
        let bytes = smallest.map(byte);
        let (low, high) = bytes.split_at(8);
        Self([low, high].map(|half| Digest(half.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))))
    }

    /// The share of words that both have: 1 for the same words, 0 if either has fewer than two.
    pub(crate) fn similarity(self, other: Self) -> f32 {
        let (mut shared, mut all, mut mine, mut theirs) = (0_u8, 0_u8, 0_u8, 0_u8);
        for (a, b) in self.bytes().zip(other.bytes()) {
            shared += u8::from(a == b && a != 0);
            all += u8::from(a != 0 || b != 0);
            mine += u8::from(a != 0);
            theirs += u8::from(b != 0);
        }
        if mine < 2 || theirs < 2 { 0.0 } else { f32::from(shared) / f32::from(all) }
    }

    fn bytes(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().flat_map(|half| half.0.to_be_bytes())
    }
}

/// Words that say nothing about what is asked.
const COMMON_WORDS: &[&str] = &[
    "grep", "find", "cat", "sed", "head", "tail", "xargs", "sort", "python", "python3", "node", "bash", "echo",
    "print", "import", "the", "and", "for", "with", "from", "how", "what", "where", "why", "true", "null",
];

/// The words of a session, sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownWords(Option<BloomFilter>);

/// Whether a text says something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It has words that the session has not seen.
    Yes,
    /// All but a few of its words are known.
    No,
    /// It is too short to tell.
    Unknown,
}

impl KnownWords {
    /// Remembers the words of a text and tells whether they are new.
    pub(crate) fn read(&mut self, text: &str) -> Novelty {
        let (mut new, mut all) = (0_u32, 0_u32);
        let known = self.0.get_or_insert_default();
        if known.len >= MAX_KNOWN {
            *known = BloomFilter::default();
        }
        let mut each = |hash: u64| {
            if hash.is_multiple_of(SAMPLED) {
                all += 1;
                let key = Digest(hash.rotate_left(32) / SAMPLED);
                if !known.contains(key) {
                    known.insert(key);
                    new += 1;
                }
            }
        };
        let (head, tail) = if text.len() <= HEAD_BYTES + TAIL_BYTES {
            (text, "")
        } else {
            (floor(text, HEAD_BYTES), ceil(text, text.len() - TAIL_BYTES))
        };
        words(head, &mut each);
        words(tail, &mut each);
        match all {
            0..MIN_JUDGED => Novelty::Unknown,
            _ if new * MAX_NEW_SHARE > all => Novelty::Yes,
            _ => Novelty::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewordings_are_similar_and_other_questions_are_not() {
        let similar = |a: &str, b: &str| Intent::from_input(a, true).similarity(Intent::from_input(b, true));
        assert!(similar("ask connection pool timeout error", "ask timeout error of connect pool") >= 0.75);
        assert!(similar("rg -n \"parse_config\\(\" src/", "grep -rn \"parse config\" crates/core") > 0.99);
        assert!(similar("rg -n \"parse_config\" src/", "rg -n \"render_page\" src/") < 0.1);
        assert!(similar("rg -n foo src/", "rg -n foo lib/") < 0.1, "one word is too little to compare");
        assert!(
            similar("Get-Content -Path src/a.ts", "Get-Content -Path src/b.ts") < 0.1,
            "a program is not a question"
        );
    }

    #[test]
    fn an_output_of_known_words_says_nothing_new() {
        let mut known = KnownWords::default();
        let facts = "the connection pool of the database client is created in the function open_pool and closed by drop \
                     with a timeout of thirty seconds that the settings file overrides for every tenant";
        let reworded = "settings file overrides timeout of the connection pool, created in the function open_pool, closed \
                        by drop for every tenant of the database client";
        let other = "handlers for requests live below routes, each registers middleware that validates cookies, sessions \
                     and origin headers before dispatching towards controllers";
        assert_eq!(
            [known.read(facts), known.read(reworded), known.read(other)],
            [Novelty::Yes, Novelty::No, Novelty::Yes]
        );
        assert_eq!(known.read("ok"), Novelty::Unknown);
    }
}
