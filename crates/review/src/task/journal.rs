//! What a journal holds, and how a record changes a task.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::session::Budget;
use belay_core::task::{GateResult, Spend, WorkspaceMode};
use belay_core::wait::Awaited;
use serde::{Deserialize, Serialize};

use super::spec::budget_json;
use super::{Attention, Built, DoneBy, MAX_ATTEMPTS, Phase, RecordError, ReviewKind, Round, Running, Step, Task};
use crate::ledger::IssueId;
use crate::task::round::BuildStart;
use crate::verdict::Verdict;

/// One entry of a task's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// Written before the step has any effect.
    Started {
        step: Step,
        attempt: u32,
    },
    /// Written after the step's effects are durable.
    Finished {
        step: Step,
        attempt: u32,
        outcome: StepOutcome,
        spend: Spend,
    },
    /// The process that ran the step died. The step runs again.
    Interrupted {
        step: Step,
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
        decision: Decision,
    },
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome {
    Prepared,
    Built(Built),
    Gated(GateResult),
    /// `tree`: the tree after the review.
    Reviewed {
        verdict: Verdict,
        tree: String,
    },
    /// The reviewer's output is not a verdict. The session can be asked again.
    Unparsed {
        error: String,
        output: String,
        session: Option<String>,
    },
    /// The reviewer was not asked, because files that instruct it have changed: names and digests.
    InstructionsChanged {
        files: BTreeMap<String, String>,
    },
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

/// What a person decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Cancel,
    /// Try the last step of an ended task again, with more rounds or money if given.
    Resume {
        rounds: Option<u32>,
        #[serde(default, with = "budget_json::option")]
        budget: Option<Budget>,
    },
    Waive {
        issue: IssueId,
        why: String,
    },
    Answer {
        answer: Answer,
    },
}

/// A person's own verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Done,
    /// Not done: what to fix.
    Fix {
        text: String,
    },
}

impl Task {
    /// Applies a record. If it does not fit, the task is unchanged.
    pub fn apply(&mut self, at: Timestamp, record: &Record) -> Result<(), RecordError> {
        match record {
            Record::Decided { by, decision } => self.decide(at, by, decision),
            Record::Finished { step, attempt, spend, .. } | Record::Interrupted { step, attempt, spend }
                if self.abandoned.as_ref().is_some_and(|run| run.step == *step && run.attempt == *attempt) =>
            {
                // A person decided while it ran. What it cost counts all the same.
                self.abandoned = None;
                self.charge(step, spend);
                Ok(())
            }
            _ if self.phase.is_final() => Err(RecordError::Ended),
            Record::Started { step, attempt } => self.start(at, step, *attempt),
            Record::Finished { step, attempt, outcome, spend } => self.finish(at, step, *attempt, outcome, spend),
            Record::Interrupted { step, attempt, spend } => {
                self.take_running(step, *attempt)?;
                self.charge(step, spend);
                self.keep_leftovers(step);
                if matches!(step, Step::Build { .. }) {
                    // A worktree is reset; the session would believe in edits that are gone.
                    self.resume = None;
                }
                self.check_budget(at);
                Ok(())
            }
            Record::Waits { waiting } => {
                if let Some(running) = &self.running {
                    return Err(RecordError::Busy { running: running.step.clone(), wanted: self.position.clone() });
                }
                self.waiting = Some(waiting.clone());
                Ok(())
            }
            Record::WaitEnded => {
                self.waiting = None;
                Ok(())
            }
        }
    }

    fn start(&mut self, at: Timestamp, step: &Step, attempt: u32) -> Result<(), RecordError> {
        if let Some(running) = &self.running {
            return Err(RecordError::Busy { running: running.step.clone(), wanted: step.clone() });
        }
        if *step != self.position || attempt <= self.attempts {
            return Err(RecordError::OutOfOrder { expected: self.position.clone(), found: step.clone() });
        }
        self.waiting = None;
        self.attempts = attempt;
        self.running = Some(Running { step: step.clone(), attempt, since: at });
        self.enter(step.phase(), at);
        Ok(())
    }

    /// The result of an attempt that was cancelled may come late, when the step runs again.
    fn take_running(&mut self, step: &Step, attempt: u32) -> Result<Running, RecordError> {
        match self.running.take() {
            Some(running) if running.step == *step && running.attempt == attempt => Ok(running),
            other => {
                self.running = other;
                Err(RecordError::NotRunning(step.clone()))
            }
        }
    }

    fn finish(
        &mut self,
        at: Timestamp,
        step: &Step,
        attempt: u32,
        outcome: &StepOutcome,
        spend: &Spend,
    ) -> Result<(), RecordError> {
        if !fits(step, outcome) {
            return Err(RecordError::WrongOutcome(step.clone()));
        }
        self.take_running(step, attempt)?;
        let role = self.charge(step, spend);
        match outcome {
            StepOutcome::Prepared => self.begin_round(BuildStart::Continue),
            StepOutcome::Built(built) => self.built(at, step, built),
            StepOutcome::Gated(gate) => self.gated(at, step, gate),
            StepOutcome::Reviewed { verdict, tree } => self.reviewed(at, step, verdict.clone(), Some(tree)),
            StepOutcome::Unparsed { session, .. } if !self.reask => {
                self.resume.clone_from(session);
                self.reask = true;
            }
            StepOutcome::Unparsed { output, .. } => self.reviewed(at, step, Verdict::unparsed(output), None),
            StepOutcome::InstructionsChanged { files } => {
                if let Step::Review { reviewer, .. } = step {
                    let (reviewer, names) = (reviewer.clone(), files.keys().cloned().collect());
                    self.offered_instructions.clone_from(files);
                    self.needs(at, Attention::InstructionsChanged { reviewer, files: names });
                }
            }
            StepOutcome::Limited { account, until, session } => {
                if session.is_none() {
                    self.keep_leftovers(step);
                }
                self.resume.clone_from(session);
                self.waiting = Some(Awaited::Limit { account: account.clone(), until: *until });
            }
            StepOutcome::Paused { session, reason } => {
                self.resume = Some(session.clone());
                self.waiting = Some(Awaited::Pause { session: session.clone(), reason: reason.clone() });
            }
            StepOutcome::OverBudget => {
                self.keep_leftovers(step);
                self.needs(at, Attention::BudgetUsed);
            }
            StepOutcome::Refused { why } => {
                self.keep_leftovers(step);
                self.needs(at, Attention::Refused { role, why: why.clone() });
            }
            StepOutcome::TimedOut => self.failed(at, step, None),
            StepOutcome::Crashed { why } => self.failed(at, step, Some(why)),
        }
        self.check_budget(at);
        Ok(())
    }

    fn check_budget(&mut self, at: Timestamp) {
        if !self.phase.is_final() && self.budget_left().is_used_up() {
            self.needs(at, Attention::BudgetUsed);
        }
    }

    /// Counts what a step cost for its role, which is returned.
    fn charge(&mut self, step: &Step, spend: &Spend) -> String {
        let role = role(step, &self.spec.builder.agent);
        let spent = self.spent.entry(role.clone()).or_default();
        *spent = spent.plus(spend);
        role
    }

    pub(super) fn needs(&mut self, at: Timestamp, why: Attention) {
        self.end(Phase::NeedsAttention { why }, at);
    }

    /// One more attempt, then the task fails. The round can do without a reviewer if the others suffice. `crash` is
    /// `None` if the step timed out.
    fn failed(&mut self, at: Timestamp, step: &Step, crash: Option<&str>) {
        self.keep_leftovers(step);
        self.failures += 1;
        self.resume = None;
        if self.failures < MAX_ATTEMPTS {
            return;
        }
        let why = crash.unwrap_or("timed out");
        match step {
            Step::Review { round, reviewer, kind } if self.can_do_without(*round, *kind) => {
                self.skip_reviewer(at, *round, *kind, reviewer, why);
            }
            Step::Review { reviewer, .. } if crash.is_some() => {
                self.needs(at, Attention::NoVerdict { reviewer: reviewer.clone(), why: why.to_owned() });
            }
            _ => self.end(Phase::Failed { why: format!("{step}: {why}") }, at),
        }
    }

    /// A worktree is reset before the next attempt. Edits in the person's own directory stay, and the next prompt names
    /// them.
    fn keep_leftovers(&mut self, step: &Step) {
        if let Step::Build { round } = step
            && self.spec.workspace == WorkspaceMode::InPlace
            && let Some(round) = self.round_mut(*round)
        {
            round.has_leftovers = true;
        }
    }

    pub(super) fn begin_round(&mut self, start: BuildStart) {
        let number = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.rounds.push(Round::new(number, start));
        self.go_to(Step::Build { round: number });
    }

    fn decide(&mut self, at: Timestamp, by: &str, decision: &Decision) -> Result<(), RecordError> {
        match decision {
            // A person may also give up on a task that asks for a decision.
            Decision::Cancel if matches!(self.phase, Phase::Done { .. } | Phase::Cancelled { .. }) => {
                return Err(RecordError::Ended);
            }
            Decision::Cancel => {
                if let Some(running) = self.running.take() {
                    self.keep_leftovers(&running.step);
                    self.abandoned = Some(running);
                }
                self.end(Phase::Cancelled { by: by.to_owned() }, at);
            }
            Decision::Waive { issue, why } => {
                if !self.ledger.waive(*issue, by, why) {
                    return Err(RecordError::NoIssue(*issue));
                }
            }
            Decision::Answer { answer: Answer::Done } => {
                self.abandoned = self.running.take().or(self.abandoned.take());
                self.end(Phase::Done { by: DoneBy::Person { name: by.to_owned() } }, at);
            }
            Decision::Answer { answer: Answer::Fix { text } } => self.fix_for_person(at, by, text)?,
            Decision::Resume { rounds, budget } => {
                if !self.phase.is_final() {
                    return Err(RecordError::NotEnded);
                }
                if matches!(self.phase, Phase::Done { .. }) {
                    return Err(RecordError::Ended);
                }
                let new_budget = budget.map_or(self.spec.budget, |budget| budget.or(&self.spec.budget));
                if self.left_of(&new_budget).is_used_up() {
                    return Err(RecordError::NoBudget);
                }
                if matches!(self.phase, Phase::NeedsAttention { why: Attention::InstructionsChanged { .. } }) {
                    self.accepted_instructions.append(&mut self.offered_instructions);
                }
                self.spec.rounds = rounds.unwrap_or(self.spec.rounds);
                self.spec.budget = new_budget;
                self.failures = 0;
                self.arbitrated = false;
                self.resume_position();
                let phase = self.position.phase();
                self.enter(phase, at);
            }
        }
        Ok(())
    }

    /// A person's verdict is an issue like any other, and starts a round of its own.
    fn fix_for_person(&mut self, at: Timestamp, by: &str, text: &str) -> Result<(), RecordError> {
        if !self.phase.is_final() {
            return Err(RecordError::NotEnded);
        }
        let number = self.current_round().map_or(0, |round| round.number);
        self.record_unfinished_round();
        self.ledger.raise_for_person(number, by, text);
        if self.rounds.is_empty() {
            self.go_to(Step::Prepare);
        } else {
            self.spec.rounds = self.spec.rounds.max(number.saturating_add(1));
            self.begin_round(BuildStart::Continue);
        }
        let phase = self.position.phase();
        self.enter(phase, at);
        Ok(())
    }
}

/// Who a step's cost is counted for.
pub fn role(step: &Step, builder: &str) -> String {
    match step {
        Step::Prepare => "belay".to_owned(),
        Step::Build { .. } => format!("builder {builder}"),
        Step::Gate { .. } => "gates".to_owned(),
        Step::Review { reviewer, kind: ReviewKind::Arbitration, .. } => format!("arbiter {reviewer}"),
        Step::Review { reviewer, .. } => format!("reviewer {reviewer}"),
    }
}

/// Whether a step can end like this.
fn fits(step: &Step, outcome: &StepOutcome) -> bool {
    match outcome {
        StepOutcome::Prepared => matches!(step, Step::Prepare),
        StepOutcome::Built(_) => matches!(step, Step::Build { .. }),
        StepOutcome::Gated(_) => matches!(step, Step::Gate { .. }),
        StepOutcome::Reviewed { .. } | StepOutcome::Unparsed { .. } | StepOutcome::InstructionsChanged { .. } => {
            matches!(step, Step::Review { .. })
        }
        StepOutcome::Limited { .. }
        | StepOutcome::Paused { .. }
        | StepOutcome::OverBudget
        | StepOutcome::Refused { .. } => {
            matches!(step, Step::Build { .. } | Step::Review { .. })
        }
        StepOutcome::TimedOut | StepOutcome::Crashed { .. } => true,
    }
}
