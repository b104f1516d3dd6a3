//! What a pattern found, before any words are made of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::session::{Call, ShortDigest};

/// How much a repeat proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Happens in healthy work too; only many of it mean something.
    VeryWeak,
    /// Suspicious.
    Weak,
    /// Hard to explain otherwise.
    Strong,
}

/// Which calls a nudge is the answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeTarget {
    /// The same action.
    Key(Digest),
    /// An edit of the same file.
    Target(ShortDigest),
    /// The same tool.
    Tool(ShortDigest),
    /// Whatever the agent does next.
    Any,
    /// The next turn: there are no tool calls to answer.
    Turn,
}

impl NudgeTarget {
    /// Whether a nudge of this kind is the answer to a call.
    pub(crate) fn matches(&self, call: &Call) -> bool {
        match *self {
            Self::Key(key) => call.key == key,
            Self::Target(target) => call.edits() && call.target.equals_if_known(target),
            Self::Tool(tool) => call.tool == tool,
            Self::Any => !call.is_neutral(),
            Self::Turn => false,
        }
    }
}

/// A pattern's claim about the calls so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// How often it has occurred.
    pub count: u32,
    /// How much that proves.
    pub strength: Strength,
    /// The action repeated (or what stands for it).
    pub action: Digest,
    /// The outcome that stayed the same (or what stands for it).
    pub outcome: Digest,
    /// Ordinal of the first call it rests on.
    pub first: u64,
    /// Ordinals of the calls it rests on, oldest first; the newest of them when there are many.
    pub calls: Vec<u64>,
    /// What the nudge will answer.
    pub matcher: NudgeTarget,
}
