//! What a person's decision is refused for, and how it is worded.

use std::fmt::Display;

use crate::event::{OperatorDecision, PermissionAnswer};
use crate::session::ResumeRequires;

/// Why a decision is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No decision brings a killed session back.
    Killed,
}

impl Refusal {
    /// The reason in a sentence without a full stop, with the name of the session.
    pub fn message(self, session: impl Display) -> String {
        match self {
            Self::Killed => format!("{session} is killed and cannot be resumed"),
        }
    }

    /// What to do instead.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Killed => "start a new session of the agent",
        }
    }
}

impl OperatorDecision {
    /// A resume without terms.
    pub const RESUME: Self = Self::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false };

    /// Why the decision is refused; `hold` is what lifts the hold of the session, if it is held. A log may still contain
    /// such a decision; in a replay, the session stays killed.
    pub fn refusal(&self, hold: Option<ResumeRequires>) -> Option<Refusal> {
        match (self, hold) {
            (Self::Resume { .. }, Some(ResumeRequires::Never)) => Some(Refusal::Killed),
            _ => None,
        }
    }

    /// What the person did to a session: its name, "it" or "this session" follows.
    pub fn past_tense(&self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume { .. } => "resumed",
            Self::Acknowledge => "acknowledged",
            Self::Kill => "killed",
            Self::Reset => "discarded the evidence of",
            Self::Archive => "archived",
            Self::Allow { .. } => "allowed a finding of",
            Self::Budget { .. } => "set the budget of",
            Self::Configure { .. } => "configured",
            Self::Answer { answer: PermissionAnswer::Allow, .. } => "allowed a call of",
            Self::Answer { answer: PermissionAnswer::Deny, .. } => "denied a call of",
            Self::Note => "wrote a note about",
            Self::MarkSeen => "looked at",
        }
    }
}
