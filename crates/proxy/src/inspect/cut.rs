//! Answers that are ended before their model ends them.

/// Why an answer was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It had begun to repeat itself.
    Chant { said: u64, what: String },
    /// A budget was used up in the middle of it.
    Budget,
    /// The session was stopped for good.
    Stopped,
}

impl Cut {
    /// As the log tells it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Chant { .. } => "belay_chanting",
            Self::Budget => "belay_budget",
            Self::Stopped => "belay_stopped",
        }
    }
}
