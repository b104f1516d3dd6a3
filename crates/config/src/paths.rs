//! Where things are: computed once, from the environment and `--home`.

use std::io;
use std::path::{Path, PathBuf};

use belay_core::Digest;

use crate::env::EnvSnapshot;

/// The longest socket path every platform takes (`sun_path` is 104 bytes on macOS, 108 on Linux), with
/// room for the suffix it has while it is being put in place.
const MAX_SOCKET_PATH: usize = 92;

/// Every path Belay uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    state: PathBuf,
    config_file: PathBuf,
    socket: PathBuf,
    far_socket: PathBuf,
    user_home: Option<PathBuf>,
}

/// Why there is no place to put anything.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("there is no home folder: HOME is not set and the user has none")]
    NoHome,
    #[error("{path} cannot be used: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} belongs to somebody else; Belay keeps its socket only in a folder of its own")]
    Foreign { path: PathBuf },
    #[error("the socket path {path} is too long for this system ({len} bytes, at most {MAX_SOCKET_PATH})")]
    SocketTooLong { path: PathBuf, len: usize },
}

impl Paths {
    /// `home` is `--home`; it wins over `BELAY_HOME`. Nothing is created.
    pub fn resolve(env: &EnvSnapshot, home: Option<&Path>) -> Result<Self, PathError> {
        let user_home = env.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let chosen = home.map(Path::to_path_buf).or_else(|| env.get("BELAY_HOME").map(PathBuf::from));
        let (state, config_file) = match chosen {
            Some(home) => {
                let home = std::path::absolute(&home).map_err(|source| PathError::Io { path: home.clone(), source })?;
                (home.clone(), home.join("config.toml"))
            }
            None => (
                base(env, "XDG_STATE_HOME", user_home.as_deref(), ".local/state")?.join("belay"),
                base(env, "XDG_CONFIG_HOME", user_home.as_deref(), ".config")?.join("belay/config.toml"),
            ),
        };
        let far_socket = far_socket(env, &state);
        let near = state.join("belay.sock");
        let socket = if fits(&near) { near } else { far_socket.clone() };
        if !fits(&socket) {
            return Err(PathError::SocketTooLong { len: socket.as_os_str().len(), path: socket });
        }
        Ok(Self { state, config_file, socket, far_socket, user_home })
    }

    /// Holds everything Belay remembers.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The user's configuration.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// The store.
    pub fn database(&self) -> PathBuf {
        self.state.join("belay.db")
    }

    /// The resident process's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The socket of a resident process that cannot write to the state folder.
    pub fn runtime_socket(&self) -> &Path {
        &self.far_socket
    }

    /// Held by the resident process as long as it lives.
    pub fn lock(&self) -> PathBuf {
        self.state.join("serve.lock")
    }

    /// The token a decision over HTTP needs.
    pub fn token(&self) -> PathBuf {
        self.state.join("token")
    }

    /// Projects the user trusts.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// The user's own home folder: a search for a project file does not go there.
    pub fn user_home(&self) -> Option<&Path> {
        self.user_home.as_deref()
    }

    /// Makes the state folder (mode 0700) and the folder of the socket.
    pub fn create(&self) -> Result<(), PathError> {
        private_folder(&self.state)?;
        match self.socket.parent() {
            Some(folder) if folder != self.state => private_folder(folder),
            _ => Ok(()),
        }
    }

    /// Makes the folder of the far socket.
    pub fn create_runtime_dir(&self) -> Result<(), PathError> {
        self.far_socket.parent().map_or(Ok(()), private_folder)
    }
}

/// An XDG base folder. The specification says to ignore a relative one.
fn base(env: &EnvSnapshot, variable: &str, home: Option<&Path>, default: &str) -> Result<PathBuf, PathError> {
    match env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(path) => Ok(path),
        None => home.map(|home| home.join(default)).ok_or(PathError::NoHome),
    }
}

fn fits(socket: &Path) -> bool {
    socket.as_os_str().len() <= MAX_SOCKET_PATH
}

/// A socket path that is short, whatever the state folder is called.
fn far_socket(env: &EnvSnapshot, state: &Path) -> PathBuf {
    let folder = match env.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join("belay"),
        None => std::env::temp_dir().join(format!("belay-{}", user_id())),
    };
    folder.join(format!("{}.sock", Digest::of(state.as_os_str().as_encoded_bytes())))
}

#[cfg(unix)]
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(crate) fn user_id() -> u32 {
    0
}

/// Makes a folder only its owner can look into. One that exists is accepted if it is ours, and closed
/// to others if it was open.
fn private_folder(path: &Path) -> Result<(), PathError> {
    let io = |source| PathError::Io { path: path.to_path_buf(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(io)?;
    }
    match make_private(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other.map_err(io),
    }
    let found = std::fs::metadata(path).map_err(io)?;
    if !found.is_dir() {
        return Err(io(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")));
    }
    close_to_others(path, &found)
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(unix)]
fn close_to_others(path: &Path, found: &std::fs::Metadata) -> Result<(), PathError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if found.uid() != user_id() {
        return Err(PathError::Foreign { path: path.to_path_buf() });
    }
    if found.mode() & 0o077 != 0 {
        // A read-only disk cannot be closed; the owner check above still holds, and `doctor` tells.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path, _found: &std::fs::Metadata) -> Result<(), PathError> {
    Ok(())
}
