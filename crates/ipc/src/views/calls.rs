//! The calls of a session as the loop picture shows them.

use belay_core::Timestamp;
use belay_core::effect::InterventionLevel;
use belay_core::session::CallMark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallView {
    /// Number of the call in its session, from 1.
    pub call: u64,
    pub at: Timestamp,
    /// Calls made in parallel share a batch.
    pub batch: u32,
    /// Digest of action and outcome: equal for calls that did the same and ended the same way.
    pub pair: String,
    /// The pair was new in the session.
    pub first: bool,
    /// Number of different pairs so far.
    pub distinct: u64,
    /// The call was progress.
    pub progress: bool,
    pub mark: CallMark,
    /// Short description of the input.
    pub what: String,
    /// Short description of the result.
    pub outcome: String,
    /// The file that it reads or writes, if there is exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The call only reads.
    #[serde(default)]
    pub reads: bool,
    /// The call runs tests, a build or a linter.
    #[serde(default)]
    pub check: bool,
    /// Cost between this call and the next one, in millionths of a US dollar.
    pub cost_micros: u64,
    /// Cost since the last progress.
    pub since_progress_micros: u64,
    /// Tokens that were not read from the cache.
    pub fresh_tokens: u64,
    pub cached_tokens: u64,
    /// How full the context window is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u32>,
}

/// The loop picture: a window of calls, the rows they fall on, and the whole session as a strip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PictureView {
    /// Number of calls in the session.
    pub total: u64,
    /// The calls of the window, oldest first.
    pub calls: Vec<CallView>,
    /// First the pairs of the finding in the order of the cycle, then other pairs that repeat in the window, by count.
    pub rows: Vec<PictureRow>,
    /// Rounds of the finding.
    pub rounds: Vec<Round>,
    pub flags: Vec<PictureFlag>,
    /// The whole session in at most 128 buckets of `bucket_calls` calls.
    pub strip: Vec<StripBucket>,
    pub bucket_calls: u64,
    /// Number of the first call that belongs to the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_from: Option<u64>,
    /// Calls since the last new pair, up to the newest call.
    pub calls_without_new: u64,
}

/// A row of the picture: calls with the same action and outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PictureRow {
    pub pair: String,
    pub what: String,
    pub outcome: String,
    /// Number of calls in the window.
    pub count: u64,
    /// The row belongs to the finding.
    pub in_finding: bool,
}

/// One round of a loop: the first and the last of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    pub first: u64,
    pub last: u64,
}

/// Something that happened between calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PictureFlag {
    /// The call before it; 0 if there is none.
    pub after: u64,
    pub at: Timestamp,
    pub kind: FlagKind,
    /// Short text: the first words of a prompt, the sentence of an intervention.
    pub text: String,
}

/// What a flag of the picture marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    Notice,
    Nudge,
    Pause,
    Kill,
    Resume,
    Prompt,
    Compacted,
}

impl From<InterventionLevel> for FlagKind {
    fn from(level: InterventionLevel) -> Self {
        match level {
            InterventionLevel::Notice => Self::Notice,
            InterventionLevel::Nudge => Self::Nudge,
            InterventionLevel::Pause => Self::Pause,
            InterventionLevel::Kill => Self::Kill,
        }
    }
}

/// A bucket of the strip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StripBucket {
    pub calls: u32,
    /// Calls whose pair was new.
    pub new: u32,
    /// Calls that belong to a finding.
    pub in_finding: u32,
}
