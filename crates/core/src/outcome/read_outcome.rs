//! Results of reads: a file, a directory, search results.
//!
//! File content may contain words like "error" that say nothing about the read itself. For a long text that
//! was read successfully only its digest matters. Most of the bytes of a history are such reads.

use super::{Outcome, ends, normalise, unwrap_harness};
use crate::digest::Digest;

/// Shorter texts may be a message ("no matches") rather than content.
const MAX_ANSWER_BYTES: usize = 4096;

impl Outcome {
    /// Facts about a read that the sensor knows to have succeeded. Digest and length equal those of
    /// [`Outcome::from_output`].
    pub fn from_read(output: &str) -> Self {
        if output.len() <= MAX_ANSWER_BYTES {
            return Self::from_success(output, None);
        }
        let unwrapped = unwrap_harness::unwrap(output);
        let body = unwrapped.body.as_ref();
        let kept = ends(body);
        let (text, masked) = normalise::mask(&kept);
        Self {
            digest: Digest::from_bytes(&text),
            len: u32::try_from(body.len()).unwrap_or(u32::MAX),
            exact: masked.then(|| Digest::from_bytes(kept.as_ref())),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_read_has_the_same_digest() {
        let file = "error: this line stands in the file that was read, at 12:30:01\n".repeat(200);
        let (look, full) = (Outcome::from_read(&file), Outcome::from_output(&file, None));
        assert_eq!((look.digest, look.len), (full.digest, full.len));
        assert!(!look.failed && look.family.is_none());
    }

    #[test]
    fn a_short_result_is_read_in_full() {
        assert!(Outcome::from_read("No matches found").empty);
    }
}
