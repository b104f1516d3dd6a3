//! The steps of a task, one at a time.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{AfterFailure, StepFailure};
use crate::time::Timestamp;
use crate::wait::Awaited;

/// Attempts at a step before the task gives up.
const MAX_ATTEMPTS: u32 = 2;

/// Which step runs, which one is next, and why it does not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps<S> {
    /// The step to run next, or the one that runs. Without one, the task rests until a record moves it.
    position: Option<S>,
    running: Option<Running<S>>,
    /// The step that a person's decision ended, until it is known what it cost.
    abandoned: Option<Running<S>>,
    waiting: Option<Awaited>,
    /// Steps that were started.
    attempts: u32,
    /// Failed attempts at the position.
    failures: u32,
    /// The agent's session that the next attempt continues.
    session: Option<String>,
}

/// A step that was started and has not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running<S> {
    pub step: S,
    pub attempt: u32,
    pub since: Timestamp,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<S> {
    /// Start this step.
    Start(StepRun<S>),
    /// Wait until the running step finishes.
    Await(S),
    /// Ask again at this time.
    WaitUntil(Timestamp),
    /// Wait for a record: a lock is free, a session is resumed, something happened.
    WaitForRecord,
    /// Nothing more to do.
    Ended,
}

/// How to run a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun<S> {
    pub step: S,
    /// The number of this start among all of the task. Its records carry it.
    pub attempt: u32,
    /// Attempts that failed.
    pub failures: u32,
    /// Continue this session of the agent.
    pub session: Option<String>,
}

/// What the end of a step is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// It is the end of the running step.
    Result,
    /// A person's decision ended the step before. Only what it cost counts.
    CostOnly,
}

/// Why a record does not fit the steps. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError<S> {
    #[error("the task is running {running}, so {wanted} cannot start")]
    Busy { running: S, wanted: S },
    #[error("the task is running {0}, so it cannot wait")]
    CannotWait(S),
    #[error("the next step is {expected}, not {found}")]
    OutOfOrder { expected: S, found: S },
    #[error("no step is next, so {0} cannot start")]
    NoStep(S),
    #[error("{0} is not running, or was started again")]
    NotRunning(S),
}

impl<S: Clone + PartialEq> Steps<S> {
    /// No step has started; `first` is next.
    pub fn new(first: Option<S>) -> Self {
        Self { position: first, running: None, abandoned: None, waiting: None, attempts: 0, failures: 0, session: None }
    }

    /// What to do now, while the task has not ended.
    pub fn next(&self, now: Timestamp) -> Next<S> {
        if let Some(running) = &self.running {
            return Next::Await(running.step.clone());
        }
        match &self.waiting {
            Some(Awaited::Limit { until: at, .. } | Awaited::Time { at }) if now < *at => return Next::WaitUntil(*at),
            Some(Awaited::Limit { .. } | Awaited::Time { .. }) | None => {}
            Some(_) => return Next::WaitForRecord,
        }
        let Some(step) = self.position.clone() else { return Next::WaitForRecord };
        let attempt = self.attempts.saturating_add(1);
        Next::Start(StepRun { step, attempt, failures: self.failures, session: self.session.clone() })
    }

    pub fn position(&self) -> Option<&S> {
        self.position.as_ref()
    }

    pub fn running(&self) -> Option<&Running<S>> {
        self.running.as_ref()
    }

    /// Why nothing runs although there is work to do.
    pub fn waiting(&self) -> Option<&Awaited> {
        self.waiting.as_ref()
    }

    /// Whether any step was ever started.
    pub fn have_begun(&self) -> bool {
        self.attempts > 0
    }

    /// The agent's session that the next attempt continues.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Records the start of the next step.
    pub fn start(&mut self, at: Timestamp, step: &S, attempt: u32) -> Result<(), StepError<S>> {
        if let Some(running) = &self.running {
            return Err(StepError::Busy { running: running.step.clone(), wanted: step.clone() });
        }
        let Some(position) = &self.position else { return Err(StepError::NoStep(step.clone())) };
        if position != step || attempt <= self.attempts {
            return Err(StepError::OutOfOrder { expected: position.clone(), found: step.clone() });
        }
        self.waiting = None;
        self.attempts = attempt;
        self.running = Some(Running { step: step.clone(), attempt, since: at });
        Ok(())
    }

    /// What the end of this attempt would count for.
    pub fn counts(&self, step: &S, attempt: u32) -> Result<Counts, StepError<S>> {
        let is = |run: &Option<Running<S>>| run.as_ref().is_some_and(|run| run.step == *step && run.attempt == attempt);
        if is(&self.running) {
            return Ok(Counts::Result);
        }
        // The result of an attempt that was abandoned may come late, when the step runs again.
        if is(&self.abandoned) { Ok(Counts::CostOnly) } else { Err(StepError::NotRunning(step.clone())) }
    }

    /// Records the end of an attempt, which counts once.
    pub fn end(&mut self, step: &S, attempt: u32) -> Result<Counts, StepError<S>> {
        let counts = self.counts(step, attempt)?;
        match counts {
            Counts::Result => self.running = None,
            Counts::CostOnly => self.abandoned = None,
        }
        Ok(counts)
    }

    /// What follows from the failure of the step that ended.
    pub fn fail(&mut self, how: &StepFailure) -> AfterFailure {
        let why = match how {
            StepFailure::Limited { account, until, session } => {
                self.session.clone_from(session);
                self.waiting = Some(Awaited::Limit { account: account.clone(), until: *until });
                return AfterFailure::Waits;
            }
            StepFailure::Paused { session, reason } => {
                self.session = Some(session.clone());
                self.waiting = Some(Awaited::Pause { session: session.clone(), reason: reason.clone() });
                return AfterFailure::Waits;
            }
            StepFailure::OverBudget | StepFailure::Refused { .. } => return AfterFailure::NeedsPerson,
            StepFailure::TimedOut => "timed out",
            StepFailure::Crashed { why } => why,
        };
        self.failures = self.failures.saturating_add(1);
        self.session = None;
        match self.failures < MAX_ATTEMPTS {
            true => AfterFailure::Retry,
            false => AfterFailure::GiveUp(why.to_owned()),
        }
    }

    /// Records that the next step cannot start.
    pub fn wait(&mut self, awaited: Awaited) -> Result<(), StepError<S>> {
        if let Some(running) = &self.running {
            return Err(StepError::CannotWait(running.step.clone()));
        }
        self.waiting = Some(awaited);
        Ok(())
    }

    /// What the task waited for has happened, or does not matter anymore.
    pub fn end_wait(&mut self) {
        self.waiting = None;
    }

    /// Continues with `step`, which has not been tried yet.
    pub fn go_to(&mut self, step: S) {
        self.position = Some(step);
        self.failures = 0;
        self.session = None;
    }

    /// Nothing is next, until a record says otherwise.
    pub fn rest(&mut self) {
        self.position = None;
        self.failures = 0;
        self.session = None;
        self.waiting = None;
    }

    /// A person's decision ends the step that runs. Returns it.
    pub fn abandon(&mut self) -> Option<S> {
        let running = self.running.take()?;
        let step = running.step.clone();
        self.abandoned = Some(running);
        Some(step)
    }

    /// Earlier failures do not count anymore, because a person has decided.
    pub fn forgive(&mut self) {
        self.failures = 0;
    }

    /// The next attempt continues this session, or begins a new one.
    pub fn set_session(&mut self, session: Option<String>) {
        self.session = session;
    }
}
