//! What a person asks for.

use belay_core::task::{Spend, WorkspaceMode};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::convergence::Policy;

/// A review task as filed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    pub title: String,
    /// What to build, in the person's words.
    pub prompt: String,
    /// Absolute path of the project.
    #[serde(alias = "folder")]
    pub project_dir: String,
    pub builder: Role,
    pub reviewers: Vec<Role>,
    /// Decides disputes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<Role>,
    /// Reviewers whose approval suffices; all by default. An open issue of any reviewer blocks in either case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Commands that must succeed on the final tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    pub rounds: u32,
    /// Longest duration of a round.
    pub round_timeout_secs: u64,
    #[serde(default)]
    pub budget: Budget,
    pub workspace: WorkspaceMode,
    #[serde(default)]
    pub policy: Policy,
}

/// An agent in a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Id of the agent.
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Limits of a task; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budget {
    /// These limits, and those of `other` where there is none.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self { micros: self.micros.or(other.micros), tokens: self.tokens.or(other.tokens) }
    }

    pub(super) fn minus(&self, spend: &Spend) -> Self {
        Self {
            micros: self.micros.map(|limit| limit.saturating_sub(spend.micros)),
            tokens: self.tokens.map(|limit| limit.saturating_sub(spend.tokens)),
        }
    }

    /// Nothing is left.
    pub(super) fn is_used_up(&self) -> bool {
        self.micros == Some(0) || self.tokens == Some(0)
    }
}

/// Why a task cannot be filed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error("the prompt is empty")]
    NoPrompt,
    #[error("the task needs at least one reviewer or accept command")]
    NothingDecides,
    #[error("the number of rounds must be at least 1")]
    NoRounds,
    #[error("{0} reviews twice; name each reviewer once")]
    DuplicateReviewer(String),
    #[error("a quorum is 1 to {reviewers} in this task, not {quorum}")]
    Quorum { quorum: u32, reviewers: usize },
    #[error("{0} cannot be the arbiter: it already builds or reviews in this task")]
    ArbiterTakesPart(String),
}

impl TaskSpec {
    pub(super) fn check(&self) -> Result<(), SpecError> {
        if self.prompt.trim().is_empty() {
            return Err(SpecError::NoPrompt);
        }
        if self.rounds == 0 {
            return Err(SpecError::NoRounds);
        }
        if self.reviewers.is_empty() && self.gates.is_empty() {
            return Err(SpecError::NothingDecides);
        }
        for (index, reviewer) in self.reviewers.iter().enumerate() {
            if self.reviewers[..index].iter().any(|other| other.agent == reviewer.agent) {
                return Err(SpecError::DuplicateReviewer(reviewer.agent.clone()));
            }
        }
        if let Some(arbiter) = &self.arbiter
            && (self.reviewers.iter().any(|reviewer| reviewer.agent == arbiter.agent) || self.builder == *arbiter)
        {
            return Err(SpecError::ArbiterTakesPart(arbiter.agent.clone()));
        }
        let reviewers = self.reviewers.len();
        match self.quorum {
            Some(quorum) if quorum == 0 || usize::try_from(quorum).is_ok_and(|quorum| quorum > reviewers) => {
                Err(SpecError::Quorum { quorum, reviewers })
            }
            _ => Ok(()),
        }
    }

    /// Approvals that end the loop.
    pub(super) fn needed_approvals(&self) -> usize {
        self.quorum.and_then(|quorum| usize::try_from(quorum).ok()).unwrap_or(self.reviewers.len())
    }
}
