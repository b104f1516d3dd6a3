//! Reads of lines that an earlier read of the same file has shown. Ranges that contain each other are one read.

use super::CallWindow;
use super::call::{Call, CallFlags};

/// Harnesses cut longer outputs, so that these may lack some of their lines.
const MAX_COMPLETE_BYTES: u32 = 8 * 1024;

impl CallWindow {
    /// Whether an earlier read has shown all lines of this read, and nothing since could have changed them.
    pub(super) fn shows_known_lines(&self, at: usize) -> bool {
        let Some(call) = self.get(at).filter(|call| call.succeeded() && call.target.is_some()) else { return false };
        let Some(lines) = call.lines else { return false };
        self.known_since(at).any(|other| {
            other.succeeded()
                && other.target == call.target
                && other.place.is_compatible_with(call.place)
                && other.result.as_ref().is_some_and(|result| result.len <= MAX_COMPLETE_BYTES)
                && other.lines.is_some_and(|shown| shown.contains(lines))
        })
    }

    /// The calls before this one, newest first, back to what could have changed a file, and to what the agent forgot.
    fn known_since(&self, at: usize) -> impl Iterator<Item = &Call> {
        let since = self.since().max(self.compacted_at());
        let earlier = self.calls().range(..at.min(self.calls().len())).rev();
        earlier.take_while(move |call| call.ordinal >= since && !call.may_change_files())
    }
}

impl Call {
    /// Whether a file may read differently after this.
    pub(crate) fn may_change_files(&self) -> bool {
        self.is(CallFlags::NEW_CHANGE) || self.changes_file() && self.succeeded() || self.may_affect_others()
    }
}
