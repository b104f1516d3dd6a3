//! Why a request about a task fails.

use std::io;
use std::path::PathBuf;

use belay_drive::workspace::{LandError, WorkspaceError};
use belay_review::task::{RecordError, SpecError};
use belay_tasks::TaskError;
use thiserror::Error;

/// Why a request about a task fails. Nothing was changed.
#[derive(Debug, Error)]
pub enum RunnerError {
    #[error("the task has no file `{0}`")]
    NoArtifact(String),
    #[error(transparent)]
    Task(TaskError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("{0}")]
    Invalid(String),
    #[error("`{0}` is not an agent that can run without a terminal; {1}")]
    UnknownAgent(String, String),
    #[error("{agent} is not installed: `{program}` is not in PATH")]
    NotInstalled { agent: String, program: String },
    #[error("agents.{agent}.program is `{program}`, which is not a file")]
    NoProgram { agent: String, program: String },
    #[error("tasks filed in the dashboard must be in a project that Belay has seen, not in {}", .0.display())]
    OutsideRoots(PathBuf),
    #[error(transparent)]
    Gate(#[from] belay_drive::gate::GateError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Land(#[from] LandError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the task has no result to land yet")]
    NothingBuilt,
    #[error("the result is not approved: {}", missing.join("; "))]
    Unapproved { missing: Vec<String> },
    /// In Belay's own directories above the worktrees.
    #[error("agents and gates of every task would read {}, which Belay did not write", files.join(", "))]
    ForeignFiles { files: Vec<String> },
    #[error("{} holds more than {count} files, too many to look for instructions of reviewers", dir.display())]
    TooManyFiles { dir: PathBuf, count: usize },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

impl From<TaskError> for RunnerError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Misfit(error) => match error.downcast::<RecordError>().map(|error| *error) {
                Ok(RecordError::Spec(error)) => Self::Spec(error),
                Ok(error) => Self::Record(error),
                Err(error) => Self::Invalid(error.to_string()),
            },
            TaskError::Write { path, source } => Self::Write { path, source },
            TaskError::Read { path, source } => Self::Read { path, source },
            TaskError::Invalid(why) => Self::Invalid(why),
            error => Self::Task(error),
        }
    }
}

impl RunnerError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Task(TaskError::NotFound { .. } | TaskError::Ambiguous { .. }) => {
                "list the tasks with `belay review list`".to_owned()
            }
            Self::NoArtifact(_) => "list them with `belay review artifacts ID`".to_owned(),
            Self::Task(TaskError::QueueFull { .. }) => {
                "wait for a task to finish, cancel one (`belay review cancel ID`), or raise review.queue_depth"
                    .to_owned()
            }
            Self::NotInstalled { agent, .. } => {
                format!("install it, or set its path: `belay config set agents.{agent}.program PATH`")
            }
            Self::NoProgram { agent, .. } => format!(
                "set another path: `belay config set agents.{agent}.program PATH`; or remove it, to search PATH: \
                 `belay config unset agents.{agent}.program`"
            ),
            Self::OutsideRoots(_) => {
                "file it with `belay review start` in that directory, or add the directory to review.roots".to_owned()
            }
            Self::Workspace(error) => return error.hint(),
            Self::Land(error) => return error.hint(),
            Self::Task(TaskError::StillRunning) => {
                "wait for it (`belay review watch ID`) or cancel it (`belay review cancel ID`)".to_owned()
            }
            Self::Unapproved { .. } => "accept it first (`belay review answer ID --done`), ask for a fix \
                 (`belay review answer ID --fix TEXT`), or land it as it is (`belay review land ID --unapproved`)"
                .to_owned(),
            Self::ForeignFiles { .. } => {
                "remove it, and look again at what the builders of earlier tasks have done".to_owned()
            }
            Self::TooManyFiles { .. } => "remove what the project does not need".to_owned(),
            Self::Task(TaskError::Claimed) => "try again in a moment".to_owned(),
            Self::Record(RecordError::NotEnded) => {
                "cancel it first (`belay review cancel ID`), or wait until it ends".to_owned()
            }
            Self::Record(RecordError::NoBudget) => "resume it with a larger --budget".to_owned(),
            _ => return None,
        };
        Some(hint)
    }
}
