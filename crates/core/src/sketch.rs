//! Near-equality of texts: a 64-bit simhash of overlapping word pairs.
//!
//! Two texts that share most of their word pairs have simhashes that differ in few bits. Words are
//! runs of letters and digits of any script; scripts written without spaces are cut into single
//! characters, so that Japanese compares as well as English.

use crate::digest::Digest;
use crate::event::TextSketch;
use crate::outcome::normalise;
use xxhash_rust::xxh3::xxh3_64;

/// How alike two simhashes say their texts are: the estimated cosine, 0 for unrelated texts.
pub fn similarity(a: Digest, b: Digest) -> f32 {
    let distance = (a.0 ^ b.0).count_ones();
    (std::f32::consts::PI * distance as f32 / 64.0).cos().max(0.0)
}

/// Simhash of the word pairs of a text.
pub fn simhash(text: &str) -> Digest {
    let mut bits = [0i32; 64];
    let mut previous = 0u64;
    words(text, |word| {
        let hash = xxh3_64(word.as_bytes());
        // The word alone keeps one-word texts comparable; the pair keeps order.
        add(&mut bits, hash);
        add(&mut bits, hash.rotate_left(17) ^ previous);
        previous = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    });
    let mut hash = 0;
    for (i, weight) in bits.iter().enumerate() {
        if *weight > 0 {
            hash |= 1 << i;
        }
    }
    Digest(hash)
}

fn add(bits: &mut [i32; 64], hash: u64) {
    for (i, bit) in bits.iter_mut().enumerate() {
        *bit += ((hash >> i & 1) as i32) * 2 - 1;
    }
}

/// Calls `each` for every word; punctuation separates and is itself dropped.
fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut start = None;
    for (at, c) in text.char_indices() {
        let alone = is_ideographic(c);
        if c.is_alphanumeric() && !alone || c == '_' {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            each(&text[from..at]);
        }
        if alone {
            each(&text[at..at + c.len_utf8()]);
        }
    }
    if let Some(from) = start {
        each(&text[from..]);
    }
}

/// Scripts written without spaces between words.
pub(crate) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

impl TextSketch {
    /// Sketch of a text.
    pub fn of(text: &str) -> Self {
        let normalised = normalise(text);
        Self {
            digest: Digest::of(normalised.trim()),
            simhash: simhash(&normalised),
            len: u32::try_from(text.len()).unwrap_or(u32::MAX),
        }
    }

    /// How alike two texts are: 1 for equal but for volatile parts, about 0 for unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        if self.digest == other.digest { 1.0 } else { similarity(self.simhash, other.simhash) }
    }
}
