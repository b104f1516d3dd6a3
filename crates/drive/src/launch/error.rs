//! Why a run could not start, or lost its supervision.

use std::io;
use std::path::PathBuf;

use belay_agents::install::quote;
use belay_config::PathError;
use belay_ipc::ClientError;

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("name a command to run")]
    NoCommand,
    #[error("{program} is not in PATH")]
    NotInPath {
        program: String,
        /// Display name, if the program is a known agent.
        agent: Option<&'static str>,
    },
    #[error("{} does not exist", path.display())]
    NotFound { path: PathBuf, agent: Option<&'static str> },
    #[error("cannot run {}", path.display())]
    NotRunnable { path: PathBuf, source: io::Error },
    #[error("{} is a directory, not a program", .0.display())]
    IsDirectory(PathBuf),
    #[error("{} is not executable", .0.display())]
    NotExecutable(PathBuf),
    #[error("{program} does not support {what}")]
    Unsupported { program: String, what: &'static str },
    #[error("HOME is not set")]
    NoHome,
    #[error("cannot access the current directory")]
    CurrentDirectory(#[source] io::Error),
    #[error("cannot start {}", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error(transparent)]
    Paths(#[from] PathError),
    #[error(transparent)]
    Ipc(#[from] ClientError),
    /// The resident process was started, but does not answer.
    #[error(transparent)]
    NotAnswering(ClientError),
    #[error("{0}")]
    Autostart(io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LaunchError {
    /// Whether a resident process exists but did not answer in time.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, Self::Ipc(ClientError::Io(error)) if error.kind() == io::ErrorKind::TimedOut)
    }

    /// What to do about it. Errors of other crates have their own hints.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoCommand => "for example: belay run claude".to_owned(),
            Self::NotInPath { agent: Some(agent), .. } | Self::NotFound { agent: Some(agent), .. } => {
                format!("install {agent}, or name its path: belay run PATH")
            }
            Self::NotInPath { agent: None, .. } => {
                let known = belay_agents::AGENTS.iter().filter(|agent| !agent.executable.is_empty());
                format!("known agents: {}", known.map(|agent| agent.executable).collect::<Vec<_>>().join(", "))
            }
            Self::NotExecutable(path) => format!("allow it: chmod +x {}", quote(&path.to_string_lossy())),
            Self::Unsupported { .. } => {
                "pass the program's own arguments after `--`; only claude and codex enforce a schema".to_owned()
            }
            Self::NoHome => "set it to your home directory".to_owned(),
            Self::CurrentDirectory(_) => "it may have been deleted; change to another directory".to_owned(),
            Self::Spawn { source, .. } => return spawn_hint(source),
            Self::NotAnswering(_) => "start it in the foreground to see the error: belay serve".to_owned(),
            Self::Autostart(_) => "run `belay doctor`".to_owned(),
            _ => return None,
        })
    }
}

fn spawn_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        // The program itself was found before.
        io::ErrorKind::NotFound => "the interpreter in its first line (`#!...`) does not exist",
        io::ErrorKind::ArgumentListTooLong => "pass long arguments on stdin or in a file",
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            "add an interpreter as its first line (`#!/bin/sh`), or name one: belay run sh PATH"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
