//! The steps of a task. Only one runs at a time.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Phase;

/// One step: a unit of work with effects, journalled before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Make the workspace.
    Prepare,
    /// Run the builder.
    Build { round: u32 },
    /// Run a gate, by its index.
    Gate { round: u32, gate: usize },
    /// Run a reviewer.
    Review { round: u32, reviewer: String, kind: ReviewKind },
}

/// How much a reviewer looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewKind {
    /// Everything, because this reviewer has not seen the work yet.
    Full,
    /// What changed since the reviewer's last verdict, and the open issues.
    Delta,
    /// Everything, in a new session, because nothing is open anymore.
    Final,
    /// The disputed issues only, by a reviewer that has not taken part.
    Arbitration,
}

impl Step {
    /// The round it belongs to.
    pub fn round(&self) -> Option<u32> {
        match self {
            Self::Prepare => None,
            Self::Build { round } | Self::Gate { round, .. } | Self::Review { round, .. } => Some(*round),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Prepare => Phase::Preparing,
            Self::Build { round } => Phase::Building { round: *round },
            Self::Gate { round, .. } => Phase::Gating { round: *round },
            Self::Review { round, .. } => Phase::Reviewing { round: *round },
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare => f.write_str("the preparation"),
            Self::Build { round } => write!(f, "the build of round {round}"),
            Self::Gate { round, gate } => write!(f, "gate {} of round {round}", gate + 1),
            Self::Review { round, reviewer, kind } => {
                let what = match kind {
                    ReviewKind::Full | ReviewKind::Delta => "the review",
                    ReviewKind::Final => "the final review",
                    ReviewKind::Arbitration => "the arbitration",
                };
                write!(f, "{what} of round {round} by {reviewer}")
            }
        }
    }
}
