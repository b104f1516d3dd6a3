//! The list of agents, lookup by name, and the user's directories.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::spec::AgentSpec;

/// Every supported agent.
pub static AGENTS: &[&AgentSpec] = &[
    &crate::claude_code::SPEC,
    &crate::codex::SPEC,
    &crate::copilot::SPEC,
    &crate::gemini::SPEC,
    &crate::opencode::SPEC,
    &crate::qwen::SPEC,
    &crate::cursor::SPEC,
    &crate::aider::SPEC,
    &crate::pi::SPEC,
];

/// The agent with this id or alias, ignoring case.
pub fn find(name: &str) -> Option<&'static AgentSpec> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    AGENTS.iter().copied().find(|agent| is(agent.id) || agent.aliases.iter().any(|alias| is(alias)))
}

/// An agent as people know it: "Claude Code" for `claude`. A program that is none is shown by its file name.
pub fn display_name(agent: &str) -> &str {
    let name = agent.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(agent);
    find(name).map_or(name, |agent| agent.display_name)
}

/// The canonical id for an id or alias; an unknown name is returned unchanged.
pub fn canonical_id(name: &str) -> &str {
    find(name).map_or(name, |agent| agent.id)
}

/// The user's home directory and environment.
#[derive(Clone, Debug)]
pub struct UserDirs {
    /// The home directory.
    pub home: PathBuf,
    /// Reads an environment variable.
    pub lookup: fn(&str) -> Option<OsString>,
}

impl UserDirs {
    /// The user of this process; `None` without a home directory.
    pub fn for_current_user() -> Option<Self> {
        Some(Self { home: std::env::home_dir()?, lookup: |name| std::env::var_os(name) })
    }

    /// A home directory with an empty environment.
    pub fn with_home(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), lookup: |_| None }
    }

    pub(crate) fn var(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.var("XDG_CONFIG_HOME").map_or_else(|| self.home.join(".config"), PathBuf::from)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.var("XDG_DATA_HOME").map_or_else(|| self.home.join(".local/share"), PathBuf::from)
    }
}

#[cfg(test)]
mod tests;
