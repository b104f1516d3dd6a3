//! The runner: files tasks, takes decisions, lands results.

mod land;

use std::path::PathBuf;
use std::sync::Arc;

use belay_config::Paths;
use belay_core::session::Budget;
use belay_ipc::views::{ReviewSummaryView, ReviewsView};
use belay_ipc::{FileReviewRequest, ReviewDecision, ReviewsRequest};
use belay_review::task::{Answer, Decision};
use belay_tasks::{DriverHost, Resources, TaskError, Tasks};

use crate::error::RunnerError;
use crate::filing::{self, FiledBy};
use crate::read;
use crate::reviews::{NAMES, Reviews};

/// Runs the review tasks of one state directory.
#[derive(Debug)]
pub struct Runner {
    tasks: Tasks<Reviews>,
}

impl Runner {
    /// Loads the unfinished tasks and continues them.
    pub fn start(paths: &Paths, host: Arc<dyn DriverHost>, resources: Arc<Resources>) -> std::io::Result<Self> {
        Ok(Self { tasks: Tasks::start(paths, Reviews, host, resources)? })
    }

    /// Files a task.
    pub fn file(&self, request: &FileReviewRequest, filed_by: &FiledBy<'_>) -> Result<ReviewSummaryView, RunnerError> {
        let config = self.tasks.host().config().map_err(TaskError::Config)?;
        let task = filing::check(request, filed_by, &config, &self.tasks.paths().paths)?;
        Ok(self.tasks.file(task)?)
    }

    /// Takes a person's decision. It is durable when this returns.
    pub fn decide(&self, id: &str, decision: &ReviewDecision, by: &str) -> Result<ReviewSummaryView, RunnerError> {
        let dir = self.tasks.resolve(id)?;
        let decision = match decision {
            ReviewDecision::Cancel => Decision::Cancel,
            ReviewDecision::Resume { rounds, budget_micros, budget_tokens } => {
                let budget = Budget { cost_micros: *budget_micros, tokens: *budget_tokens };
                Decision::Resume { rounds: *rounds, budget: (!budget.is_unlimited()).then_some(budget) }
            }
            ReviewDecision::Waive { issue, why } => {
                let issue = issue.parse().map_err(RunnerError::Invalid)?;
                Decision::Waive { issue, why: why.clone() }
            }
            ReviewDecision::Answer { done, fix } => {
                // An empty text must not accept the work by accident.
                let fix = fix.as_deref().map(str::trim).filter(|fix| !fix.is_empty());
                let answer = match (done, fix) {
                    (true, None) => Answer::Done,
                    (false, Some(text)) => Answer::Fix { text: text.to_owned() },
                    _ => {
                        return Err(RunnerError::Invalid(
                            "say either that the work is done, or what to fix".to_owned(),
                        ));
                    }
                };
                Decision::Answer { answer }
            }
            ReviewDecision::Archive => return self.archive(&dir, by),
        };
        Ok(self.tasks.decide(&dir, by, decision)?)
    }

    /// Pauses or resumes the queue. Running steps finish.
    pub fn set_paused(&self, paused: bool) -> Result<(), RunnerError> {
        Ok(self.tasks.set_paused(paused)?)
    }

    /// The tasks, without the settings of the queue.
    pub fn summaries(&self, request: &ReviewsRequest) -> ReviewsView {
        read::view_of(self.tasks.summaries(), self.tasks.is_paused(), request)
    }

    /// The queue and the tasks.
    pub fn list(&self, request: &ReviewsRequest) -> Result<ReviewsView, RunnerError> {
        let config = self.tasks.host().config().map_err(TaskError::Config)?;
        let mut view = self.summaries(request);
        view.workers = config.review.workers;
        view.queue_depth = config.review.queue_depth;
        Ok(view)
    }

    /// Whether the process has to stay for a task.
    pub fn is_busy(&self) -> bool {
        self.tasks.is_busy()
    }

    /// Ends the running steps. They run again after the next start.
    pub fn shut_down(&self) {
        self.tasks.shut_down();
    }
}

/// The directory of all tasks.
pub fn root(paths: &Paths) -> PathBuf {
    NAMES.root(paths)
}
