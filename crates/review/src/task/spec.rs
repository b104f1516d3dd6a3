//! What a person asks for.

use belay_core::session::Budget;
use belay_core::task::WorkspaceMode;
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
    #[serde(default, with = "budget_json")]
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

/// The JSON of a budget in journals, which programs read: `{"micros": 2500000, "tokens": 500000}`.
pub(super) mod budget_json {
    use serde::{Deserializer, Serializer};

    use super::{Budget, Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(skip_serializing_if = "Option::is_none")]
        micros: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
    }

    impl From<Budget> for Fields {
        fn from(budget: Budget) -> Self {
            Self { micros: budget.cost_micros, tokens: budget.tokens }
        }
    }

    impl From<Fields> for Budget {
        fn from(fields: Fields) -> Self {
            Self { tokens: fields.tokens, cost_micros: fields.micros }
        }
    }

    pub(in crate::task) fn serialize<S: Serializer>(budget: &Budget, to: S) -> Result<S::Ok, S::Error> {
        Fields::from(*budget).serialize(to)
    }

    pub(in crate::task) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Budget, D::Error> {
        Fields::deserialize(from).map(Budget::from)
    }

    pub(in crate::task) mod option {
        use super::{Budget, Deserialize, Deserializer, Fields, Serialize, Serializer};

        pub(in crate::task) fn serialize<S: Serializer>(budget: &Option<Budget>, to: S) -> Result<S::Ok, S::Error> {
            budget.map(Fields::from).serialize(to)
        }

        pub(in crate::task) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Budget>, D::Error> {
            Ok(Option::<Fields>::deserialize(from)?.map(Budget::from))
        }
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
