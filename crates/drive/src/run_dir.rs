//! The directory of a run, and a lock that shows whether the run is alive.
//!
//! The agent inherits the lock, so it is held until the agent and everything it started have exited, even if
//! `belay run` was killed before. A directory whose lock is free is left over and removed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use belay_config::{PathError, Paths};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

const LOCK_EXTENSION: &str = "lock";

/// Shell scripts use small descriptors and would close an inherited one.
const MIN_INHERITED_FD: i32 = 200;

/// The directory of a run. Removed when dropped.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    /// Held by this process and inherited by the agent.
    _lock: File,
}

impl RunDir {
    /// Creates the directory with these files.
    pub(crate) fn create(path: PathBuf, files: &[(PathBuf, String)]) -> Result<Self, PathError> {
        let created = create_dir(path.parent().unwrap_or(&path)).and_then(|()| {
            // The lock exists before the directory, and is held before it has its name: `sweep` never sees it free.
            let lock = acquire_inheritable(&lock_path(&path))?;
            let run_dir = Self { path: path.clone(), _lock: lock };
            create_dir(&run_dir.fence())?;
            for (file, content) in files {
                create_dir(file.parent().unwrap_or(file))?;
                std::fs::write(file, content)?;
            }
            Ok(run_dir)
        });
        created.map_err(|source| PathError::Io { path, source })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file whose descriptor every process inherits that this one starts.
    pub(crate) fn lock_file(&self) -> PathBuf {
        lock_path(&self.path)
    }

    /// The directory in which the file watcher writes its marker.
    pub(crate) fn fence(&self) -> PathBuf {
        self.path.join("fence")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Where the files of a run are. `id` is the run's UUID.
pub(crate) fn path(paths: &Paths, id: &str) -> PathBuf {
    runs(paths).join(id)
}

/// Whether the agent of a run, or something it started, still runs. `id` is the run's UUID.
pub fn is_alive(paths: &Paths, id: &str) -> bool {
    // The id comes from a file or a request.
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain && is_locked(&lock_path(&path(paths, id)))
}

/// Removes the directories of runs that were killed.
pub fn sweep(paths: &Paths) {
    let Ok(entries) = std::fs::read_dir(runs(paths)) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        // A lock without a name yet.
        let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        let run = path.with_extension("");
        if !is_hidden && !is_locked(&lock_path(&run)) {
            remove(&run);
        }
    }
}

fn runs(paths: &Paths) -> PathBuf {
    paths.state().join("runs")
}

fn lock_path(run: &Path) -> PathBuf {
    run.with_extension(LOCK_EXTENSION)
}

fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove(run: &Path) {
    // What cannot be removed now is removed by the next sweep.
    let _ = std::fs::remove_dir_all(run);
    let _ = std::fs::remove_file(lock_path(run));
}

fn acquire_inheritable(path: &Path) -> io::Result<File> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = path.with_file_name(format!(".{name}"));
    let lock = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&hidden)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(&hidden, path)?;
    let lock = fcntl_dupfd_cloexec(&lock, MIN_INHERITED_FD).map_or(lock, File::from);
    fcntl_setfd(&lock, FdFlags::empty())?;
    Ok(lock)
}

fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockShared).is_err(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use belay_config::EnvSnapshot;

    use super::*;

    const ID: &str = "0190aaaa-0000-7000-8000-000000000000";

    fn state() -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = Paths::resolve(&EnvSnapshot::default(), Some(dir.path())).expect("paths");
        (dir, paths)
    }

    #[test]
    fn a_run_is_alive_until_its_agent_exits_even_if_belay_was_killed() {
        let (_dir, paths) = state();
        let dir = path(&paths, ID);
        let run_dir = RunDir::create(dir.clone(), &[(dir.join("hooks/a.json"), "{}".to_owned())]).expect("a run");
        let mut agent = Command::new("cat").stdin(Stdio::piped()).spawn().expect("an agent");
        // A killed process closes its descriptors and cleans nothing up.
        let mut run_dir = std::mem::ManuallyDrop::new(run_dir);
        run_dir._lock = File::open("/dev/null").expect("a file");
        sweep(&paths);
        assert!(is_alive(&paths, ID) && dir.join("hooks/a.json").exists(), "the agent may still need it");
        drop(agent.stdin.take());
        agent.wait().expect("its end");
        sweep(&paths);
        assert!(!is_alive(&paths, ID) && !dir.exists());
    }

    #[test]
    fn directories_of_dead_runs_are_removed() {
        let (_dir, paths) = state();
        let dead = path(&paths, ID);
        create_dir(&dead).expect("a directory");
        std::fs::write(dead.join("settings.json"), "{}").expect("a file");
        std::fs::write(lock_path(&dead), "").expect("a lock");
        let without_lock = path(&paths, "0190bbbb");
        create_dir(&without_lock).expect("a directory");
        let alive = RunDir::create(path(&paths, "0190cccc"), &[]).expect("a run");
        assert!(!is_alive(&paths, ID) && is_alive(&paths, "0190cccc") && !is_alive(&paths, "../x"));
        sweep(&paths);
        assert!(!dead.exists() && !lock_path(&dead).exists() && !without_lock.exists());
        assert!(alive.fence().exists());
        drop(alive);
        assert_eq!(std::fs::read_dir(runs(&paths)).expect("a directory").count(), 0);
    }
}
