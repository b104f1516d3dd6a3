//! Passing over what cannot be volatile, many bytes at a time.
//!
//! Whatever is volatile holds a digit, a slash (of a temporary folder) or a glyph beyond ASCII (of a
//! spinner). So a line is searched for those, and its words are read only from a little before them.

use super::is_word;

/// Whether a text holds control characters, ends of lines and tabs aside. Without branches, so that the
/// compiler can look at many bytes at once.
pub(super) fn has_control(text: &str) -> bool {
    let control = |b: &u8| (*b < 0x20 && !matches!(b, b'\t' | b'\n')) | (*b == 0x7f);
    text.as_bytes().chunks(1024).any(|bytes| bytes.iter().fold(false, |any, b| any | control(b)))
}

/// The first digit, slash or byte beyond ASCII from `at` on. Slash and digits are neighbours in ASCII, so
/// that eight bytes are looked at in a few operations.
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

/// A name that announces a number stands this near before it, the longest gap included.
const LABEL_DISTANCE: usize = 12;
/// The first digit of a UUID stands this near to its beginning.
const UUID_DISTANCE: usize = 36;

/// Where to begin reading words so that nothing is missed that the digit or glyph at `sign` belongs to.
pub(super) fn next_candidate(bytes: &[u8], at: usize, sign: usize) -> usize {
    let mut start = sign;
    while start > at && is_word(bytes[start - 1]) {
        start -= 1;
    }
    let near = if start > at && bytes[start - 1] == b'-' { UUID_DISTANCE } else { LABEL_DISTANCE };
    let mut from = start.saturating_sub(near).max(at);
    // A word that began earlier is too long to matter.
    if from > at && is_word(bytes[from - 1]) {
        while from < start && is_word(bytes[from]) {
            from += 1;
        }
    }
    from
}
