//! The shape of what Belay knows about an agent: one [`AgentSpec`] per agent, declared in its module.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::hook::{AgentProcess, HookPoint, HookProtocol};
use crate::install::HookInstaller;
use crate::launch::Launcher;
use crate::registry::UserDirs;
use crate::tool_table::ToolTable;
use crate::transcript::TranscriptFormat;
use crate::wire::WireClient;

/// Everything Belay knows about one agent.
#[derive(Debug)]
pub struct AgentSpec {
    /// Canonical id, used in session keys, configuration and output.
    pub id: &'static str,
    /// Other names that people and tools use for it.
    pub aliases: &'static [&'static str],
    /// Name shown to people.
    pub display_name: &'static str,
    /// The program.
    pub executable: &'static str,
    pub maturity: Maturity,
    /// Environment variable with the session id, set by the agent for the commands it runs.
    pub session_env: Option<&'static str>,
    /// What its own tools do.
    pub tools: &'static ToolTable,
    pub transcripts: Option<&'static TranscriptSpec>,
    pub hooks: Option<&'static HookSpec>,
    pub wire: Option<&'static dyn WireClient>,
    pub launch: Option<&'static dyn Launcher>,
    pub headless: Option<&'static HeadlessSpec>,
    pub pane: Option<&'static PaneSigns>,
    /// Why a part is `None`. Every part that is `None` has an entry, and no other.
    pub absent: &'static [(Part, &'static str)],
}

impl AgentSpec {
    /// Whether a part is there.
    pub fn has(&self, part: Part) -> bool {
        match part {
            Part::Transcripts => self.transcripts.is_some(),
            Part::Hooks => self.hooks.is_some(),
            Part::Wire => self.wire.is_some(),
            Part::Launch => self.launch.is_some(),
            Part::Headless => self.headless.is_some(),
            Part::Pane => self.pane.is_some(),
        }
    }

    /// Folders and files that hold the user's sessions, whether they exist or not.
    pub fn transcript_roots(&self, dirs: &UserDirs) -> Vec<PathBuf> {
        self.transcripts.map_or_else(Vec::new, |transcripts| (transcripts.roots)(dirs))
    }

    /// Files that hold sessions of the project in `folder`, whether they exist or not.
    pub fn project_transcripts(&self, folder: &Path) -> Vec<PathBuf> {
        self.transcripts.map_or_else(Vec::new, |transcripts| (transcripts.in_project)(folder))
    }

    /// How its session files are written, newest format first.
    pub fn transcript_formats(&self) -> &'static [&'static dyn TranscriptFormat] {
        self.transcripts.map_or(&[], |transcripts| transcripts.formats)
    }
}

/// How far the knowledge about an agent is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maturity {
    /// Tested with the agent itself.
    Supported,
    /// Written from documentation. Hooks are installed only when the agent is named.
    Experimental,
}

/// A part of an [`AgentSpec`] that an agent may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Transcripts,
    Hooks,
    Wire,
    Launch,
    Headless,
    Pane,
}

impl Part {
    pub const ALL: &'static [Self] =
        &[Self::Transcripts, Self::Hooks, Self::Wire, Self::Launch, Self::Headless, Self::Pane];
}

/// Where an agent's session files are and how they are read.
#[derive(Debug)]
pub struct TranscriptSpec {
    /// Folders and files that hold the user's sessions, whether they exist or not.
    pub roots: fn(&UserDirs) -> Vec<PathBuf>,
    /// Files in or above a project's folder that hold its sessions, whether they exist or not.
    pub in_project: fn(&Path) -> Vec<PathBuf>,
    /// How the files are written, newest format first.
    pub formats: &'static [&'static dyn TranscriptFormat],
}

/// For agents that keep no session files in projects.
pub(crate) fn none_in_project(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// An agent's hooks.
#[derive(Debug)]
pub struct HookSpec {
    /// Every event that Belay registers, installed or for one run, in the order of installation.
    pub events: &'static [HookEvent],
    pub protocol: &'static dyn HookProtocol,
    pub installer: &'static dyn HookInstaller,
    /// Why installed hooks may stay silent, and what to do.
    pub silent_hint: &'static str,
}

/// The hint for agents that read hooks only when a session starts.
pub(crate) const NEW_SESSION_HINT: &str = "start a new session; running sessions do not load new hooks";

/// One hook event that Belay registers.
#[derive(Debug)]
pub struct HookEvent {
    /// The agent's name for it.
    pub name: &'static str,
    pub point: HookPoint,
    /// How long the agent waits for the hook. Some agents count seconds, some milliseconds, and some
    /// have no such setting.
    pub timeout: Duration,
}

impl HookEvent {
    /// An event with the usual timeout of ten seconds.
    pub(crate) const fn new(name: &'static str, point: HookPoint) -> Self {
        Self { name, point, timeout: Duration::from_secs(10) }
    }

    /// The timeout for agents that count milliseconds.
    pub(crate) fn timeout_millis(&self) -> u64 {
        u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) const fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

/// How an agent runs one prompt without a terminal.
#[derive(Debug)]
pub struct HeadlessSpec {
    /// Arguments before the prompt.
    pub args: &'static [&'static str],
    /// The running agent, as a process list shows it.
    pub process: AgentProcess,
    pub resume: Resume,
}

/// How a headless run continues a session.
#[derive(Debug)]
pub enum Resume {
    /// A flag whose value is the session id.
    Flag(&'static str),
    /// Arguments followed by the session id.
    Arguments(&'static [&'static str]),
}

/// Texts in an agent's terminal that show its status.
#[derive(Debug)]
pub struct PaneSigns {
    /// The agent is working.
    pub working: &'static [&'static str],
    /// The agent waits for a prompt.
    pub idle: &'static [&'static str],
    /// The agent asks for a decision.
    pub question: &'static [&'static str],
    /// A usage limit applies.
    pub limited: &'static [&'static str],
}

/// Why no agent has a [`HeadlessSpec`] yet.
pub(crate) const HEADLESS_LATER: (Part, &str) = (Part::Headless, "added with headless runs");

/// Why no agent has [`PaneSigns`] yet.
pub(crate) const PANE_LATER: (Part, &str) = (Part::Pane, "added with fleets");
