//! Starts the resident process once, regardless of how many hooks find it missing, and detached from them.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_config::{DurationSetting, EnvSnapshot, Paths};
use rustix::fs::{FlockOperation, flock};

/// Minimum time between two starts: the previous one may still be in progress.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Who starts the resident process, and so how much of their environment it inherits.
#[derive(Clone, Copy, Debug)]
pub enum StartedBy<'a> {
    /// A command of a person, with their environment. Their `BELAY_*` are settings of the resident process.
    Person(&'a EnvSnapshot),
    /// A hook, or a command that an agent calls. The environment belongs to the agent, and so to whatever repository the
    /// agent works in.
    Agent(&'a EnvSnapshot),
}

/// What the resident process inherits from a person. An environment may hold any number of keys; a long-lived process
/// must not hold them.
const VARIABLES_OF_PERSON: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "CI",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// What the resident process inherits from an agent: nothing that says where its files, its certificates, a proxy or the
/// desktop's message bus are. `TZ` is missing because it may name a file: a FIFO would block every page, `/dev/zero` has
/// no end.
const VARIABLES_OF_AGENT: &[&str] = &["USER", "LOGNAME", "LANG", "LC_ALL"];

/// Where the programs of a system are. Root can write to any directory, and so can an agent that runs as root.
const DIRECTORIES_FOR_ROOT: &[&str] = &["/usr", "/bin", "/sbin", "/opt", "/nix", "/run/current-system"];

/// Where programs are on every system.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What `belay run` and `belay exec` set for one run. A resident process outlives it.
const VARIABLES_OF_RUN: &[&str] = &["BELAY_SESSION", "BELAY_UPSTREAMS", "BELAY_HOME"];

impl StartedBy<'_> {
    fn variables(self) -> Vec<(String, OsString)> {
        let pick = |env: &EnvSnapshot, names: &mut dyn Iterator<Item = &str>| {
            names.filter_map(|name| Some((name.to_owned(), env.get(name)?.to_owned()))).collect::<Vec<_>>()
        };
        match self {
            Self::Person(env) => {
                let own = env.belay_variables().filter(|name| !VARIABLES_OF_RUN.contains(name));
                pick(env, &mut VARIABLES_OF_PERSON.iter().copied().chain(own))
            }
            Self::Agent(env) => {
                // The desktop's message bus is in the runtime directory.
                let own = env.clone().with_home_of_user().with_runtime_dir_of_user();
                let mut picked = pick(&own, &mut VARIABLES_OF_AGENT.iter().copied().chain(["HOME", "XDG_RUNTIME_DIR"]));
                let is_root = rustix::process::geteuid().is_root();
                let path = system_directories(env.get("PATH").unwrap_or_default(), is_root);
                picked.extend(path.map(|path| ("PATH".to_owned(), path)));
                picked
            }
        }
    }
}

/// The directories of a search path that only root can write to: the resident process starts git and others by name, also
/// for other projects than the one that has prepared this path. Links are resolved, since they may lead elsewhere later.
fn system_directories(path: &OsStr, is_root: bool) -> Option<OsString> {
    let system_directory = |dir: PathBuf| {
        let dir = dir.is_absolute().then(|| dir.canonicalize().ok()).flatten()?;
        let found = std::fs::metadata(&dir).ok()?;
        let is_known = || DIRECTORIES_FOR_ROOT.iter().any(|known| dir.starts_with(known));
        let is_protected = found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
        (is_protected && (!is_root || is_known())).then_some(dir)
    };
    // A path without the usual directories would take git and the desktop's notifications away.
    let all = std::env::split_paths(path).chain(std::env::split_paths(USUAL_PATH));
    let mut dirs: Vec<PathBuf> = Vec::new();
    for dir in all.filter_map(system_directory) {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    std::env::join_paths(dirs).ok()
}

/// Starts the resident process unless another hook just did. Does not wait for it. It exits after being idle for
/// `idle`.
pub fn start(paths: &Paths, by: StartedBy<'_>, belay: &Path, idle: DurationSetting) -> io::Result<bool> {
    let lock = open_lock(paths)?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() || started_lately(&lock)? {
        return Ok(false);
    }
    // Writing updates the modification time, which later hooks check.
    lock.set_len(0)?;
    (&lock).write_all(b"a hook started the resident process\n")?;
    let mut command = Command::new(belay);
    command.args(["serve", "--no-http", "--idle-exit", &idle.to_string()]).current_dir("/").env_clear();
    command.envs(by.variables());
    // Whatever its environment says, it finds the same store as the process that starts it.
    command.args(paths.to_args().to_command_line());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    close_on_exec();
    let leave_terminal = || rustix::process::setsid().map(drop).map_err(io::Error::from);
    #[expect(unsafe_code, reason = "setsid is a single system call and safe between fork and exec")]
    unsafe {
        command.pre_exec(leave_terminal);
    }
    let spawned = command.spawn();
    spawned.map(|_| true).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", belay.display())))
}

/// The resident process exited normally: the next hook may start one at once.
pub fn clear_start_marker(paths: &Paths) {
    // If this fails, the next start is delayed.
    let _ = open_lock(paths).and_then(|lock| lock.set_len(0));
}

/// Clears the marker of a resident process that was killed: its instance lock is free, but it could not clean up.
pub fn clear_stale_start_marker(paths: &Paths) {
    if is_lock_held(&paths.lock()).is_ok_and(|held| !held) {
        clear_start_marker(paths);
    }
}

/// Whether a process holds this lock.
pub fn is_lock_held(path: &Path) -> io::Result<bool> {
    match File::open(path) {
        Ok(lock) => Ok(flock(&lock, FlockOperation::NonBlockingLockShared).is_err()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn lock_file(paths: &Paths) -> PathBuf {
    paths.state().join("autostart.lock")
}

/// The lock in a state directory that cannot be written.
fn runtime_lock_file(paths: &Paths) -> PathBuf {
    paths.runtime_socket().with_extension("autostart.lock")
}

/// Opens the lock in the state directory or else in the runtime directory.
fn open_lock(paths: &Paths) -> io::Result<File> {
    open(&lock_file(paths)).or_else(|error| {
        let created = paths.create_runtime_dir();
        created.ok().and_then(|()| open(&runtime_lock_file(paths)).ok()).ok_or(error)
    })
}

fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// A new empty file was just created by `open` and does not indicate a start.
fn started_lately(lock: &File) -> io::Result<bool> {
    let found = lock.metadata()?;
    let fresh = found.modified()?.elapsed().is_ok_and(|age| age < RETRY_INTERVAL);
    Ok(fresh && found.len() > 0)
}

/// The agent may have leaked pipes to the hook. A reader that waits for end of file must not wait for a process that
/// keeps running.
fn close_on_exec() {
    let dir = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let open = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    for fd in open.filter(|fd| *fd > 2).collect::<Vec<_>>() {
        #[expect(unsafe_code, reason = "only a flag is set, and a number that is not open is refused")]
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
    }
}

#[cfg(test)]
mod tests;
