//! What looking at something brought: a file, a folder, the hits of a search.
//!
//! A file may be full of words like "error"; what was looked at is not how it went. So nothing is
//! read out of a long text that somebody successfully looked at, and only whether it is the same as
//! another time counts. That is most of what agents read, and most of the bytes of a history.

use super::{Outcome, ends, normalise, unwrap_harness};
use crate::digest::Digest;

/// Shorter texts may be an answer ("no matches") rather than what was looked for.
const MAX_ANSWER_BYTES: usize = 4096;

impl Outcome {
    /// Facts of what a look brought that the sensor knows to have gone well. Digest and length
    /// are those of [`Outcome::from_output`].
    pub fn from_read(output: &str) -> Self {
        if output.len() <= MAX_ANSWER_BYTES {
            return Self::from_success(output, None);
        }
        let unwrapped = unwrap_harness::unwrap(output);
        let body = unwrapped.body.as_ref();
        let text = normalise(&ends(body));
        Self { digest: Digest::of(&text), len: u32::try_from(body.len()).unwrap_or(u32::MAX), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_known_again_however_it_was_read() {
        let file = "error: this line stands in the file that was read, at 12:30:01\n".repeat(200);
        let (look, full) = (Outcome::from_read(&file), Outcome::from_output(&file, None));
        assert_eq!((look.digest, look.len), (full.digest, full.len));
        assert!(!look.failed && look.family.is_none());
    }

    #[test]
    fn a_short_answer_is_read_in_full() {
        assert!(Outcome::from_read("No matches found").empty);
    }
}
