//! Answers that are ended before their model ends them.

/// Why an answer was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// It had begun to repeat itself.
    Repetition { said: u64, what: String },
    /// A budget was used up in the middle of it.
    Budget,
    /// The session was stopped for good.
    Stopped,
}

impl CutReason {
    /// As the log tells it.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Repetition { .. } => "belay_chanting",
            Self::Budget => "belay_budget",
            Self::Stopped => "belay_stopped",
        }
    }
}
