//! What the journal of a task holds.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Next, Spend, Steps};
use crate::time::Timestamp;
use crate::wait::Awaited;

/// State that is what its journal says: a task, a fleet, a mailbox.
pub trait Journalled: Clone {
    type Record: Clone + Serialize + DeserializeOwned;
    type Error: std::error::Error + Send + Sync + 'static;

    /// Applies a record, which is the only way to change the state. A record that does not fit changes nothing.
    fn apply(&mut self, at: Timestamp, record: &Self::Record) -> Result<(), Self::Error>;
}

/// A task that runs one step at a time: a review loop, a goal.
pub trait Machine: Journalled<Record = RecordOf<Self>> + fmt::Debug + Send + 'static {
    /// What a person asked for.
    type Spec: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;
    /// A unit of work with effects.
    type Step: Clone + PartialEq + fmt::Debug + Send + Serialize + DeserializeOwned;
    /// How a step ended. Every step may end in the failure of an agent.
    type Outcome: Clone + fmt::Debug + Send + From<super::StepFailure> + Serialize + DeserializeOwned;
    /// What happened outside of any step.
    type Fact: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;
    /// What a person decides.
    type Decision: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;

    /// A task as filed. Its first step has not started.
    fn new(spec: Self::Spec, at: Timestamp) -> Result<Self, Self::Error>;

    fn steps(&self) -> &Steps<Self::Step>;

    /// Nothing runs anymore, unless a person decides otherwise.
    fn has_ended(&self) -> bool;

    /// What to do now. Everything that this depends on is in the records, so that a replay decides the same.
    fn next(&self, now: Timestamp) -> Next<Self::Step> {
        match self.has_ended() {
            true => Next::Ended,
            false => self.steps().next(now),
        }
    }
}

/// The records of a machine.
pub type RecordOf<M> =
    Record<<M as Machine>::Step, <M as Machine>::Outcome, <M as Machine>::Fact, <M as Machine>::Decision>;

/// One entry of a task's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record<S, O, F, D> {
    /// Written before the step has any effect.
    Started {
        step: S,
        attempt: u32,
    },
    /// Written after the step's effects are durable.
    Finished {
        step: S,
        attempt: u32,
        outcome: O,
        spend: Spend,
    },
    /// The process that ran the step died. The step runs again.
    Interrupted {
        step: S,
        attempt: u32,
        /// What the attempt is known to have cost.
        #[serde(default)]
        spend: Spend,
    },
    /// The step cannot start now.
    Waits {
        waiting: Awaited,
    },
    /// What the task waited for has happened.
    WaitEnded,
    Decided {
        by: String,
        decision: D,
    },
    /// Something happened outside of any step.
    Observed {
        fact: F,
    },
}
