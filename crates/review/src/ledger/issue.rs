//! One issue, its state and where it came from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::severity::Severity;
use crate::verdict::Place;

/// The number of an issue within its task, written `I-3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IssueId(pub u32);

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I-{}", self.0)
    }
}

impl From<IssueId> for String {
    fn from(id: IssueId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for IssueId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for IssueId {
    type Err = String;

    /// Reads `I-3`, `i-3` and `3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(['I', 'i']).and_then(|rest| rest.strip_prefix('-')).unwrap_or(text);
        let number = digits.parse().ok().filter(|number| *number > 0);
        number.map(Self).ok_or_else(|| format!("`{text}` is not the id of an issue, such as I-3"))
    }
}

/// Something that a reviewer or a gate wants fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub id: IssueId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub claim: String,
    pub severity: Severity,
    pub provenance: Provenance,
    /// Reviewers that raised it, in order.
    pub raised_by: Vec<String>,
    /// The round that raised it first, and the one that raised it last.
    pub raised_in: u32,
    pub last_raised: u32,
    pub state: IssueState,
    /// Evidence so far. Only other evidence opens the issue again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Why the builder does not want to fix it. The reviewers decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<String>,
}

impl Issue {
    pub fn is_open(&self) -> bool {
        self.state == IssueState::Open
    }
}

/// What became of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum IssueState {
    Open,
    /// Its reviewers did not raise it again after a change.
    Fixed {
        tree: String,
        round: u32,
    },
    /// Its reviewers withdrew it, or a third one or a person dismissed it.
    Rejected {
        reason: String,
        round: u32,
    },
    /// A person decided not to fix it.
    Waived {
        by: String,
        why: String,
    },
    /// Listed, and not fixed in this task.
    FollowUp {
        why: FollowUp,
    },
}

impl IssueState {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fixed { .. } => "fixed",
            Self::Rejected { .. } => "rejected",
            Self::Waived { .. } => "waived",
            Self::FollowUp { .. } => "follow-up",
        }
    }
}

/// Why an issue is a follow-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// It was there when the bar was set, and is not critical.
    NotIntroduced,
    /// Less severe than what this round still fixes.
    BelowFloor,
}

/// The change that introduced an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Provenance {
    /// It was there before the task.
    Base,
    /// The first round, which did the task.
    Task,
    /// A fix of a later round.
    Fix { round: u32 },
    /// The issue names no place, or the changes are not known.
    Unknown,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("before the task"),
            Self::Task => f.write_str("the task"),
            Self::Fix { round } => write!(f, "fix of round {round}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
