//! What a run starts: program, arguments, environment and files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use belay_agents::headless::HeadlessCommand;
use belay_agents::install::BelayCommand;
use belay_agents::launch::{LaunchCommand, LaunchContext};
use belay_agents::{UserDirs, find, install};
use belay_config::Paths;
use belay_core::SessionKey;
use belay_core::redact::redact;
use belay_hooks::install::{InstallRecord, read};
use belay_ipc::Client;
use uuid::Uuid;

use super::daemon_keeper::REQUEST_TIMEOUT;
use super::error::LaunchError;
use super::{BelayEnv, LaunchRequest};

/// A run before it starts.
#[derive(Debug)]
pub struct LaunchPlan {
    pub(super) request: LaunchRequest,
    /// Canonical agent id, or the command's name if the agent is unknown.
    agent: String,
    /// Display name.
    pub(super) name: String,
    pub(super) program: PathBuf,
    args: Vec<OsString>,
    run: String,
    pub(super) run_dir: PathBuf,
    user: UserDirs,
    /// URL of the proxy, if requests are relayed.
    pub proxy: Option<String>,
    /// What hooks call; `None` if the run needs no hooks.
    hook_command: Option<BelayCommand>,
    /// Belay's home directory, unless it is the default one.
    home: Option<String>,
    /// Working directory of the agent.
    pub(super) dir: PathBuf,
    /// The agent has no terminal, and so it shows no dialog.
    pub(super) is_headless: bool,
    /// Environment variables and files of a headless run.
    env: Vec<(String, String)>,
    files: Vec<(PathBuf, String)>,
}

/// A plan for display, with secrets masked.
#[derive(Debug)]
pub struct LaunchPreview {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub session: Option<SessionKey>,
    /// Name and URL.
    pub upstreams: Vec<(String, String)>,
    pub notes: Vec<String>,
    /// Files written for the duration of the run.
    pub files: Vec<PathBuf>,
}

impl LaunchPlan {
    /// Resolves the command in the current directory. Starts and writes nothing.
    pub fn new(request: LaunchRequest, belay: BelayEnv<'_>) -> Result<Self, LaunchError> {
        let (command, rest) =
            request.command.split_first().filter(|(command, _)| !command.is_empty()).ok_or(LaunchError::NoCommand)?;
        // `claude` and `~/bin/claude` are both Claude Code; the second one names the executable.
        let is_path = Path::new(command).components().count() > 1;
        let named = Path::new(command).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let known = find(&named);
        let wanted = known.filter(|_| !is_path).map_or_else(|| command.clone(), |agent| agent.executable.into());
        let configured = request.program.clone().filter(|_| known.is_some() && !is_path);
        let wanted = configured.map_or(wanted, PathBuf::into_os_string);
        let program = find_program(&wanted, belay.env.get("PATH"), known.map(|agent| agent.display_name))?;
        let home = belay.paths.user_home().map(Path::to_path_buf).ok_or(LaunchError::NoHome)?;
        let user = UserDirs { home, lookup: |name| std::env::var_os(name) };
        let dir = match &request.dir {
            Some(dir) => dir.clone(),
            None => std::env::current_dir().map_err(LaunchError::CurrentDirectory)?,
        };
        let has_home = belay.home.is_some() || belay.env.get("BELAY_HOME").is_some();
        let installed = known.is_some_and(|agent| has_hooks(belay.paths, &user, agent.id, &dir));
        let run = Uuid::now_v7().to_string();
        Ok(Self {
            agent: known.map_or_else(|| path_safe(&named), |agent| agent.id.to_owned()),
            name: known.map_or_else(|| named.clone(), |agent| agent.display_name.to_owned()),
            program,
            args: rest.to_vec(),
            run_dir: crate::run_dir::path(belay.paths, &run),
            run,
            user,
            proxy: None,
            hook_command: (request.hooks && !installed).then(|| hook_command(belay.paths)).transpose()?,
            home: has_home.then(|| belay.paths.state().display().to_string()),
            dir,
            is_headless: false,
            env: Vec::new(),
            files: Vec::new(),
            request,
        })
    }

    /// The directory of the run. It exists while the run lasts.
    pub(crate) fn scratch(&self) -> &Path {
        &self.run_dir
    }

    /// Adds the arguments, variables and files of a headless run.
    pub(crate) fn add_headless(&mut self, command: HeadlessCommand) {
        self.is_headless = true;
        self.args.extend(command.args);
        self.env.extend(command.env);
        self.files.extend(command.files);
    }

    /// The key of the run.
    pub(super) fn key(&self) -> String {
        SessionKey::new(&self.agent, &self.run).to_string()
    }

    /// The proxy of the resident process, if it runs.
    pub fn running_proxy(paths: &Paths) -> Option<String> {
        let mut client = Client::connect(paths, REQUEST_TIMEOUT).ok()?;
        client.status(false).ok()?.url
    }

    pub(super) fn launch(&self) -> LaunchCommand {
        let setting = LaunchContext {
            proxy: self.proxy.as_deref(),
            agent: &self.agent,
            run: &self.run,
            belay: self.hook_command.as_ref(),
            user: &self.user,
            args: &self.args,
            dir: &self.dir,
            scratch: &self.run_dir,
        };
        let mut launch = belay_agents::launch::launch(&setting);
        // Hooks of agents that send no session id use this one.
        launch.env.push(("BELAY_SESSION".to_owned(), self.key()));
        launch.env.extend(self.env.iter().cloned());
        launch.files.extend(self.files.iter().cloned());
        // Every Belay command inside the run uses the same home directory.
        if let Some(home) = &self.home {
            launch.env.push(("BELAY_HOME".to_owned(), home.clone()));
        }
        launch
    }

    /// What would be started.
    pub fn preview(&self) -> LaunchPreview {
        let launch = self.launch();
        let masked = |text: &str| redact(text).into_owned();
        LaunchPreview {
            program: self.program.clone(),
            args: masked_args(&launch.args),
            env: launch
                .env
                .iter()
                .map(|(name, value)| (name.clone(), masked(&format!("{name}={value}"))[name.len() + 1..].to_owned()))
                .collect(),
            session: launch.session,
            upstreams: launch.upstreams.iter().map(|(name, url)| (name.clone(), masked(url))).collect(),
            notes: launch.notes,
            files: launch.files.into_iter().map(|(path, _)| path).collect(),
        }
    }
}

/// Search path if PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Finds the program as a shell does. `agent` is the display name of a known agent.
fn find_program(program: &OsStr, path: Option<&OsStr>, agent: Option<&'static str>) -> Result<PathBuf, LaunchError> {
    let named = Path::new(program);
    match named.components().count() {
        1 if !program.as_bytes().contains(&b'/') => {
            let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
            let mut candidates = std::env::split_paths(path).map(|dir| dir.join(named));
            let found = candidates.find(|candidate| check_program(candidate, agent).is_ok());
            found.ok_or_else(|| LaunchError::NotInPath { program: named.display().to_string(), agent })
        }
        _ => check_program(named, agent).map(|()| named.to_path_buf()),
    }
}

/// Whether this file can be run.
fn check_program(path: &Path, agent: Option<&'static str>) -> Result<(), LaunchError> {
    use std::os::unix::fs::PermissionsExt;
    let path_buf = || path.to_path_buf();
    let found = path.metadata().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LaunchError::NotFound { path: path_buf(), agent },
        _ => LaunchError::NotRunnable { path: path_buf(), source },
    })?;
    match () {
        () if found.is_dir() => Err(LaunchError::IsDirectory(path_buf())),
        () if found.permissions().mode() & 0o111 == 0 => Err(LaunchError::NotExecutable(path_buf())),
        () => Ok(()),
    }
}

/// Whether `belay init` installed hooks that cover this run. A second set would report every event twice.
fn has_hooks(paths: &Paths, dirs: &UserDirs, agent: &str, dir: &Path) -> bool {
    let covers_run = |record: &InstallRecord| {
        record.agent == agent && record.project.as_ref().is_none_or(|project| dir.starts_with(project))
    };
    InstallRecord::all(paths).iter().filter(|record| covers_run(record)).any(|record| {
        let project = record.project.clone().unwrap_or_default();
        let setting = install::InstallContext {
            dirs,
            scope: record.scope(),
            project: &project,
            belay: &record.command(),
            read: &read,
        };
        let missing = install::installer(agent).and_then(|installer| installer.install(&setting).ok());
        missing.is_some_and(|missing| missing.is_empty())
    })
}

/// This program, and where state and configuration are. A variable in the environment of hooks must not move them: a
/// repository may set it.
fn hook_command(paths: &Paths) -> io::Result<BelayCommand> {
    let program = std::env::current_exe()?.display().to_string();
    Ok(BelayCommand { program, options: paths.to_args().to_options() })
}

/// A name that needs no escaping in a path.
fn path_safe(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().map(|c| if is_safe(c) { c } else { '-' }).collect()
}

/// Arguments with secrets masked. Some are recognised only by the flag before them: `--api-key VALUE`.
fn masked_args(args: &[OsString]) -> Vec<String> {
    let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let alone = args.iter().map(|arg| redact(arg).into_owned());
    let masked = alone.enumerate().map(|(at, alone)| {
        let Some(flag) = at.checked_sub(1).map(|before| &args[before]).filter(|arg| arg.starts_with('-')) else {
            return alone;
        };
        let pair = redact(&format!("{flag} {}", args[at])).into_owned();
        pair.strip_prefix(&**flag).and_then(|rest| rest.strip_prefix(' ')).map_or(alone, str::to_owned)
    });
    masked.collect()
}
