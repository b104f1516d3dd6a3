//! [`AgentSpec`] and its parts. Each agent module declares one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::headless::HeadlessProtocol;
use crate::hook::{HookPoint, HookProtocol, ParsedHook};
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
    /// Other names for the agent.
    pub aliases: &'static [&'static str],
    /// Name shown to people.
    pub display_name: &'static str,
    /// Name of the executable.
    pub executable: &'static str,
    pub maturity: Maturity,
    /// Environment variable with the session id, set by the agent for the commands it runs.
    pub session_env: Option<&'static str>,
    /// Further variables that the agent sets for the commands it runs. An agent that inherits them would take itself for a
    /// part of that session.
    pub nested_env: &'static [&'static str],
    /// Variable that moves the agent's own directory, and with it the login.
    pub home_env: Option<&'static str>,
    /// Files of a project that the agent follows as instructions or settings, wherever they are: names of files, and names of
    /// directories that end with `/`.
    pub project_instructions: &'static [&'static str],
    /// The agent's built-in tools.
    pub tools: &'static ToolTable,
    pub transcripts: Option<&'static TranscriptSpec>,
    pub hooks: Option<&'static HookSpec>,
    pub wire: Option<&'static dyn WireClient>,
    pub launch: Option<&'static dyn Launcher>,
    pub headless: Option<&'static dyn HeadlessProtocol>,
    pub pane: Option<&'static PaneSigns>,
    /// Why parts are missing: exactly one entry for each part that is `None`.
    pub absent: &'static [(Part, &'static str)],
}

impl HookSpec {
    /// The event that a call belongs to. A payload may have another agent's name for it.
    pub fn event_of(&self, parsed: &ParsedHook) -> Option<&'static HookEvent> {
        let named = self.events.iter().find(|event| event.name == parsed.event);
        named.or_else(|| self.events.iter().find(|event| event.point == parsed.point))
    }
}

impl AgentSpec {
    /// Whether the agent has this part.
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

    /// Directories and files with the user's sessions, existing or not.
    pub fn transcript_roots(&self, dirs: &UserDirs) -> Vec<PathBuf> {
        self.transcripts.map_or_else(Vec::new, |transcripts| (transcripts.roots)(dirs))
    }

    /// The agent's own directory, if [`home_env`](Self::home_env) has moved it: the one whose session files include
    /// `transcript`. `home`: the user's home directory.
    pub fn moved_home(&self, transcript: &Path, home: &Path) -> Option<PathBuf> {
        if self.transcript_roots(&UserDirs::with_home(home)).iter().any(|root| transcript.starts_with(root)) {
            return None;
        }
        self.roots_below_home().iter().find_map(|below| {
            let root = transcript.ancestors().find(|dir| dir.ends_with(below))?;
            root.ancestors().nth(below.components().count()).map(Path::to_owned)
        })
    }

    /// Whether this is where the agent's own directory is unless it is moved.
    pub fn is_default_home(&self, dir: &Path, home: &Path) -> bool {
        let roots = self.transcript_roots(&UserDirs::with_home(home));
        self.roots_below_home().iter().any(|below| roots.contains(&dir.join(below)))
    }

    /// Where session files are below the directory that [`home_env`](Self::home_env) names.
    fn roots_below_home(&self) -> Vec<PathBuf> {
        const MOVED: &str = "/moved";
        if self.home_env.is_none() {
            return Vec::new();
        }
        let moved = UserDirs { home: MOVED.into(), lookup: |_| Some(MOVED.into()) };
        let roots = self.transcript_roots(&moved);
        roots.iter().filter_map(|root| root.strip_prefix(MOVED).ok().map(Path::to_owned)).collect()
    }

    /// Files with sessions of the project in `dir`, existing or not.
    pub fn project_transcripts(&self, dir: &Path) -> Vec<PathBuf> {
        self.transcripts.map_or_else(Vec::new, |transcripts| (transcripts.in_project)(dir))
    }

    /// Formats of the session files, newest first.
    pub fn transcript_formats(&self) -> &'static [&'static dyn TranscriptFormat] {
        self.transcripts.map_or(&[], |transcripts| transcripts.formats)
    }
}

/// How well support for an agent is tested.
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

/// Locations and formats of an agent's session files.
#[derive(Debug)]
pub struct TranscriptSpec {
    /// Directories and files with the user's sessions, existing or not.
    pub roots: fn(&UserDirs) -> Vec<PathBuf>,
    /// Files with a project's sessions, in its directory or above it, existing or not.
    pub in_project: fn(&Path) -> Vec<PathBuf>,
    /// Formats of the files, newest first.
    pub formats: &'static [&'static dyn TranscriptFormat],
}

/// [`TranscriptSpec::in_project`] of agents without session files in projects.
pub(crate) fn none_in_project(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// An agent's hooks.
#[derive(Debug)]
pub struct HookSpec {
    /// Every event that Belay registers, permanently or for one run, in the order of installation.
    pub events: &'static [HookEvent],
    pub protocol: &'static dyn HookProtocol,
    /// How the agent continues instead of ending its turn; `None` if it does not, or if that has not been measured.
    pub continuation: Option<ContinuationSpec>,
    pub installer: &'static dyn HookInstaller,
    /// Why installed hooks may stay silent, and what to do.
    pub silent_hint: &'static str,
}

/// How an agent continues if the hook at the end of its turn says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContinuationSpec {
    /// How long the hook may wait before it says so.
    pub hold: Duration,
    /// How often in a row the agent continues until a person prompts it, if it counts.
    pub blocks_in_row: Option<u32>,
    /// Whether a hook that runs beside the idle agent can wake it.
    pub rewakes: bool,
}

impl ContinuationSpec {
    /// For an agent that no hook wakes.
    pub(crate) const fn new(blocks_in_row: Option<u32>) -> Self {
        Self { hold: CONTINUATION_HOLD, blocks_in_row, rewakes: false }
    }
}

/// Hint for agents that read hooks only when a session starts.
pub(crate) const NEW_SESSION_HINT: &str = "start a new session; running sessions do not load new hooks";

/// How long an agent waits for a hook that may wait for a person's answer. The hook itself gives up earlier.
pub(crate) const PERMISSION_TIMEOUT: Duration = Duration::from_secs(600);

/// How long the end of a turn may wait for a message. The agent looks busy meanwhile, so it is short.
const CONTINUATION_HOLD: Duration = Duration::from_secs(120);

/// How long an agent waits for the hook at the end of a turn.
pub(crate) const TURN_END_TIMEOUT: Duration = Duration::from_secs(CONTINUATION_HOLD.as_secs() + 30);

/// One hook event that Belay registers.
#[derive(Debug)]
pub struct HookEvent {
    /// The agent's name for it.
    pub name: &'static str,
    pub point: HookPoint,
    /// How long the agent waits for the hook, if it has such a setting.
    pub timeout: Duration,
    /// The only trigger of the event for which the hook runs.
    pub matcher: Option<&'static str>,
}

impl HookEvent {
    /// An event with the default timeout of ten seconds.
    pub(crate) const fn new(name: &'static str, point: HookPoint) -> Self {
        Self { name, point, timeout: Duration::from_secs(10), matcher: None }
    }

    /// The timeout for agents that configure it in milliseconds.
    pub(crate) fn timeout_millis(&self) -> u64 {
        u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) const fn only_for(self, trigger: &'static str) -> Self {
        Self { matcher: Some(trigger), ..self }
    }

    pub(crate) const fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

/// Terminal text that shows an agent's status.
#[derive(Debug)]
pub struct PaneSigns {
    /// The agent is working.
    pub working: &'static [&'static str],
    /// The agent is waiting for a prompt.
    pub idle: &'static [&'static str],
    /// The agent is asking for a decision.
    pub question: &'static [&'static str],
    /// A usage limit applies.
    pub limited: &'static [&'static str],
}

/// Why an agent has no [`HeadlessProtocol`].
pub(crate) const PLAIN_HEADLESS: (Part, &str) = (Part::Headless, "its output is read as text");

/// Why no agent has [`PaneSigns`] yet.
pub(crate) const PANE_LATER: (Part, &str) = (Part::Pane, "added with fleets");
