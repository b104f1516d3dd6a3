//! A review task as a state machine.
//!
//! ```text
//! queued -> preparing -> building(n) -> gating(n) -> reviewing(n) -+-> done
//!                            ^                                     |
//!                            +---------- issues are open ----------+-> needs attention
//! ```
//!
//! Every state may also be waiting (for a limit, a person, a lock, a paused session), and a person may cancel at any
//! time. [`Task::apply`] takes one journal [`Record`] after the other; [`Task::next`] says what to do now.

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
use belay_core::task::Spend;
use belay_core::wait::Awaited;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use journal::{Answer, Decision, Record, StepOutcome, role};
pub use round::{BuildStart, Built, Review, Round};
pub use spec::{Role, SpecError, TaskSpec};
pub use step::{ReviewKind, Step};

use crate::ledger::{IssueId, Ledger};

/// A review task: its specification and everything that happened to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub spec: TaskSpec,
    pub phase: Phase,
    /// Why nothing runs although there is work to do.
    pub waiting: Option<Awaited>,
    pub rounds: Vec<Round>,
    pub ledger: Ledger,
    /// Tokens and money by role.
    pub spent: BTreeMap<String, Spend>,
    /// When the phase began.
    pub since: Timestamp,
    /// The step that runs.
    running: Option<Running>,
    /// The step that a person's decision ended, until it is known what it cost.
    #[serde(default)]
    abandoned: Option<Running>,
    /// The step to run next, or the one that runs.
    position: Step,
    /// Steps that were started.
    attempts: u32,
    /// Failed attempts at the step.
    failures: u32,
    /// The agent's session, if the step continues one.
    resume: Option<String>,
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

/// A step that was started and has not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub step: Step,
    pub attempt: u32,
    pub since: Timestamp,
}

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

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Start this step.
    Start(StepRun),
    /// Wait until the running step finishes.
    Await(Step),
    /// Ask again at this time.
    WaitUntil(Timestamp),
    /// Wait for a record: a lock is free, a session is resumed.
    WaitForRecord,
    /// Nothing more to do.
    Ended,
}

/// How to run a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun {
    pub step: Step,
    /// Attempts that failed.
    pub failures: u32,
    /// Continue this session of the agent.
    pub resume: Option<String>,
    /// Ask for the verdict's format only.
    pub reask: bool,
    /// The number of this start among all of the task. Its records carry it.
    pub attempt: u32,
}

/// Why a record does not fit the task. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    #[error("the task is running {running}, so {wanted} cannot start")]
    Busy { running: Step, wanted: Step },
    #[error("the next step is {expected}, not {found}")]
    OutOfOrder { expected: Step, found: Step },
    #[error("{0} is not running, or was started again")]
    NotRunning(Step),
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

/// Attempts at a step before the task gives up.
const MAX_ATTEMPTS: u32 = 2;

impl Task {
    /// A task that waits for a worker.
    pub fn new(spec: TaskSpec, at: Timestamp) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self {
            spec,
            phase: Phase::Queued,
            waiting: None,
            rounds: Vec::new(),
            ledger: Ledger::default(),
            spent: BTreeMap::new(),
            since: at,
            running: None,
            abandoned: None,
            position: Step::Prepare,
            attempts: 0,
            failures: 0,
            resume: None,
            reask: false,
            disputed: Vec::new(),
            arbitrated: false,
            accepted_instructions: BTreeMap::new(),
            offered_instructions: BTreeMap::new(),
        })
    }

    /// What to do now.
    pub fn next(&self, now: Timestamp) -> Next {
        if self.phase.is_final() {
            return Next::Ended;
        }
        if let Some(running) = &self.running {
            return Next::Await(running.step.clone());
        }
        match &self.waiting {
            Some(Awaited::Limit { until, .. }) if now < *until => return Next::WaitUntil(*until),
            Some(Awaited::Lock { .. } | Awaited::Pause { .. }) => return Next::WaitForRecord,
            Some(Awaited::Limit { .. }) | None => {}
        }
        Next::Start(StepRun {
            step: self.position.clone(),
            failures: self.failures,
            resume: self.resume.clone(),
            // Only a session that has reviewed can repeat its verdict; any other one reviews again.
            reask: self.reask && self.resume.is_some(),
            attempt: self.attempts.saturating_add(1),
        })
    }

    pub fn running(&self) -> Option<&Running> {
        self.running.as_ref()
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
        self.running = None;
        self.waiting = None;
        self.enter(phase, at);
    }

    /// Continues with `step`, which has not been tried yet.
    fn go_to(&mut self, step: Step) {
        self.position = step;
        self.failures = 0;
        self.resume = None;
        self.reask = false;
    }
}
