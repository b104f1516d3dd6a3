//! The agents we know: ids and aliases, names for people, executables, where their sessions lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::transcript::TranscriptFormat;

/// What is known about an agent without looking at any of its files.
#[derive(Debug)]
pub struct AgentSpec {
    /// Canonical id, used in session keys, configuration and output.
    pub id: &'static str,
    /// Other names people and tools use for it.
    pub aliases: &'static [&'static str],
    /// Name for people.
    pub name: &'static str,
    /// Its command.
    pub executable: &'static str,
    /// Environment variable in which it tells the commands it runs which session they belong to.
    pub session_variable: Option<&'static str>,
    /// Folders (or single files) its sessions lie in, whether they exist or not.
    pub sessions: fn(&UserDirs) -> Vec<PathBuf>,
    /// Files in a project that hold its sessions, whether they exist or not.
    pub in_project: fn(&Path) -> Vec<PathBuf>,
    /// How its session files are written, newest dialect first.
    pub formats: &'static [&'static dyn TranscriptFormat],
}

/// Every agent with knowledge in this crate.
pub static AGENTS: &[AgentSpec] = &[
    AgentSpec {
        id: "claude-code",
        aliases: &["claude", "claude_code", "claudecode"],
        name: "Claude Code",
        executable: "claude",
        session_variable: Some("CLAUDE_CODE_SESSION_ID"),
        sessions: |dirs| {
            let mut roots = match dirs.var("CLAUDE_CONFIG_DIR") {
                Some(list) => list.to_string_lossy().split(',').map(|dir| Path::new(dir.trim()).into()).collect(),
                None => vec![dirs.home.join(".claude"), dirs.config().join("claude")],
            };
            roots.iter_mut().for_each(|root: &mut PathBuf| root.push("projects"));
            roots
        },
        in_project: |_| Vec::new(),
        formats: &[&crate::claude_code::transcript::ClaudeCodeFormat],
    },
    AgentSpec {
        id: "codex",
        aliases: &["codex-cli", "openai-codex"],
        name: "Codex",
        executable: "codex",
        session_variable: Some("CODEX_THREAD_ID"),
        sessions: |dirs| {
            let root = dirs.var("CODEX_HOME").map_or_else(|| dirs.home.join(".codex"), PathBuf::from);
            vec![root.join("sessions"), root.join("archived_sessions")]
        },
        in_project: |_| Vec::new(),
        formats: &[&crate::codex::transcript::CodexFormat],
    },
    AgentSpec {
        id: "copilot",
        aliases: &["copilot-cli", "github-copilot"],
        name: "Copilot CLI",
        executable: "copilot",
        session_variable: None,
        sessions: |dirs| vec![crate::copilot::sessions(dirs)],
        in_project: |_| Vec::new(),
        formats: &[&crate::copilot::transcript::CopilotFormat],
    },
    AgentSpec {
        id: "gemini",
        aliases: &["gemini-cli"],
        name: "Gemini CLI",
        executable: "gemini",
        session_variable: Some("GEMINI_SESSION_ID"),
        sessions: |dirs| vec![dirs.home.join(".gemini/tmp")],
        in_project: |_| Vec::new(),
        formats: &[&crate::gemini::transcript::GeminiLinesFormat, &crate::gemini::transcript::GeminiDocumentFormat],
    },
    AgentSpec {
        id: "opencode",
        aliases: &["open-code"],
        name: "opencode",
        executable: "opencode",
        session_variable: None,
        sessions: |dirs| vec![dirs.data().join("opencode/opencode.db")],
        in_project: |_| Vec::new(),
        formats: &[
            &crate::opencode::transcript::OpencodeDatabaseFormat,
            &crate::opencode::transcript::OpencodeExportFormat,
        ],
    },
    AgentSpec {
        id: "qwen",
        aliases: &["qwen-code"],
        name: "Qwen Code",
        executable: "qwen",
        session_variable: None,
        sessions: |dirs| vec![dirs.home.join(".qwen/projects")],
        in_project: |_| Vec::new(),
        formats: &[&crate::qwen::transcript::QwenFormat],
    },
    AgentSpec {
        id: "cursor",
        aliases: &["cursor-agent", "cursor-cli"],
        name: "Cursor",
        executable: "cursor-agent",
        session_variable: None,
        sessions: |_| Vec::new(),
        in_project: |_| Vec::new(),
        formats: &[],
    },
    AgentSpec {
        id: "aider",
        aliases: &["aider-chat"],
        name: "aider",
        executable: "aider",
        session_variable: None,
        sessions: |dirs| vec![dirs.home.join(crate::aider::HISTORY_FILE)],
        in_project: |here| here.ancestors().map(|folder| folder.join(crate::aider::HISTORY_FILE)).collect(),
        formats: &[&crate::aider::transcript::AiderFormat],
    },
    AgentSpec {
        id: "pi",
        aliases: &["pi-coding-agent"],
        name: "pi",
        executable: "pi",
        session_variable: None,
        sessions: |dirs| vec![dirs.home.join(".pi/agent/sessions")],
        in_project: |_| Vec::new(),
        formats: &[&crate::pi::transcript::PiFormat],
    },
];

/// The agent with this id or alias, whatever the case.
pub fn find(name: &str) -> Option<&'static AgentSpec> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    AGENTS.iter().find(|agent| is(agent.id) || agent.aliases.iter().any(|alias| is(alias)))
}

/// Where this user keeps things. Tests make their own.
#[derive(Clone, Debug)]
pub struct UserDirs {
    /// Home folder.
    pub home: PathBuf,
    /// Looks an environment variable up.
    pub lookup: fn(&str) -> Option<OsString>,
}

impl UserDirs {
    /// Of the user this process runs as; `None` without a home folder.
    pub fn for_current_user() -> Option<Self> {
        Some(Self { home: std::env::home_dir()?, lookup: |name| std::env::var_os(name) })
    }

    /// A home folder with nothing said in the environment.
    pub fn with_home(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), lookup: |_| None }
    }

    pub(crate) fn var(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.var("XDG_CONFIG_HOME").map_or_else(|| self.home.join(".config"), PathBuf::from)
    }

    fn data(&self) -> PathBuf {
        self.var("XDG_DATA_HOME").map_or_else(|| self.home.join(".local/share"), PathBuf::from)
    }
}

#[cfg(test)]
mod tests;
