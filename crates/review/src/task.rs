//! A review task as a state machine.
//!
//! ```text
//! queued -> preparing -> building(n) -> gating(n) -> reviewing(n) -+-> done
//!                            ^                                     |
//!                            +---------- issues are open ----------+-> needs attention
//! ```
//!
//! Every state may also be waiting (for a limit, a person, a lock, a paused session), and a person may cancel at any
//! time. `apply` takes one journal [`Record`] after the other; `next` says what to do now (see [`belay_core::task`]).

mod conclude;
mod journal;
mod round;
mod spec;
mod step;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::session::Budget;
use belay_core::task::{RecordOf, Spend, StepError, Steps};
use belay_core::wait::Awaited;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use journal::{Answer, Decision, Fact, StepOutcome, role};
pub use round::{BuildStart, Built, Review, Round};
pub use spec::{Role, SpecError, TaskSpec};
pub use step::{ReviewKind, Step};

use crate::ledger::{IssueId, Ledger};

/// A review task: its specification and everything that happened to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub spec: TaskSpec,
    pub phase: Phase,
    pub rounds: Vec<Round>,
    pub ledger: Ledger,
    /// Tokens and money by role.
    pub spent: BTreeMap<String, Spend>,
    /// When the phase began.
    pub since: Timestamp,
    steps: Steps<Step>,
    /// The last output had no verdict; ask for the format only.
    reask: bool,
    /// Issues that a third reviewer decides on.
    disputed: Vec<IssueId>,
    /// A third reviewer has decided before.
    arbitrated: bool,
    /// Files that instruct reviewers and are not those of the start, with their digests, as a person has accepted them.
    #[serde(default)]
    accepted_instructions: BTreeMap<String, String>,
    /// Those that a person has not decided about yet.
    #[serde(default)]
    offered_instructions: BTreeMap<String, String>,
}

/// A record of a task's journal.
pub type Record = RecordOf<Task>;
pub type Next = belay_core::task::Next<Step>;
pub type Running = belay_core::task::Running<Step>;
pub type StepRun = belay_core::task::StepRun<Step>;

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    Queued,
    Preparing,
    Building { round: u32 },
    Gating { round: u32 },
    Reviewing { round: u32 },
    Done { by: DoneBy },
    NeedsAttention { why: Attention },
    Cancelled { by: String },
    Failed { why: String },
}

impl Phase {
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::NeedsAttention { .. } | Self::Cancelled { .. } | Self::Failed { .. })
    }
}

/// What ended a loop. The builder is not in this list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum DoneBy {
    Reviewers {
        names: Vec<String>,
    },
    /// Every gate passed, in a task without reviewers.
    Gates,
    Person {
        name: String,
    },
}

/// Why a person is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Attention {
    RoundsUsed {
        rounds: u32,
    },
    BudgetUsed,
    /// A reviewer names what only a person can do.
    BlockedOnHuman {
        reviewer: String,
        action: String,
    },
    Dispute {
        how: crate::convergence::Dispute,
    },
    /// Fixes keep introducing issues.
    Reseeding,
    GateStuck {
        gate: String,
    },
    /// A reviewer gave no verdict, so that the round is incomplete.
    NoVerdict {
        reviewer: String,
        why: String,
    },
    /// The tree is not the one that was built and gated: a reviewer or someone else changed it.
    TreeChanged {
        reviewer: String,
    },
    /// Files that instruct the reviewer are not those of the start: the builder could dictate the verdict.
    InstructionsChanged {
        reviewer: String,
        files: Vec<String>,
    },
    /// The agent cannot run without a person: it asks for a permission or a login.
    Refused {
        role: String,
        why: String,
    },
}

/// Why a record does not fit the task. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Step(#[from] StepError<Step>),
    #[error("the budget is used up")]
    NoBudget,
    #[error("the task has ended")]
    Ended,
    #[error("the task has not ended")]
    NotEnded,
    #[error("the task has no issue {0}")]
    NoIssue(IssueId),
    #[error("the outcome does not belong to {0}")]
    WrongOutcome(Step),
}

impl Task {
    /// A task that waits for a worker.
    pub fn new(spec: TaskSpec, at: Timestamp) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self {
            spec,
            phase: Phase::Queued,
            steps: Steps::new(Some(Step::Prepare)),
            rounds: Vec::new(),
            ledger: Ledger::default(),
            spent: BTreeMap::new(),
            since: at,
            reask: false,
            disputed: Vec::new(),
            arbitrated: false,
            accepted_instructions: BTreeMap::new(),
            offered_instructions: BTreeMap::new(),
        })
    }

    /// The step that runs.
    pub fn running(&self) -> Option<&Running> {
        self.steps.running()
    }

    /// Why nothing runs although there is work to do.
    pub fn waiting(&self) -> Option<&Awaited> {
        self.steps.waiting()
    }

    /// Whether the reviewer is asked for the format of its verdict only. Only a session that has reviewed can repeat its
    /// verdict; any other one reviews again.
    pub fn asks_for_format(&self) -> bool {
        self.reask && self.steps.session().is_some()
    }

    /// The open issues that a third reviewer decides on.
    pub fn disputed(&self) -> &[IssueId] {
        &self.disputed
    }

    /// Whether a person has accepted a file that instructs reviewers, with this digest.
    pub fn accepts_instruction(&self, file: &str, digest: &str) -> bool {
        self.accepted_instructions.get(file).is_some_and(|accepted| accepted == digest)
    }

    pub fn total_spent(&self) -> Spend {
        self.spent.values().fold(Spend::default(), |total, spend| total.plus(spend))
    }

    /// What is left of the budget.
    pub fn budget_left(&self) -> Budget {
        self.left_of(&self.spec.budget)
    }

    fn left_of(&self, budget: &Budget) -> Budget {
        let spent = self.total_spent();
        budget.reduced_by(spent.tokens, spent.micros)
    }

    pub fn current_round(&self) -> Option<&Round> {
        self.rounds.last()
    }

    fn round_mut(&mut self, number: u32) -> Option<&mut Round> {
        self.rounds.iter_mut().find(|round| round.number == number)
    }

    fn enter(&mut self, phase: Phase, at: Timestamp) {
        if self.phase != phase {
            self.phase = phase;
            self.since = at;
        }
    }

    fn end(&mut self, phase: Phase, at: Timestamp) {
        self.steps.end_wait();
        self.enter(phase, at);
    }

    /// Enters the phase of the next step.
    fn enter_position(&mut self, at: Timestamp) {
        let phase = self.steps.position().map_or(Phase::Preparing, Step::phase);
        self.enter(phase, at);
    }

    /// Continues with `step`, which has not been tried yet.
    fn go_to(&mut self, step: Step) {
        self.steps.go_to(step);
        self.reask = false;
    }
}
