//! May the session go on? An enum that carries its data; the ways from one state to another are
//! methods, so that an illegal state cannot be written down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    /// The agent may go on.
    #[default]
    Active,
    /// The agent is held back.
    Paused {
        /// The incident that tells why.
        incident: String,
        /// Since when.
        since: Timestamp,
        /// After a resume with a cooldown: when it lifts by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// What lifts it.
        #[serde(default)]
        gate: ResumeCondition,
    },
    /// Stopped for good; a resume does not lift it.
    Killed {
        /// The incident that tells why.
        incident: String,
        /// Since when.
        since: Timestamp,
    },
    /// The agent ended the conversation; it may come back.
    Ended {
        /// When.
        at: Timestamp,
    },
    /// Out of sight. What held the session before still holds it.
    Archived {
        /// When.
        at: Timestamp,
        /// The state before.
        was: Box<SessionState>,
    },
}

/// What lifts a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeCondition {
    /// A person's resume.
    #[default]
    Operator,
    /// A plan that differs from those tried, named by agent or operator.
    Plan,
}

impl SessionState {
    /// One word for lists: active, paused, killed, ended, archived.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused { .. } => "paused",
            Self::Killed { .. } => "killed",
            Self::Ended { .. } => "ended",
            Self::Archived { .. } => "archived",
        }
    }

    /// The state that decides whether the agent may go on: an archive hides, it does not free.
    pub fn effective(&self) -> &Self {
        match self {
            Self::Archived { was, .. } => was.effective(),
            other => other,
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
