//! Performs one step of a task, and says how it ended.
//!
//! Nothing here changes the task: a step returns its outcome, and the scheduler records it.

mod agent;
mod build;
mod gate;
mod prepare;
mod review;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belay_agents::AgentSpec;
use belay_config::Config;
use belay_core::task::{Spend, StepFailure};
use belay_drive::environment::Environment;
use belay_drive::limits::{AccountId, Limits};
use belay_drive::workspace::Workspace;
use belay_review::Task;
use belay_review::prompt::Prompts;
use belay_review::task::{Role, Step, StepOutcome, StepRun};

use crate::agent_run::{CancelFlag, marker};
use crate::error::RunnerError;
use crate::host::Host;
use crate::prompts;
use crate::task_dir::{FiledTask, TaskDir};

/// Everything that a step needs. A copy, so that the task stays available to readers while the step runs.
#[derive(Debug)]
pub(crate) struct StepContext {
    pub(crate) dir: TaskDir,
    pub(crate) filed: FiledTask,
    pub(crate) task: Task,
    pub(crate) run: StepRun,
    pub(crate) config: Config,
    /// Directory of the user's configuration, for templates.
    pub(crate) config_dir: PathBuf,
    /// The program of this process.
    pub(crate) belay: PathBuf,
    /// Belay's home directory, if it is not the default one.
    pub(crate) belay_home: Option<PathBuf>,
    /// Directory of worktrees.
    pub(crate) worktrees: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) cancel: Arc<CancelFlag>,
    /// Time that the round has used so far.
    pub(crate) round_used: Duration,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Performed {
    Finished {
        outcome: StepOutcome,
        spend: Spend,
    },
    /// The process that ran the step is gone without a result.
    Interrupted {
        spend: Spend,
    },
}

impl Performed {
    fn new(outcome: StepOutcome) -> Self {
        Self::Finished { outcome, spend: Spend::default() }
    }
}

/// Performs the step from its beginning.
pub(crate) fn perform(context: &StepContext) -> Performed {
    let performed = match &context.run.step {
        Step::Prepare => prepare::perform(context),
        Step::Build { .. } => build::perform(context),
        Step::Gate { gate, .. } => gate::perform(context, *gate),
        Step::Review { reviewer, kind, .. } => review::perform(context, reviewer, *kind),
    };
    match performed {
        Ok(performed) => performed,
        // What fails because it was stopped has not failed.
        Err(_) if context.cancel.is_set() => Performed::Interrupted { spend: Spend::default() },
        Err(error) => crashed(&error, Spend::default()),
    }
}

/// Continues a step that a process before this one started.
pub(crate) fn recover(context: &StepContext) -> Performed {
    let recovered = match &context.run.step {
        Step::Prepare | Step::Gate { .. } => {
            // A gate that outlived its process would work on the same files as the next attempt.
            marker(&context.dir, context.run.attempt).end_processes();
            Ok(Performed::Interrupted { spend: Spend::default() })
        }
        Step::Build { .. } => build::recover(context),
        Step::Review { reviewer, kind, .. } => review::recover(context, reviewer, *kind),
    };
    recovered.unwrap_or_else(|error| crashed(&error, Spend::default()))
}

/// What the step has cost counts, also if its result cannot be used.
fn crashed(error: &RunnerError, spend: Spend) -> Performed {
    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    Performed::Finished { outcome: StepOutcome::Failed(StepFailure::Crashed { why: format!("{error}{hint}") }), spend }
}

impl StepContext {
    /// The environment of everything that the task runs: that of its shell, and where Belay is.
    pub(crate) fn environment(&self) -> Result<Environment, RunnerError> {
        let path = self.dir.path().join("env");
        let env = Environment::load(&path).map_err(|source| RunnerError::Read { path, source })?;
        let env = env.with(&self.config.drive.env);
        Ok(match &self.belay_home {
            Some(home) => env.with([("BELAY_HOME", home)]),
            None => env,
        })
    }

    pub(crate) fn workspace(&self) -> Result<Workspace, RunnerError> {
        let workspace: Option<Workspace> = self.dir.read_json("workspace.json")?;
        let workspace = workspace.ok_or_else(|| RunnerError::Invalid("the task has no workspace".to_owned()))?;
        Ok(workspace.with_env(self.environment()?.variables()).with_cancel(self.cancel.handle()))
    }

    pub(crate) fn prompts(&self) -> Result<Prompts, RunnerError> {
        let project = self.dir.read_json(prompts::PROJECT_TEMPLATES)?.unwrap_or_default();
        prompts::templates(&self.config_dir, project).map_err(|error| RunnerError::Invalid(error.to_string()))
    }

    pub(crate) fn artifacts(&self) -> &Path {
        &self.filed.artifacts
    }

    /// What is left of the round's time. A step that is tried again has all of it.
    pub(crate) fn timeout(&self) -> Duration {
        let limit = Duration::from_secs(self.task.spec.round_timeout_secs);
        match self.run.failures {
            0 => limit.saturating_sub(self.round_used),
            _ => limit,
        }
    }

    /// The role of a reviewer or of the arbiter.
    pub(crate) fn reviewer(&self, name: &str) -> Option<&Role> {
        let spec = &self.task.spec;
        spec.reviewers.iter().chain(&spec.arbiter).find(|role| role.agent == name)
    }
}

/// The agent that a name or the path of a program stands for, as `belay exec` understands it.
pub(crate) fn known_agent(agent: &str) -> Option<&'static AgentSpec> {
    belay_agents::find(Path::new(agent).file_name()?.to_str()?)
}

/// The account that an agent of the step uses.
pub(crate) fn account(context: &StepContext, agent: &str) -> AccountId {
    let env = context.environment().unwrap_or_default();
    known_agent(agent).map_or_else(|| AccountId::from_name(agent), |agent| AccountId::from_environment(agent, &env))
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
