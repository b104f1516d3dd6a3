//! Paths, computed once from the environment and `--home`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use belay_core::Digest;

use crate::env::EnvSnapshot;

/// Where state and configuration are, as command-line arguments say. They override the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathArgs {
    /// `--home`: the directory for both state and user configuration.
    pub home: Option<PathBuf>,
    /// `--user-config`: the user's configuration file, if it is not `config.toml` in `home`.
    pub user_config: Option<PathBuf>,
    /// `--runtime-dir`: the directory of a socket whose path in the state directory would be too long.
    pub runtime_dir: Option<PathBuf>,
}

/// Longest socket path for all platforms (`sun_path` has 104 bytes on macOS, 108 on Linux), minus the suffix of the
/// temporary name.
const MAX_SOCKET_PATH: usize = 92;

/// Every path Belay uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    state: PathBuf,
    config_file: PathBuf,
    socket: PathBuf,
    runtime_socket: PathBuf,
    user_home: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("HOME is not set and the user has no home directory")]
    NoHome,
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} belongs to another user; the socket needs a directory of your own")]
    Foreign { path: PathBuf },
    #[error("the socket path {path} is too long for this system ({len} bytes, at most {MAX_SOCKET_PATH})")]
    SocketTooLong { path: PathBuf, len: usize },
}

impl PathArgs {
    /// The arguments as options of a command line.
    pub fn to_command_line(&self) -> Vec<OsString> {
        let flags =
            [("--home", &self.home), ("--user-config", &self.user_config), ("--runtime-dir", &self.runtime_dir)];
        let given = flags.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        given.flat_map(|(flag, path)| [OsString::from(flag), path.clone().into_os_string()]).collect()
    }

    /// The arguments as text, for the settings of agents.
    pub fn to_options(&self) -> Vec<String> {
        self.to_command_line().into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }
}

impl Paths {
    /// Resolves the paths without creating anything. `home` is `--home`, which overrides `BELAY_HOME`.
    pub fn resolve(env: &EnvSnapshot, home: Option<&Path>) -> Result<Self, PathError> {
        Self::resolve_with(env, &PathArgs { home: home.map(Path::to_path_buf), ..PathArgs::default() })
    }

    /// Resolves the paths without creating anything.
    pub fn resolve_with(env: &EnvSnapshot, args: &PathArgs) -> Result<Self, PathError> {
        let user_home = env.get("HOME").map(PathBuf::from);
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|source| PathError::Io { path: path.to_path_buf(), source })
        };
        let chosen = args.home.clone().or_else(|| env.get("BELAY_HOME").map(PathBuf::from));
        let (state, config_file) = match chosen {
            Some(home) => {
                let home = absolute(&home)?;
                (home.clone(), home.join("config.toml"))
            }
            None => (
                base(env, "XDG_STATE_HOME", user_home.as_deref(), ".local/state")?.join("belay"),
                base(env, "XDG_CONFIG_HOME", user_home.as_deref(), ".config")?.join("belay/config.toml"),
            ),
        };
        let config_file = args.user_config.as_deref().map(absolute).transpose()?.unwrap_or(config_file);
        let runtime_dir = match &args.runtime_dir {
            Some(dir) => Some(absolute(dir)?),
            None => runtime_dir(env, user_home.as_deref()),
        };
        let default = state.join("belay.sock");
        let runtime_socket = runtime_dir.map_or_else(|| default.clone(), |dir| runtime_socket(&dir, &state));
        let socket = if fits(&default) { default } else { runtime_socket.clone() };
        if !fits(&socket) {
            return Err(PathError::SocketTooLong { len: socket.as_os_str().len(), path: socket });
        }
        Ok(Self { state, config_file, socket, runtime_socket, user_home })
    }

    /// The arguments with which a hook finds the same paths, whatever its environment says.
    pub fn to_args(&self) -> PathArgs {
        let runtime_dir = self.runtime_socket.parent();
        let is_moved = self.socket.parent() != Some(&self.state);
        let is_found = !is_moved && {
            let env = EnvSnapshot::default().with_runtime_dir_of_user().with_home_of_user();
            let user_home = env.get("HOME").map(PathBuf::from);
            runtime_dir == self::runtime_dir(&env, user_home.as_deref()).as_deref()
        };
        PathArgs {
            home: Some(self.state.clone()),
            user_config: (self.config_file != self.state.join("config.toml")).then(|| self.config_file.clone()),
            runtime_dir: runtime_dir.filter(|_| !is_found).map(Path::to_path_buf),
        }
    }

    /// The state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// The store.
    pub fn database(&self) -> PathBuf {
        self.state.join("belay.db")
    }

    /// The directory of events that could not be written to the store.
    pub fn spool(&self) -> PathBuf {
        self.state.join("spool")
    }

    /// The resident process's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The socket of a resident process that cannot write to the state directory; the same as [`Paths::socket`] if there
    /// is no other private place.
    pub fn runtime_socket(&self) -> &Path {
        &self.runtime_socket
    }

    /// Lock file that the resident process holds.
    pub fn lock(&self) -> PathBuf {
        self.state.join("serve.lock")
    }

    /// The token that decisions over HTTP require.
    pub fn token(&self) -> PathBuf {
        self.state.join("token")
    }

    /// The logins of browsers.
    pub fn logins(&self) -> PathBuf {
        self.state.join("logins.json")
    }

    /// The list of trusted projects.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// The directory of the log files.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// The user's home directory, where the search for a project file stops.
    pub fn user_home(&self) -> Option<&Path> {
        self.user_home.as_deref()
    }

    /// Creates the state directory (mode 0700) and the directory of the socket.
    pub fn create(&self) -> Result<(), PathError> {
        create_private_dir(&self.state)?;
        match self.socket.parent() {
            Some(dir) if dir != self.state => create_private_dir(dir),
            _ => Ok(()),
        }
    }

    /// Creates the directory of the runtime socket.
    pub fn create_runtime_dir(&self) -> Result<(), PathError> {
        self.runtime_socket.parent().map_or(Ok(()), create_private_dir)
    }
}

/// An XDG base directory. The specification requires relative paths to be ignored.
fn base(env: &EnvSnapshot, variable: &str, home: Option<&Path>, default: &str) -> Result<PathBuf, PathError> {
    match env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(path) => Ok(path),
        None => home.map(|home| home.join(default)).ok_or(PathError::NoHome),
    }
}

fn fits(socket: &Path) -> bool {
    socket.as_os_str().len() <= MAX_SOCKET_PATH
}

/// The directory of short socket paths. It is never one that other users can write to: they could listen there first.
fn runtime_dir(env: &EnvSnapshot, user_home: Option<&Path>) -> Option<PathBuf> {
    match env.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => Some(runtime.join("belay")),
        None => Some(user_home.filter(|home| home.is_absolute())?.join(".local/state/belay-run")),
    }
}

/// A socket path whose length does not depend on that of the state directory's path.
fn runtime_socket(dir: &Path, state: &Path) -> PathBuf {
    dir.join(format!("{}.sock", Digest::from_bytes(state.as_os_str().as_encoded_bytes())))
}

#[cfg(unix)]
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(crate) fn user_id() -> u32 {
    0
}

/// Creates a directory with mode 0700. An existing one must belong to the user; its mode is corrected.
fn create_private_dir(path: &Path) -> Result<(), PathError> {
    let io = |source| PathError::Io { path: path.to_path_buf(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(io)?;
    }
    match mkdir_private(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other.map_err(io),
    }
    let mut found = std::fs::symlink_metadata(path).map_err(io)?;
    // The user may link the directory; another user's link could lead anywhere.
    if found.is_symlink() && is_own(&found) {
        found = std::fs::metadata(path).map_err(io)?;
    }
    if !found.is_symlink() && !found.is_dir() {
        return Err(io(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory")));
    }
    restrict_mode(path, &found)
}

#[cfg(unix)]
fn mkdir_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn mkdir_private(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(unix)]
fn is_own(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.uid() == user_id()
}

#[cfg(not(unix))]
fn is_own(_found: &std::fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn restrict_mode(path: &Path, found: &std::fs::Metadata) -> Result<(), PathError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if !is_own(found) {
        return Err(PathError::Foreign { path: path.to_path_buf() });
    }
    if found.mode() & 0o077 != 0 {
        // Fails on a read-only file system; the owner is checked above, and `belay doctor` reports the mode.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict_mode(_path: &Path, _found: &std::fs::Metadata) -> Result<(), PathError> {
    Ok(())
}
