//! Why a request about a task fails.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::journal::JournalError;

/// Why a request about a task fails. Nothing was changed.
#[derive(Debug, Error)]
pub enum TaskError {
    #[error("there is no {noun} `{name}`")]
    NotFound { noun: &'static str, name: String },
    #[error("`{name}` matches several {noun}s: {}", matches.join(", "))]
    Ambiguous { noun: &'static str, name: String, matches: Vec<String> },
    #[error("the queue is full: {depth} tasks are waiting")]
    QueueFull { depth: u32 },
    #[error("the task is still running")]
    StillRunning,
    #[error("the result of the task is being landed or archived")]
    Claimed,
    /// The machine refuses the record; its own error.
    #[error(transparent)]
    Misfit(Box<dyn StdError + Send + Sync>),
    #[error("the journal {} is damaged at line {line}: {why}", path.display())]
    Damaged { path: PathBuf, line: usize, why: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot read the configuration: {0}")]
    Config(String),
    #[error("{0}")]
    Invalid(String),
}

impl<E: StdError + Send + Sync + 'static> From<JournalError<E>> for TaskError {
    fn from(error: JournalError<E>) -> Self {
        match error {
            JournalError::Misfit(error) => Self::Misfit(Box::new(error)),
            JournalError::Damaged { path, line, why } => Self::Damaged { path, line, why },
            JournalError::Write { path, source } => Self::Write { path, source },
            JournalError::Read { path, source } => Self::Read { path, source },
        }
    }
}
