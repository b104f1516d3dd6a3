//! What happened in one round.

use std::collections::BTreeMap;

use belay_core::task::GateResult;
use serde::{Deserialize, Serialize};

use super::step::ReviewKind;
use crate::convergence::RoundFacts;
use crate::diff::ChangedLines;
use crate::ledger::IssueId;
use crate::verdict::Verdict;

/// One round: a build, its gates, its reviews.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    pub start: BuildStart,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<Built>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    /// Reviewers without a verdict, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub no_verdict: BTreeMap<String, String>,
    /// An attempt at this build died in a workspace that is not undone. The next prompt names its edits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_leftovers: bool,
    /// Its gates and reviews are complete.
    #[serde(default)]
    pub is_concluded: bool,
    /// What the round did to the ledger.
    #[serde(default)]
    pub facts: RoundFacts,
}

impl Round {
    pub(super) fn new(number: u32, start: BuildStart) -> Self {
        Self {
            number,
            start,
            built: None,
            gates: Vec::new(),
            reviews: Vec::new(),
            no_verdict: BTreeMap::new(),
            has_leftovers: false,
            is_concluded: false,
            facts: RoundFacts::default(),
        }
    }

    /// The first gate that failed.
    pub fn red_gate(&self) -> Option<&GateResult> {
        self.gates.iter().find(|gate| !gate.passed)
    }
}

/// How a build begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum BuildStart {
    /// On the tree of the round before.
    Continue,
    /// The fix of a round is reverted first, and the builder writes a failing test before it fixes.
    Reverted { fix_of: u32 },
    /// A third reviewer shares these issues.
    Upheld { issues: Vec<IssueId> },
}

/// A finished build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Id of the tree after the build: a commit, or a digest of the files.
    pub tree: String,
    /// Whether the tree differs from the one before.
    pub changed: bool,
    /// The changed lines, compared with the tree of the round before; `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<ChangedLines>,
    /// Digests of the changed files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
    /// Issues that the builder does not want to fix, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<(IssueId, String)>,
}

/// A reviewer's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub reviewer: String,
    pub kind: ReviewKind,
    pub verdict: Verdict,
}
