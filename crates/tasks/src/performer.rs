//! What a driver adds to its machine: how each step is performed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_config::{Config, Paths};
use belay_core::Subject;
use belay_core::task::{Machine, Spend, StepFailure, StepRun};
use belay_drive::environment::Environment;
use belay_drive::headless::CancelHandle;
use belay_drive::limits::{AccountId, Limits};
use belay_process::ProcessMarker;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::TaskError;
use crate::host::DriverHost;
use crate::journal::Entries;
use crate::open_task::OpenTask;
use crate::task_dir::{Filed, TaskDir, TaskView};

/// Performs the steps of one kind of tasks. Nothing here changes a task: a step returns how it ended, and the scheduler
/// records that.
pub trait Performer: fmt::Debug + Send + Sync + 'static {
    type Machine: Machine;
    /// What lists show of a task.
    type Summary: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;

    const NAMES: Names;

    /// Steps that may run at once.
    fn workers(&self, config: &Config) -> u32;

    /// Tasks that may wait for a worker.
    fn queue_depth(&self, config: &Config) -> u32;

    /// Performs a step from its beginning.
    fn perform(&self, step: &StepContext<Self::Machine>) -> StepEnd<Self::Machine>;

    /// Continues a step that a process before this one started, or ends what is left of it.
    fn recover(&self, step: &StepContext<Self::Machine>) -> StepEnd<Self::Machine>;

    /// The account that the step's agent uses, if it runs one.
    fn account(&self, step: &StepContext<Self::Machine>) -> Option<AccountId>;

    /// The directory that no other task may use now.
    fn occupies(&self, machine: &Self::Machine) -> Option<PathBuf>;

    /// From the journal alone, so that readers of the files get the same.
    fn summary(task: TaskView<'_, Self::Machine>) -> Self::Summary;

    /// Nothing runs anymore, so that the task need not be opened when the process starts.
    fn has_ended(summary: &Self::Summary) -> bool;

    /// Writes further files that can be derived from the journal. Called after each record.
    fn write_derived(&self, task: &OpenTask<Self::Machine>, summary: &Self::Summary) {
        let _ = (task, summary);
    }
}

/// How the tasks of a driver are called.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Directory of the tasks, in the directory of Belay's state.
    pub dir: &'static str,
    /// Of every id.
    pub prefix: &'static str,
    /// Such as "review task".
    pub noun: &'static str,
    pub subject: fn(&str) -> Subject,
}

impl Names {
    /// The directory of all tasks.
    pub fn root(&self, paths: &Paths) -> PathBuf {
        paths.state().join(self.dir)
    }
}

/// How a step ended.
#[derive(Debug)]
pub enum StepEnd<M: Machine> {
    Finished {
        outcome: M::Outcome,
        spend: Spend,
    },
    /// It did not run to its end, because it was stopped or its process is gone. It runs again.
    Interrupted {
        spend: Spend,
    },
}

impl<M: Machine> StepEnd<M> {
    /// A step that cost nothing.
    pub fn new(outcome: M::Outcome) -> Self {
        Self::Finished { outcome, spend: Spend::default() }
    }

    /// What the step has cost counts, also if its result cannot be used.
    pub fn crashed(why: impl Into<String>, spend: Spend) -> Self {
        Self::Finished { outcome: StepFailure::Crashed { why: why.into() }.into(), spend }
    }

    pub fn interrupted() -> Self {
        Self::Interrupted { spend: Spend::default() }
    }
}

/// Where Belay and its files are, for all steps of this process.
#[derive(Clone, Debug)]
pub struct DriverPaths {
    pub paths: Paths,
    /// Directory of the user's configuration.
    pub config_dir: PathBuf,
    /// The program of this process. Resolved once: after an upgrade, the system names a file that is gone.
    pub belay: PathBuf,
    /// Belay's home directory, if it is not the default one.
    pub belay_home: Option<PathBuf>,
    /// Directory of worktrees.
    pub worktrees: PathBuf,
}

impl DriverPaths {
    pub(crate) fn new(paths: &Paths) -> std::io::Result<Self> {
        let config_dir = paths.config_file().parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self {
            // State and configuration are in one directory only if a home directory was chosen.
            belay_home: (config_dir == paths.state()).then(|| config_dir.clone()),
            worktrees: paths.state().join("worktrees"),
            belay: std::env::current_exe()?,
            paths: paths.clone(),
            config_dir,
        })
    }
}

/// Everything that a step needs. A copy, so that the task stays available to readers while the step runs.
#[derive(Debug)]
pub struct StepContext<M: Machine> {
    pub dir: TaskDir,
    pub filed: Filed<M::Spec>,
    pub task: M,
    pub entries: Entries<M>,
    pub run: StepRun<M::Step>,
    pub config: Config,
    pub paths: Arc<DriverPaths>,
    pub limits: Limits,
    pub host: Arc<dyn DriverHost>,
    pub cancel: CancelHandle,
    /// The task, for the host.
    pub subject: Subject,
}

impl<M: Machine> StepContext<M> {
    /// The environment of everything that the task runs: that of its shell, and where Belay is.
    pub fn environment(&self) -> Result<Environment, TaskError> {
        let path = self.dir.path().join("env");
        let env = Environment::load(&path).map_err(|source| TaskError::Read { path, source })?;
        let env = env.with(&self.config.drive.env);
        Ok(match &self.paths.belay_home {
            Some(home) => env.with([("BELAY_HOME", home)]),
            None => env,
        })
    }

    /// Finds the processes of this attempt, also after a crash.
    pub fn marker(&self) -> ProcessMarker {
        self.dir.marker(self.run.attempt)
    }

    pub fn artifacts(&self) -> &Path {
        &self.filed.artifacts
    }
}
