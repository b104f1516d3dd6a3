//! Installing hooks in an agent's settings, and removing them.
//!
//! A [`HookInstaller`] reads the settings and returns a list of [`FileChange`]s. It never writes; the caller shows,
//! confirms, backs up and writes the changes. The list is empty if the hooks are already installed.

mod hook_entries;
pub mod jsonc_edit;
mod shell_quote;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::registry::UserDirs;

pub(crate) use hook_entries::{
    HookEntry, PLUGIN_ID, add_entries, entry_timeout, has_plugin, is_belay_entry, remove_entries,
};
pub(crate) use shell_quote::hook_command;
pub use shell_quote::{BelayCommand, quote};

/// Where hooks are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// In the user's settings.
    #[default]
    User,
    /// In a project's settings, for everyone who works in it.
    Project,
}

/// The inputs of an installation.
pub struct InstallContext<'a> {
    pub dirs: &'a UserDirs,
    pub scope: Scope,
    /// The project's directory.
    pub project: &'a Path,
    pub belay: &'a BelayCommand,
    /// Reads a file; `None` if it does not exist.
    pub read: &'a dyn Fn(&Path) -> io::Result<Option<String>>,
}

impl fmt::Debug for InstallContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstallContext")
            .field("scope", &self.scope)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

impl InstallContext<'_> {
    /// A file below the user's or the project's directory for this agent.
    pub(crate) fn settings_path(&self, user: PathBuf, project: &str, file: &str) -> PathBuf {
        match self.scope {
            Scope::User => user.join(file),
            Scope::Project => self.project.join(project).join(file),
        }
    }

    pub(crate) fn text(&self, path: &Path) -> Result<Option<String>, InstallError> {
        (self.read)(path).map_err(|source| InstallError::Read { path: path.to_owned(), source })
    }

    /// The change that makes `path` contain `after`; `None` if it already does.
    pub(crate) fn change(&self, path: PathBuf, after: Option<String>) -> Result<Option<FileChange>, InstallError> {
        let before = self.text(&path)?;
        Ok((before != after).then_some(FileChange { path, before, after }))
    }
}

/// A file to write or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    /// Current content; `None` if the file does not exist.
    pub before: Option<String>,
    /// New content; `None` to remove the file.
    pub after: Option<String>,
}

/// Why the changes cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} cannot be edited: {problem}", path.display())]
    Edit { path: PathBuf, problem: String },
}

impl InstallError {
    pub(crate) fn edit(path: &Path, problem: impl ToString) -> Self {
        Self::Edit { path: path.to_owned(), problem: problem.to_string() }
    }
}

/// A hook call as the agent makes it, for the self-test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTestCall {
    /// The shell command in the settings.
    pub command: String,
    /// Its standard input.
    pub payload: String,
    /// The session id in the payload.
    pub session: String,
}

/// Installs the hooks of one agent.
pub trait HookInstaller: Sync + fmt::Debug {
    /// Id of the agent.
    fn agent(&self) -> &'static str;

    /// The changes that install the hooks.
    fn install(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError>;

    /// The changes that remove the hooks, regardless of other changes since the installation.
    fn remove(&self, context: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError>;

    /// The call that the installed hooks make at the start of this session, by default in Claude Code's format.
    fn self_test_call(&self, context: &InstallContext<'_>, session: &str) -> SelfTestCall {
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "source": "startup" });
        let command = hook_command(context, self.agent(), None);
        SelfTestCall { command, payload: payload.to_string(), session: session.to_owned() }
    }

    /// The changes that show Belay's status line in the agent; empty if the agent has none or one is configured.
    fn status_line(&self, _setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        Ok(Vec::new())
    }

    /// How long the agent waits for the installed hook of an event. `None` if it is not installed, or waits for as long
    /// as it takes.
    fn installed_timeout(&self, _setting: &InstallContext<'_>, _event: &str) -> Option<Duration> {
        None
    }

    /// A note for the user after the installation.
    fn user_note(&self, _setting: &InstallContext<'_>) -> Option<String> {
        None
    }

    /// A setting that prevents the hooks from working.
    fn blocking_setting(&self, _setting: &InstallContext<'_>) -> Option<String> {
        None
    }
}

/// Installers of all agents that have hooks.
pub fn installers() -> impl Iterator<Item = &'static dyn HookInstaller> {
    crate::registry::AGENTS.iter().filter_map(|agent| Some(agent.hooks?.installer))
}

/// The installer of an agent, by id or alias.
pub fn installer(agent: &str) -> Option<&'static dyn HookInstaller> {
    Some(crate::registry::find(agent)?.hooks?.installer)
}

#[cfg(test)]
mod tests;
