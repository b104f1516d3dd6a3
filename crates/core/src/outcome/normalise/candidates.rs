//! Skips text that cannot be volatile, many bytes at a time.
//!
//! Everything volatile contains a digit, a slash (of a temporary directory) or a non-ASCII glyph (of a
//! spinner). Only the words around those are read.

use super::is_word;

/// Whether a text contains control characters other than line ends and tabs. Branch-free, so that it
/// vectorises.
pub(super) fn has_control(text: &str) -> bool {
    let control = |b: &u8| (*b < 0x20 && !matches!(b, b'\t' | b'\n')) | (*b == 0x7f);
    text.as_bytes().chunks(1024).any(|bytes| bytes.iter().fold(false, |any, b| any | control(b)))
}

/// The first digit, slash or non-ASCII byte from `at` on. Slash and digits are adjacent in ASCII, so eight
/// bytes are tested in a few operations.
pub(super) fn byte_flags(bytes: &[u8], at: usize) -> Option<usize> {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x80 * LOW_BITS;
    let (eights, rest) = bytes.get(at..)?.as_chunks::<8>();
    for (i, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        let low = eight & !HIGH_BITS;
        let from_slash = low + u64::from(0x80 - b'/') * LOW_BITS;
        let past_nine = low + u64::from(0x80 - (b'9' + 1)) * LOW_BITS;
        let found = (eight | (from_slash & !past_nine)) & HIGH_BITS;
        if found != 0 {
            return Some(at + i * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let tail = rest.iter().position(|b| matches!(b, b'/'..=b'9' | 0x80..))?;
    Some(bytes.len() - rest.len() + tail)
}

/// Maximum distance between a number and the label before it.
const LABEL_DISTANCE: usize = 12;
/// Maximum distance between the start of a UUID and its first digit.
const UUID_DISTANCE: usize = 36;

/// Where to start reading words so that nothing related to the byte at `sign` is missed.
pub(super) fn next_candidate(bytes: &[u8], at: usize, sign: usize) -> usize {
    let mut start = sign;
    while start > at && is_word(bytes[start - 1]) {
        start -= 1;
    }
    let near = if start > at && bytes[start - 1] == b'-' { UUID_DISTANCE } else { LABEL_DISTANCE };
    let mut from = start.saturating_sub(near).max(at);
    // A word that starts earlier is too long to matter.
    if from > at && is_word(bytes[from - 1]) {
        while from < start && is_word(bytes[from]) {
            from += 1;
        }
    }
    from
}
