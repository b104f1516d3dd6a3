//! Running one prompt without a terminal.
//!
//! Every agent has a mode that takes a prompt on stdin, works, prints structured progress, and exits. A
//! [`HeadlessProtocol`] knows the arguments of one agent and reads its output line by line. An agent without one can
//! still be run: its output is text.

pub(crate) mod reader;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use belay_core::Timestamp;
use belay_core::event::Usage;
use serde::{Deserialize, Serialize};

pub use reader::OutputReader;

/// What the agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read files; neither edits nor commands that could edit.
    ReadOnly,
    /// Edit files and run commands in the working directory, within the agent's own sandbox if it has one.
    Workspace,
    /// Everything, without the agent's sandbox and prompts.
    Full,
}

/// One headless run.
#[derive(Clone, Copy, Debug)]
pub struct HeadlessRequest<'a> {
    pub access: Access,
    pub model: Option<&'a str>,
    /// Id of the agent's session to continue.
    pub resume: Option<&'a str>,
    /// JSON schema of the final message.
    pub schema: Option<&'a str>,
    /// A directory for this run, readable only by the user.
    pub scratch: &'a Path,
}

/// The agent's arguments for a headless run. The prompt is written to its stdin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadlessCommand {
    pub args: Vec<OsString>,
    pub env: Vec<(String, String)>,
    /// Files to write before the start.
    pub files: Vec<(PathBuf, String)>,
}

impl HeadlessCommand {
    pub(crate) fn new(args: &[&str]) -> Self {
        Self { args: args.iter().map(Into::into).collect(), ..Self::default() }
    }

    pub(crate) fn args(&mut self, args: &[&str]) {
        self.args.extend(args.iter().map(OsString::from));
    }

    /// Adds a flag or a subcommand with its value, if there is one.
    pub(crate) fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.args(&[name, value]);
        }
    }
}

/// What an agent reports while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HeadlessEvent {
    /// The agent's own session id.
    Session {
        id: String,
    },
    /// A message of the agent. The last one is its answer.
    Text {
        text: String,
    },
    /// Continues the message before it.
    TextDelta {
        text: String,
    },
    ToolCall {
        tool: String,
        input: String,
    },
    /// A permission that nobody could give.
    PermissionDenied {
        tool: String,
        reason: String,
    },
    /// A usage limit of the account.
    Limit {
        message: String,
        until: Option<Timestamp>,
    },
    /// Total usage of the run so far, and its cost in millionths of a US dollar if the agent reports it.
    Usage {
        usage: Usage,
        micros: Option<u64>,
    },
    /// An error that the agent reports. The run may continue.
    Error {
        message: String,
    },
}

/// How one agent runs headless.
pub trait HeadlessProtocol: Sync + fmt::Debug {
    fn command(&self, request: &HeadlessRequest<'_>) -> HeadlessCommand;

    /// Whether the agent's CLI enforces [`HeadlessRequest::schema`].
    fn enforces_schema(&self) -> bool {
        false
    }

    /// Reads one line of the agent's stdout, a JSON object.
    fn read(&self, line: &serde_json::Value, state: &mut reader::ReaderState);
}
