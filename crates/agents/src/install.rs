//! How Belay's hooks get into an agent's settings, and out again.
//!
//! A [`HookInstaller`] looks at what is there and says what should be: a list of [`FileChange`]s that somebody
//! else shows, confirms, backs up and writes. It never writes itself, and a recipe whose wish is
//! already fulfilled has nothing to say.

mod hook_entries;
pub mod jsonc_edit;
mod shell_quote;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::registry::UserDirs;

pub(crate) use hook_entries::{HookEntry, PLUGIN_ID, add_entries, has_plugin, is_ours_entry, remove_entries};
pub(crate) use shell_quote::{hook_command, quote};

/// For whom hooks are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Everything this user does.
    #[default]
    User,
    /// One project, for everybody who works in it.
    Project,
}

/// Where, for whom, and what to call.
pub struct InstallContext<'a> {
    pub dirs: &'a UserDirs,
    pub scope: Scope,
    /// The project's folder.
    pub project: &'a Path,
    /// The `belay` program: a path for a user, the bare name for a project others share.
    pub belay: &'a str,
    /// Reads a file; `None` when it is not there.
    pub read: &'a dyn Fn(&Path) -> io::Result<Option<String>>,
}

impl fmt::Debug for InstallContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").field("scope", &self.scope).field("project", &self.project).finish_non_exhaustive()
    }
}

impl InstallContext<'_> {
    /// A file below the user's or the project's folder for this agent.
    pub(crate) fn settings_path(&self, user: PathBuf, project: &str, file: &str) -> PathBuf {
        match self.scope {
            Scope::User => user.join(file),
            Scope::Project => self.project.join(project).join(file),
        }
    }

    pub(crate) fn text(&self, path: &Path) -> Result<Option<String>, InstallError> {
        (self.read)(path).map_err(|source| InstallError::Read { path: path.to_owned(), source })
    }

    /// What makes `path` hold `after`; nothing when it does.
    pub(crate) fn change(&self, path: PathBuf, after: Option<String>) -> Result<Option<FileChange>, InstallError> {
        let before = self.text(&path)?;
        Ok((before != after).then_some(FileChange { path, before, after }))
    }
}

/// One file that would be written, or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    /// What it holds now; `None` when it is not there.
    pub before: Option<String>,
    /// What it should hold; `None` to remove it.
    pub after: Option<String>,
}

/// Why a recipe cannot say what to do.
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

/// One hook call as the agent will make it, to see that it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTestCall {
    /// As it stands in the settings, for a shell.
    pub command: String,
    /// What the agent would write to it.
    pub payload: String,
    /// The session in it.
    pub session: String,
}

/// How hooks are installed in one agent.
pub trait HookInstaller: Sync + fmt::Debug {
    /// Id of the agent.
    fn agent(&self) -> &'static str;

    /// What has to change for the hooks to be there.
    fn install(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError>;

    /// What has to change for them to be gone, whatever else has changed since.
    fn remove(&self, setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError>;

    /// A call that the installed hooks would make at the start of a session of this name: unless an agent has ways of
    /// its own, in the words that Claude Code gave the world.
    fn self_test_call(&self, setting: &InstallContext<'_>, session: &str) -> SelfTestCall {
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "source": "startup" });
        let command = hook_command(setting, self.agent(), None, false);
        SelfTestCall { command, payload: payload.to_string(), session: session.to_owned() }
    }

    /// What has to change for the agent's own status line to show Belay's; nothing where there is no
    /// status line, or one already.
    fn status_line(&self, _setting: &InstallContext<'_>) -> Result<Vec<FileChange>, InstallError> {
        Ok(Vec::new())
    }

    /// What the person has to know or do besides.
    fn user_note(&self, _setting: &InstallContext<'_>) -> Option<String> {
        None
    }

    /// What in the settings keeps the hooks from working as they should.
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
