//! How a step of an agent fails.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A step ended without its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepFailure {
    /// A usage limit applies; the step runs again.
    Limited {
        account: String,
        until: Timestamp,
        session: Option<String>,
    },
    /// Belay paused the session; the step continues once a person has resumed it.
    Paused {
        session: String,
        reason: String,
    },
    OverBudget,
    TimedOut,
    Crashed {
        why: String,
    },
    /// The agent needs a person: a login, a permission that cannot be given without a terminal.
    Refused {
        why: String,
    },
}

/// What follows from a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The step runs once more.
    Retry,
    /// The step runs again when its wait is over. This does not count as a failure.
    Waits,
    /// Only a person can make it succeed.
    NeedsPerson,
    /// It has failed too often. Why it failed last.
    GiveUp(String),
}
