//! Whether a session may continue.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    /// The agent may continue.
    #[default]
    Active,
    /// The agent's calls are held back.
    Paused {
        /// Id of the incident.
        incident: String,
        /// Start of the pause.
        since: Timestamp,
        /// End of the cooldown after a resume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// What ends the pause.
        #[serde(default)]
        gate: ResumeCondition,
    },
    /// Stopped permanently; it cannot be resumed.
    Killed {
        /// Id of the incident.
        incident: String,
        /// When it was killed.
        since: Timestamp,
    },
    /// The agent ended the conversation; it may resume.
    Ended {
        /// When.
        at: Timestamp,
    },
    /// Hidden. A pause or kill stays in force.
    Archived {
        /// When.
        at: Timestamp,
        /// The previous state.
        was: Box<SessionState>,
    },
}

/// What ends a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeCondition {
    /// A resume by the operator.
    #[default]
    Operator,
    /// A plan that differs from all earlier ones, named by agent or operator.
    Plan,
}

/// What lifts a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeRequires {
    /// A resume by a person.
    Person,
    /// A changed plan.
    Plan,
    /// Nothing: the session is killed.
    Never,
}

/// A state without its data, as lists show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateName {
    Active,
    Paused,
    Killed,
    Ended,
    Archived,
}

impl StateName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Killed => "killed",
            Self::Ended => "ended",
            Self::Archived => "archived",
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl SessionState {
    /// The name for lists.
    pub fn name(&self) -> StateName {
        match self {
            Self::Active => StateName::Active,
            Self::Paused { .. } => StateName::Paused,
            Self::Killed { .. } => StateName::Killed,
            Self::Ended { .. } => StateName::Ended,
            Self::Archived { .. } => StateName::Archived,
        }
    }

    pub fn as_str(&self) -> &'static str {
        self.name().as_str()
    }

    /// The state that decides whether the agent may continue: archiving hides a session but does not release
    /// it.
    pub fn effective(&self) -> &Self {
        match self {
            Self::Archived { was, .. } => was.effective(),
            other => other,
        }
    }

    /// What lifts the hold; `None` if the session is not held.
    pub fn resume_requires(&self) -> Option<ResumeRequires> {
        match self.effective() {
            Self::Paused { gate: ResumeCondition::Operator, .. } => Some(ResumeRequires::Person),
            Self::Paused { gate: ResumeCondition::Plan, .. } => Some(ResumeRequires::Plan),
            Self::Killed { .. } => Some(ResumeRequires::Never),
            Self::Active | Self::Ended { .. } | Self::Archived { .. } => None,
        }
    }

    pub fn is_paused(&self) -> bool {
        matches!(self.effective(), Self::Paused { .. })
    }

    pub fn is_killed(&self) -> bool {
        matches!(self.effective(), Self::Killed { .. })
    }

    pub fn is_archived(&self) -> bool {
        matches!(self, Self::Archived { .. })
    }
}
