//! The smallest driver: a task counts to a number, one step each.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use belay_config::Config;
use belay_core::task::{
    AfterFailure, Counts, Journalled, Machine, Record, RecordOf, Spend, StepError, StepFailure, Steps,
};
use belay_core::wait::Awaited;
use belay_core::{Subject, Timestamp};
use belay_drive::limits::AccountId;
use belay_tasks::{Names, OpenTask, Performer, StepContext, StepEnd, TaskView};
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) name: String,
    /// The number of steps.
    pub(crate) count: u32,
    /// Begins when something is observed, and not at once.
    pub(crate) waits_for_fact: bool,
    /// What the task waits for after that.
    pub(crate) awaits: Option<Awaited>,
    /// A directory that no other task may use meanwhile.
    pub(crate) dir: Option<PathBuf>,
    /// No start can be recorded, as if the disk were full.
    pub(crate) is_stuck: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Count {
    spec: Spec,
    steps: Steps<u32>,
    spent: Spend,
    end: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    Counted,
    #[serde(untagged)]
    Failed(StepFailure),
}

impl From<StepFailure> for Outcome {
    fn from(failure: StepFailure) -> Self {
        Self::Failed(failure)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Decision {
    Cancel,
    Resume,
}

#[derive(Debug, Error)]
pub(crate) enum Misfit {
    #[error(transparent)]
    Step(#[from] StepError<u32>),
    #[error("the task has ended")]
    Ended,
    #[error("as if the disk were full")]
    Stuck,
}

impl Machine for Count {
    type Spec = Spec;
    type Step = u32;
    type Outcome = Outcome;
    type Fact = String;
    type Decision = Decision;

    fn new(spec: Spec, _: Timestamp) -> Result<Self, Misfit> {
        let steps = Steps::new((!spec.waits_for_fact).then_some(1));
        Ok(Self { spec, steps, spent: Spend::default(), end: None })
    }

    fn steps(&self) -> &Steps<u32> {
        &self.steps
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }
}

impl Journalled for Count {
    type Record = RecordOf<Self>;
    type Error = Misfit;

    fn apply(&mut self, at: Timestamp, record: &Self::Record) -> Result<(), Misfit> {
        match record {
            Record::Decided { decision: Decision::Cancel, .. } => {
                self.steps.abandon();
                self.end = Some("cancelled".to_owned());
            }
            Record::Decided { decision: Decision::Resume, .. } => {
                self.steps.forgive();
                self.end = None;
            }
            Record::Finished { step, attempt, spend, .. } | Record::Interrupted { step, attempt, spend }
                if self.steps.end(step, *attempt)? == Counts::CostOnly =>
            {
                self.spent = self.spent.plus(spend);
            }
            Record::Finished { step, outcome, spend, .. } => {
                self.spent = self.spent.plus(spend);
                self.finished(*step, outcome);
            }
            Record::Interrupted { spend, .. } => self.spent = self.spent.plus(spend),
            Record::Observed { fact } if self.end.is_some() => self.end = Some(fact.clone()),
            Record::Observed { .. } => {
                self.steps.go_to(1);
                if let Some(awaited) = &self.spec.awaits {
                    self.steps.wait(awaited.clone())?;
                }
            }
            _ if self.end.is_some() => return Err(Misfit::Ended),
            Record::Started { step, attempt } => {
                self.steps.start(at, step, *attempt)?;
                if self.spec.is_stuck {
                    return Err(Misfit::Stuck);
                }
            }
            Record::Waits { waiting } => self.steps.wait(waiting.clone())?,
            Record::WaitEnded => self.steps.end_wait(),
        }
        Ok(())
    }
}

impl Count {
    fn finished(&mut self, step: u32, outcome: &Outcome) {
        match outcome {
            Outcome::Counted if step == self.spec.count => self.end = Some("counted".to_owned()),
            Outcome::Counted => self.steps.go_to(step + 1),
            Outcome::Failed(how) => match self.steps.fail(how) {
                AfterFailure::Retry | AfterFailure::Waits => {}
                AfterFailure::NeedsPerson => self.end = Some("needs a person".to_owned()),
                AfterFailure::GiveUp(why) => self.end = Some(why),
            },
        }
    }
}

/// What lists show of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) end: Option<String>,
    pub(crate) waiting: Option<Awaited>,
    pub(crate) micros: u64,
    pub(crate) records: usize,
}

/// What a step does when it runs.
pub(crate) enum Act {
    Fail(StepFailure),
    Panic,
    /// Waits until the test sends something, or until it is cancelled.
    Block(Receiver<()>),
}

/// Performs steps as the test says; a step of which it says nothing counts.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) acts: Mutex<Vec<(String, Act)>>,
    /// What ran: the name of the task, the step, and whether it was recovered.
    pub(crate) log: Mutex<Vec<String>>,
    /// The names of the tasks that were about to start, each time.
    pub(crate) considered: Mutex<Vec<String>>,
    /// Called once, when a task is written for the first time.
    pub(crate) on_filed: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[derive(Clone, Default)]
pub(crate) struct Toy(pub(crate) Arc<Script>);

impl std::fmt::Debug for Toy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Toy")
    }
}

impl Performer for Toy {
    type Machine = Count;
    type Summary = Summary;

    const NAMES: Names = Names { dir: "counts", prefix: "c-", noun: "count", subject: |id| Subject::review(id) };

    fn workers(&self, _: &Config) -> u32 {
        1
    }

    fn queue_depth(&self, _: &Config) -> u32 {
        2
    }

    fn perform(&self, step: &StepContext<Count>) -> StepEnd<Count> {
        let name = step.filed.spec.name.clone();
        self.0.log.lock().unwrap().push(format!("{name} {}", step.run.step));
        step.host.task_changed(&step.subject);
        let act = {
            let mut acts = self.0.acts.lock().unwrap();
            let next = acts.iter().position(|(task, _)| *task == name);
            next.map(|next| acts.remove(next).1)
        };
        let spend = Spend { micros: 10, ..Spend::default() };
        match act {
            Some(Act::Fail(failure)) => {
                if let StepFailure::Limited { account, until, .. } = &failure {
                    step.limits.hit(&AccountId::from_name(account), Some(*until), "limit", belay_clock::now());
                }
                StepEnd::Finished { outcome: failure.into(), spend }
            }
            Some(Act::Panic) => panic!("as the test says"),
            Some(Act::Block(released)) => {
                while !step.cancel.is_cancelled() {
                    match released.recv_timeout(std::time::Duration::from_millis(5)) {
                        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                        _ => return StepEnd::Finished { outcome: Outcome::Counted, spend },
                    }
                }
                StepEnd::Interrupted { spend }
            }
            None => StepEnd::Finished { outcome: Outcome::Counted, spend },
        }
    }

    fn recover(&self, step: &StepContext<Count>) -> StepEnd<Count> {
        self.0.log.lock().unwrap().push(format!("{} {} recovered", step.filed.spec.name, step.run.step));
        StepEnd::interrupted()
    }

    fn account(&self, step: &StepContext<Count>) -> Option<AccountId> {
        self.0.considered.lock().unwrap().push(step.filed.spec.name.clone());
        None
    }

    fn occupies(&self, task: &Count) -> Option<PathBuf> {
        let works = task.steps.have_begun() && task.steps.waiting().is_none() && task.end.is_none();
        task.spec.dir.clone().filter(|_| works)
    }

    fn write_derived(&self, _: &OpenTask<Count>, _: &Summary) {
        let on_filed = self.0.on_filed.lock().unwrap().take();
        if let Some(on_filed) = on_filed {
            on_filed();
        }
    }

    fn summary(task: TaskView<'_, Count>) -> Summary {
        Summary {
            id: task.dir.id().to_owned(),
            name: task.filed.spec.name.clone(),
            end: task.machine.end.clone(),
            waiting: task.machine.steps.waiting().cloned(),
            micros: task.machine.spent.micros,
            records: task.entries.len(),
        }
    }

    fn has_ended(summary: &Summary) -> bool {
        summary.end.is_some()
    }
}
