//! Model requests and the attempts between them, for sensors that do not see tool calls.

use serde::{Deserialize, Serialize};

use super::call::ShortDigest;
use crate::digest::Digest;
use crate::event::TextFingerprint;

/// Maximum number of retained requests and attempts.
const MAX_REQUESTS: usize = 8;
/// Shorter tails ("continue") carry too little text to compare.
const MIN_COMPARED_BYTES: u32 = 24;

/// Requests and attempts since the last prompt by a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestHistory {
    tails: Vec<TextFingerprint>,
    attempts: Vec<ShortDigest>,
    files: u32,
    failures: u32,
}

impl RequestHistory {
    /// A request ends the current attempt.
    pub(super) fn on_request(&mut self, tail: Option<TextFingerprint>) {
        if let Some(tail) = tail.filter(|tail| tail.len >= MIN_COMPARED_BYTES) {
            push(&mut self.tails, tail);
        }
        if self.files != 0 && self.failures != 0 {
            let attempt = Digest::from_bytes([self.files.to_le_bytes(), self.failures.to_le_bytes()].concat());
            push(&mut self.attempts, ShortDigest::from(attempt));
        }
        (self.files, self.failures) = (0, 0);
    }

    /// Adds a changed file to the attempt, independent of order.
    pub(super) fn on_file_changed(&mut self, path: ShortDigest) {
        self.files ^= path.bits();
    }

    /// Adds a failure to the attempt.
    pub(super) fn on_failure(&mut self, failure: ShortDigest) {
        self.failures ^= failure.bits();
    }

    /// How many of the last requests are similar to the newest, including itself.
    pub fn similar_in_a_row(&self, similarity: f32) -> u32 {
        let Some((newest, before)) = self.tails.split_last() else { return 0 };
        let similar = before.iter().filter(|tail| newest.similarity(tail) >= similarity).count();
        u32::try_from(similar + 1).unwrap_or(u32::MAX)
    }

    /// Number of consecutive attempts that changed the same files and failed the same way.
    pub fn identical_attempts(&self) -> u32 {
        let Some((newest, before)) = self.attempts.split_last() else { return 0 };
        let same = before.iter().rev().take_while(|attempt| *attempt == newest).count();
        u32::try_from(same + 1).unwrap_or(u32::MAX)
    }

    /// Digest of the newest request.
    pub fn newest(&self) -> Digest {
        self.tails.last().map_or(Digest(0), |tail| tail.digest)
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == MAX_REQUESTS {
        list.remove(0);
    }
    list.push(item);
}
