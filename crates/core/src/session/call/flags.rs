//! What can be said of a call with yes or no.

use serde::{Deserialize, Serialize};

/// Yes-or-no facts about a call, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallFlags(u16);

impl CallFlags {
    /// It changes files or other lasting state.
    pub const MUTATES: Self = Self(1);
    /// It waits, or asks how something that runs is doing.
    pub const POLL: Self = Self(1 << 1);
    /// It runs tests, a build or a linter.
    pub const CHECK: Self = Self(1 << 2);
    /// It only looks.
    pub const READ_ONLY: Self = Self(1 << 3);
    /// A person said that this is fine, or a rule does.
    pub const ALLOWED: Self = Self(1 << 4);
    /// It was held back: a nudge, or that the session is paused, was answered instead.
    pub const HELD_BACK: Self = Self(1 << 5);
    /// No tool call: a file watcher or test reporter told of it.
    pub const EXTERNAL: Self = Self(1 << 6);
    /// It makes a commit.
    pub const COMMITS: Self = Self(1 << 7);

    // What the answer adds.
    /// A successful change never made before.
    pub const NEW_CHANGE: Self = Self(1 << 8);
    /// It showed something never shown before.
    pub const FIRST_READ: Self = Self(1 << 9);
    /// Next to no text came back.
    pub const NO_OUTPUT: Self = Self(1 << 10);
    /// It failed for a reason outside agent and project: overload, network.
    pub const OUTAGE: Self = Self(1 << 11);
    /// A test, build or linter found nothing wrong.
    pub const PASSED: Self = Self(1 << 12);
    /// This pair of action and outcome had not been seen before.
    pub const NEW_ACTION_OUTCOME: Self = Self(1 << 13);

    // What the proxy adds.
    /// It has been seen in a request.
    pub const SEEN_BY_PROXY: Self = Self(1 << 14);
    /// Its answer has, too.
    pub const RESULT_SEEN_BY_PROXY: Self = Self(1 << 15);

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn set(&mut self, other: Self, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn with(mut self, other: Self, on: bool) -> Self {
        self.set(other, on);
        self
    }
}
