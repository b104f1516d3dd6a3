//! Near-equality of texts: a 64-bit simhash of overlapping word pairs.
//!
//! Two texts that share most of their word pairs have simhashes that differ in few bits. Words are
//! runs of letters and digits of any script; scripts written without spaces are cut into single
//! characters, so that Japanese compares as well as English.

use crate::digest::Digest;
use crate::event::TextFingerprint;
use crate::outcome::normalise;

/// Similarity of two texts by their simhashes: the estimated cosine, 0 for unrelated texts.
pub fn similarity(a: Digest, b: Digest) -> f32 {
    let distance = (a.0 ^ b.0).count_ones();
    (std::f32::consts::PI * distance as f32 / 64.0).cos().max(0.0)
}

/// Simhash of the word pairs of a text.
pub fn simhash(text: &str) -> Digest {
    let mut votes = BitVotes::default();
    let mut previous = 0u64;
    words(text, |hash| {
        // Single words make one-word texts comparable; pairs preserve order.
        votes.add(hash);
        votes.add(hash.rotate_left(17) ^ previous);
        previous = hash.wrapping_mul(HASH_MULTIPLIER);
    });
    Digest(votes.majority())
}

/// Counts, for each of 64 bits, how many hashes have it set. The counters are bit-sliced: plane `i` holds bit
/// `i` of all 64, and hashes are added eight at a time (carry-save), which takes a few operations per hash
/// instead of 64.
#[derive(Default)]
struct BitVotes {
    planes: [u64; 32],
    waiting: [u64; 8],
    cast: usize,
}

impl BitVotes {
    fn add(&mut self, hash: u64) {
        self.waiting[self.cast % 8] = hash;
        self.cast += 1;
        if self.cast.is_multiple_of(8) {
            self.count();
        }
    }

    /// Adds the buffered hashes; unused slots must be zero.
    fn count(&mut self) {
        /// Sum and carry of three bits, 64 times.
        fn three(a: u64, b: u64, c: u64) -> (u64, u64) {
            (a ^ b ^ c, (a & b) | ((a ^ b) & c))
        }
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let (one, two_a) = three(self.planes[0], a, b);
        let (one, two_b) = three(one, c, d);
        let (one, two_c) = three(one, e, f);
        let (one, two_d) = three(one, g, h);
        let (two, four_a) = three(self.planes[1], two_a, two_b);
        let (two, four_b) = three(two, two_c, two_d);
        let (four, eight) = three(self.planes[2], four_a, four_b);
        (self.planes[0], self.planes[1], self.planes[2]) = (one, two, four);
        let mut carry = eight;
        for plane in &mut self.planes[3..] {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
        self.waiting = [0; 8];
    }

    /// The bits set in more than half of the hashes; all counters are compared at once from the highest plane
    /// down.
    fn majority(mut self) -> u64 {
        self.count();
        let half = self.cast / 2;
        let (mut more, mut equal) = (0, u64::MAX);
        for (i, plane) in self.planes.iter().enumerate().rev() {
            let bit = if half >> i & 1 == 1 { u64::MAX } else { 0 };
            more |= equal & plane & !bit;
            equal &= !(plane ^ bit);
        }
        more
    }
}

/// Calls `each` with the hash of every word; punctuation separates and is itself dropped.
pub(crate) fn words(text: &str, mut each: impl FnMut(u64)) {
    let bytes = text.as_bytes();
    // Start of the current word.
    let mut start = 0;
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        if ASCII_WORD_BYTES[usize::from(b)] {
            at += 1;
            continue;
        }
        let wide = if b.is_ascii() { None } else { text[at..].chars().next() };
        let end = at + wide.map_or(1, char::len_utf8);
        let alone = wide.is_some_and(is_cjk);
        if !alone && wide.is_some_and(is_part) {
            at = end;
            continue;
        }
        if start < at {
            each(hash_word(&bytes[start..at]));
        }
        if alone {
            each(hash_word(&bytes[at..end]));
        }
        at = end;
        start = end;
    }
    if start < at {
        each(hash_word(&bytes[start..at]));
    }
}

/// Whether a non-ASCII character is part of a word.
fn is_part(c: char) -> bool {
    // Arrows, box drawing and bullets are common in output and are not letters.
    let drawn = matches!(c, '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{2775}');
    !drawn && c.is_alphanumeric()
}

/// Hash of a word, eight bytes at a time; the last ones may be taken twice.
pub(crate) fn hash_word(word: &[u8]) -> u64 {
    let four = |at: usize| word[at..].first_chunk().map_or(0, |four| u64::from(u32::from_le_bytes(*four)));
    let seed = SEED ^ word.len() as u64;
    match word.len() {
        0 => seed,
        len @ 1..4 => {
            let byte = |at: usize| u64::from(word[at]);
            mix(seed ^ (byte(0) | byte(len / 2) << 8 | byte(len - 1) << 16))
        }
        len @ 4..8 => mix(seed ^ (four(0) | four(len - 4) << 32)),
        _ => {
            let (eights, _) = word.as_chunks();
            let last = word.last_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
            mix(eights.iter().fold(seed, |hash, eight| mix(hash ^ u64::from_le_bytes(*eight))) ^ last)
        }
    }
}

/// Bytes of ASCII words.
static ASCII_WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128 {
        table[b] = (b as u8).is_ascii_alphanumeric() || b as u8 == b'_';
        b += 1;
    }
    table
};

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes every bit of a hash depend on all of it.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ hash >> 32
}

/// Scripts written without spaces between words.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

impl TextFingerprint {
    /// Fingerprint of a text.
    pub fn from_text(text: &str) -> Self {
        let normalised = normalise(text);
        Self {
            digest: Digest::from_bytes(normalised.trim()),
            simhash: simhash(&normalised),
            len: u32::try_from(text.len()).unwrap_or(u32::MAX),
        }
    }

    /// Similarity of two texts: 1 for equal apart from volatile parts, about 0 for unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        if self.digest == other.digest { 1.0 } else { similarity(self.simhash, other.simhash) }
    }
}

#[cfg(test)]
mod tests;
