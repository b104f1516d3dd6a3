//! What a journal holds, and how a record changes a task.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::session::Budget;
use belay_core::task::{
    AfterFailure, Counts, GateResult, Journalled, Machine, Spend, StepFailure, Steps, WorkspaceMode,
};
use serde::{Deserialize, Serialize};

use super::spec::budget_json;
use super::{Attention, Built, DoneBy, Phase, Record, RecordError, ReviewKind, Round, Step, Task, TaskSpec};
use crate::ledger::IssueId;
use crate::task::round::BuildStart;
use crate::verdict::Verdict;

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
    /// An agent, or what Belay runs for it, failed.
    #[serde(untagged)]
    Failed(StepFailure),
}

impl From<StepFailure> for StepOutcome {
    fn from(failure: StepFailure) -> Self {
        Self::Failed(failure)
    }
}

/// What happens to a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// It is in the person's branch or directory.
    Landed {
        by: String,
        /// What happened, in one sentence.
        message: String,
        /// The commit that has it, if one was made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// It is kept as a branch, and its worktree is removed.
    Archived { by: String },
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

impl Machine for Task {
    type Spec = TaskSpec;
    type Step = Step;
    type Outcome = StepOutcome;
    type Fact = Fact;
    type Decision = Decision;

    fn new(spec: TaskSpec, at: Timestamp) -> Result<Self, RecordError> {
        Ok(Self::new(spec, at)?)
    }

    fn steps(&self) -> &Steps<Step> {
        &self.steps
    }

    fn has_ended(&self) -> bool {
        self.phase.is_final()
    }
}

impl Journalled for Task {
    type Record = Record;
    type Error = RecordError;

    fn apply(&mut self, at: Timestamp, record: &Record) -> Result<(), RecordError> {
        match record {
            Record::Decided { by, decision } => self.decide(at, by, decision),
            // Only what has ended has a result. It changes nothing about how the task would go on.
            Record::Observed { fact: Fact::Landed { .. } | Fact::Archived { .. } } => match self.phase.is_final() {
                true => Ok(()),
                false => Err(RecordError::NotEnded),
            },
            Record::Finished { step, attempt, spend, .. } | Record::Interrupted { step, attempt, spend }
                if self.steps.counts(step, *attempt) == Ok(Counts::CostOnly) =>
            {
                self.steps.end(step, *attempt)?;
                self.charge(step, spend);
                Ok(())
            }
            _ if self.phase.is_final() => Err(RecordError::Ended),
            Record::Started { step, attempt } => {
                self.steps.start(at, step, *attempt)?;
                self.enter(step.phase(), at);
                Ok(())
            }
            Record::Finished { step, attempt, outcome, spend } => self.finish(at, step, *attempt, outcome, spend),
            Record::Interrupted { step, attempt, spend } => {
                self.steps.end(step, *attempt)?;
                self.charge(step, spend);
                self.keep_leftovers(step);
                if matches!(step, Step::Build { .. }) {
                    // A worktree is reset; the session would believe in edits that are gone.
                    self.steps.set_session(None);
                }
                self.check_budget(at);
                Ok(())
            }
            Record::Waits { waiting } => Ok(self.steps.wait(waiting.clone())?),
            Record::WaitEnded => {
                self.steps.end_wait();
                Ok(())
            }
        }
    }
}

impl Task {
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
        self.steps.end(step, attempt)?;
        let role = self.charge(step, spend);
        match outcome {
            StepOutcome::Prepared => self.begin_round(BuildStart::Continue),
            StepOutcome::Built(built) => self.built(at, step, built),
            StepOutcome::Gated(gate) => self.gated(at, step, gate),
            StepOutcome::Reviewed { verdict, tree } => self.reviewed(at, step, verdict.clone(), Some(tree)),
            StepOutcome::Unparsed { session, .. } if !self.reask => {
                self.steps.set_session(session.clone());
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
            StepOutcome::Failed(how) => self.failed(at, step, how, role),
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

    /// A step that gives up fails the task, unless the round can do without its reviewer.
    fn failed(&mut self, at: Timestamp, step: &Step, how: &StepFailure, role: String) {
        let goes_on = matches!(how, StepFailure::Limited { session: Some(_), .. } | StepFailure::Paused { .. });
        if !goes_on {
            self.keep_leftovers(step);
        }
        match self.steps.fail(how) {
            AfterFailure::Retry | AfterFailure::Waits => {}
            AfterFailure::NeedsPerson => match how {
                StepFailure::Refused { why } => self.needs(at, Attention::Refused { role, why: why.clone() }),
                _ => self.needs(at, Attention::BudgetUsed),
            },
            AfterFailure::GiveUp(why) => match step {
                Step::Review { round, reviewer, kind } if self.can_do_without(*round, *kind) => {
                    self.skip_reviewer(at, *round, *kind, reviewer, &why);
                }
                Step::Review { reviewer, .. } if matches!(how, StepFailure::Crashed { .. }) => {
                    self.needs(at, Attention::NoVerdict { reviewer: reviewer.clone(), why });
                }
                _ => self.end(Phase::Failed { why: format!("{step}: {why}") }, at),
            },
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
                if let Some(step) = self.steps.abandon() {
                    self.keep_leftovers(&step);
                }
                self.end(Phase::Cancelled { by: by.to_owned() }, at);
            }
            Decision::Waive { issue, why } => {
                if !self.ledger.waive(*issue, by, why) {
                    return Err(RecordError::NoIssue(*issue));
                }
            }
            Decision::Answer { answer: Answer::Done } => {
                self.steps.abandon();
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
                self.steps.forgive();
                self.arbitrated = false;
                self.resume_position();
                self.enter_position(at);
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
        self.enter_position(at);
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
        StepOutcome::Failed(StepFailure::TimedOut | StepFailure::Crashed { .. }) => true,
        StepOutcome::Failed(_) => matches!(step, Step::Build { .. } | Step::Review { .. }),
    }
}
