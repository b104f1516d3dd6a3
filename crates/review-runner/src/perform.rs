//! Performs one step of a task, and says how it ended.
//!
//! Nothing here changes the task: a step returns its outcome, and the scheduler records it.

mod build;
mod gate;
mod prepare;
mod review;

use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_core::task::{Spend, StepFailure};
use belay_drive::headless::HeadlessResult;
use belay_drive::workspace::Workspace;
use belay_review::Task;
use belay_review::prompt::Prompts;
use belay_review::task::{Record, Role, Step, StepOutcome};
use belay_tasks::agent::{self, AgentEnd, AgentTurn};

use crate::error::RunnerError;
use crate::prompts;
use crate::task_dir::write_artifact;

pub(crate) type StepContext = belay_tasks::StepContext<Task>;
pub(crate) type StepEnd = belay_tasks::StepEnd<Task>;

/// Performs the step from its beginning.
pub(crate) fn perform(context: &StepContext) -> StepEnd {
    let performed = match &context.run.step {
        Step::Prepare => prepare::perform(context),
        Step::Build { .. } => build::perform(context),
        Step::Gate { gate, .. } => gate::perform(context, *gate),
        Step::Review { reviewer, kind, .. } => review::perform(context, reviewer, *kind),
    };
    match performed {
        Ok(performed) => performed,
        // What fails because it was stopped has not failed.
        Err(_) if context.cancel.is_cancelled() => StepEnd::interrupted(),
        Err(error) => StepEnd::crashed(with_hint(&error), Spend::default()),
    }
}

/// Continues a step that a process before this one started.
pub(crate) fn recover(context: &StepContext) -> StepEnd {
    let recovered = match &context.run.step {
        Step::Prepare | Step::Gate { .. } => {
            // A gate that outlived its process would work on the same files as the next attempt.
            context.marker().end_processes();
            Ok(StepEnd::interrupted())
        }
        Step::Build { .. } => build::recover(context),
        Step::Review { reviewer, kind, .. } => review::recover(context, reviewer, *kind),
    };
    recovered.unwrap_or_else(|error| StepEnd::crashed(with_hint(&error), Spend::default()))
}

fn with_hint(error: &RunnerError) -> String {
    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    format!("{error}{hint}")
}

/// What a step of a review needs beside what every step has.
pub(crate) trait ReviewStep {
    fn workspace(&self) -> Result<Workspace, RunnerError>;
    fn prompts(&self) -> Result<Prompts, RunnerError>;
    /// What is left of the round's time. A step that is tried again has all of it.
    fn timeout(&self) -> Duration;
    /// The role of a reviewer or of the arbiter.
    fn reviewer(&self, name: &str) -> Option<&Role>;
}

impl ReviewStep for StepContext {
    fn workspace(&self) -> Result<Workspace, RunnerError> {
        let workspace: Option<Workspace> = self.dir.read_json("workspace.json")?;
        let workspace = workspace.ok_or_else(|| RunnerError::Invalid("the task has no workspace".to_owned()))?;
        Ok(workspace.with_env(self.environment()?.variables()).with_cancel(&self.cancel))
    }

    fn prompts(&self) -> Result<Prompts, RunnerError> {
        let project = self.dir.read_json(prompts::PROJECT_TEMPLATES)?.unwrap_or_default();
        prompts::templates(&self.paths.config_dir, project).map_err(|error| RunnerError::Invalid(error.to_string()))
    }

    fn timeout(&self) -> Duration {
        let limit = Duration::from_secs(self.task.spec.round_timeout_secs);
        match self.run.failures {
            0 => limit.saturating_sub(round_used(self)),
            _ => limit,
        }
    }

    fn reviewer(&self, name: &str) -> Option<&Role> {
        let spec = &self.task.spec;
        spec.reviewers.iter().chain(&spec.arbiter).find(|role| role.agent == name)
    }
}

/// Time that the current round has used in steps that succeeded.
fn round_used(context: &StepContext) -> Duration {
    let Some(current) = context.task.current_round().map(|round| round.number) else { return Duration::ZERO };
    let millis = context.entries.iter().rev().map_while(|entry| match &entry.record {
        Record::Finished { step, .. } if step.round() != Some(current) => None,
        Record::Finished {
            outcome: StepOutcome::Failed(StepFailure::TimedOut | StepFailure::Crashed { .. }), ..
        } => Some(0),
        Record::Finished { spend, .. } => Some(spend.millis),
        _ => Some(0),
    });
    Duration::from_millis(millis.sum())
}

/// Asks an agent, whose prompt becomes an artifact.
pub(crate) fn ask(context: &StepContext, question: &Question<'_>) -> Result<AgentEnd, RunnerError> {
    write_artifact(context.artifacts(), &question.prompt_name, question.prompt.as_bytes())?;
    let schema = question.schema.map(|schema| write_schema(context, schema)).transpose()?;
    let workspace = context.workspace()?;
    let turn = AgentTurn {
        agent: &question.role.agent,
        model: question.role.model.as_deref(),
        access: question.access,
        dir: workspace.dir(),
        prompt: &context.artifacts().join(&question.prompt_name),
        schema: schema.as_deref(),
        timeout: context.timeout(),
        budget: context.task.budget_left(),
    };
    Ok(agent::run(context, &turn)?)
}

/// What an agent is asked.
pub(crate) struct Question<'a> {
    pub(crate) role: &'a Role,
    pub(crate) access: &'static str,
    /// Name of the artifact that holds the prompt.
    pub(crate) prompt_name: String,
    pub(crate) prompt: String,
    /// JSON schema of the answer, if the agent's CLI enforces one.
    pub(crate) schema: Option<&'static str>,
}

fn write_schema(context: &StepContext, schema: &str) -> Result<PathBuf, RunnerError> {
    write_artifact(context.dir.path(), "verdict-schema.json", schema.as_bytes())?;
    Ok(context.dir.path().join("verdict-schema.json"))
}

/// Waits for an agent that a process before this one asked.
pub(crate) fn adopt(context: &StepContext, role: &Role) -> Result<AgentEnd, RunnerError> {
    Ok(agent::adopt(context, &role.agent, context.task.budget_left())?)
}

/// The end of a step whose answer was read.
pub(crate) fn ended(end: AgentEnd, read: impl FnOnce(&HeadlessResult) -> Result<StepOutcome, RunnerError>) -> StepEnd {
    end.into_step(|result| read(result).map_err(|error| with_hint(&error)))
}

/// The number of the step's round as artifacts show it.
pub(crate) fn numbered(round: u32, name: &str) -> String {
    format!("{round:02}{name}")
}

/// An agent as a part of a file name.
pub(crate) fn file_part(agent: &str) -> String {
    let name = Path::new(agent).file_name().map_or(agent.into(), |name| name.to_string_lossy());
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
