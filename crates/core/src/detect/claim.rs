//! What a pattern found, before it is put into text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::session::{Call, ShortDigest};

/// How conclusive repeated evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Common in healthy work; meaningful only in large numbers.
    VeryWeak,
    /// Suspicious.
    Weak,
    /// Hard to explain otherwise.
    Strong,
}

/// Which call a nudge is delivered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeTarget {
    /// The same action.
    Key(Digest),
    /// An edit of the same file.
    Target(ShortDigest),
    /// A read of lines of the same file.
    Lines(ShortDigest),
    /// The same tool.
    Tool(ShortDigest),
    /// The next call, whatever it is.
    Any,
    /// The next turn, because no tool calls are made.
    Turn,
}

impl NudgeTarget {
    /// Whether the nudge is delivered with this call.
    pub(crate) fn matches(&self, call: &Call) -> bool {
        match *self {
            Self::Key(key) => call.key == key,
            Self::Target(target) => call.edits() && call.target.equals_if_known(target),
            Self::Lines(target) => call.lines.is_some() && call.target.equals_if_known(target),
            Self::Tool(tool) => call.tool == tool,
            Self::Any => !call.is_neutral(),
            Self::Turn => false,
        }
    }
}

/// A pattern's claim about the calls so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Number of occurrences, denied ones included.
    pub count: u32,
    /// Number of occurrences that Belay denied, so that they have no result.
    pub denied: u32,
    /// How conclusive the occurrences are.
    pub strength: Strength,
    /// The repeated action, or a digest that identifies the claim.
    pub action: Digest,
    /// The unchanged outcome, or a digest that identifies it.
    pub outcome: Digest,
    /// Ordinal of the first call of the evidence.
    pub first: u64,
    /// Ordinals of the calls of the evidence, oldest first; only the newest if there are many.
    pub calls: Vec<u64>,
    /// Positions of the evidence in the window, if it rests on changes and checks without calls: they have no ordinals.
    pub entries: Vec<usize>,
    /// Which call the nudge is delivered with.
    pub nudge_target: NudgeTarget,
}

impl Claim {
    /// Number of occurrences that ran.
    pub(crate) fn ran(&self) -> u32 {
        self.count.saturating_sub(self.denied)
    }
}
