//! Boolean facts about a call.

use serde::{Deserialize, Serialize};

/// Bit set of boolean facts about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallFlags(u32);

impl CallFlags {
    /// Changes files or other persistent state.
    pub const MUTATES: Self = Self(1);
    /// Waits, or checks on something that runs.
    pub const POLL: Self = Self(1 << 1);
    /// Runs tests, a build or a linter.
    pub const CHECK: Self = Self(1 << 2);
    /// Only reads.
    pub const READ_ONLY: Self = Self(1 << 3);
    /// Allowed by an operator or a rule.
    pub const ALLOWED: Self = Self(1 << 4);
    /// Held back: the agent received a nudge or a hold instead of a result.
    pub const HELD_BACK: Self = Self(1 << 5);
    /// Not a tool call but reported by a file watcher or test reporter.
    pub const EXTERNAL: Self = Self(1 << 6);
    /// Makes a commit.
    pub const COMMITS: Self = Self(1 << 7);

    // Set once the result is known.
    /// A successful change that is new in this session.
    pub const NEW_CHANGE: Self = Self(1 << 8);
    /// Output that is new in this session.
    pub const FIRST_READ: Self = Self(1 << 9);
    /// Little or no output.
    pub const NO_OUTPUT: Self = Self(1 << 10);
    /// Failed for an external reason: overload, network.
    pub const OUTAGE: Self = Self(1 << 11);
    /// A check that passed.
    pub const PASSED: Self = Self(1 << 12);
    /// The pair of action and outcome is new in this session.
    pub const NEW_ACTION_OUTCOME: Self = Self(1 << 13);

    // Set by the proxy.
    /// Seen in a request.
    pub const SEEN_BY_PROXY: Self = Self(1 << 14);
    /// The result was seen in a request.
    pub const RESULT_SEEN_BY_PROXY: Self = Self(1 << 15);

    /// A change or check that a client of another tool's events API posted.
    pub const REPORTED: Self = Self(1 << 22);
    /// Reads or prints a file of environment variables, or may do so.
    pub const ENV_FILE: Self = Self(1 << 21);
    // Facts about the action, in addition to those above.
    /// Builds or installs something that later calls may show.
    pub const BUILDS: Self = Self(1 << 16);
    /// A command that writes one known file: a redirection, a here-document, `sed -i`.
    pub const WRITES_FILE: Self = Self(1 << 17);
    /// Asks a question that a non-zero exit answers: `grep`, `diff`, `test`, `ls`.
    pub const PROBE: Self = Self(1 << 18);
    /// Does nothing by design: `:`, `true`, a read of `/dev/null`.
    pub const NO_OP: Self = Self(1 << 19);
    /// May take earlier edits away: `git checkout`, `git stash`.
    pub const RESTORES: Self = Self(1 << 20);

    /// Writes a file of plans or notes.
    pub const NOTES: Self = Self(1 << 24);
    /// The output, or the notes, have no words that the session has not seen.
    pub const NOTHING_NEW: Self = Self(1 << 25);
    /// Starts something that goes on: its result is a receipt.
    pub const STARTS: Self = Self(1 << 26);
    /// Gives its file a new content as a whole.
    pub const OVERWRITES: Self = Self(1 << 27);
    /// Runs a linter.
    pub const LINTS: Self = Self(1 << 28);
    /// The status follows from an exit code, so no other source overrules it.
    pub const EXIT_CODE_KNOWN: Self = Self(1 << 29);
    /// A read of lines that an earlier read of the same file has shown.
    pub const KNOWN_LINES: Self = Self(1 << 30);
    /// The call was progress.
    pub const PROGRESS: Self = Self(1 << 23);

    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn set(&mut self, other: Self, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn with(mut self, other: Self, on: bool) -> Self {
        self.set(other, on);
        self
    }
}
