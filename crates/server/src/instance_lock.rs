//! The lock that ensures one resident process per state directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// How often the lock is tried again, and how long the pause is in between.
const ACQUIRE_ATTEMPTS: u32 = 5;
const ACQUIRE_INTERVAL: Duration = Duration::from_millis(10);

/// The content of the lock file: information about its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceInfo {
    pub pid: u32,
    /// When it started, in the unit of the system. With the pid it identifies the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<u64>,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The lock, held while this value lives. The operating system releases it when the process exits for any reason.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
}

/// The result of trying to take the lock.
#[derive(Debug)]
pub enum LockOutcome {
    Acquired(InstanceLock),
    /// Another process holds the lock, with its information if already written.
    HeldByOther(Option<InstanceInfo>),
}

impl InstanceLock {
    pub fn acquire(path: &Path) -> io::Result<LockOutcome> {
        let file = open(path)?;
        let mut attempts = 0;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(LockOutcome::Acquired(Self { file })),
                // A process that only checks the lock takes it for a moment.
                Err(rustix::io::Errno::WOULDBLOCK) if attempts < ACQUIRE_ATTEMPTS => {
                    attempts += 1;
                    std::thread::sleep(ACQUIRE_INTERVAL);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(LockOutcome::HeldByOther(read(path))),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes information about this process into the lock file. A failure is only logged.
    pub fn write_info(&mut self, holder: &InstanceInfo) {
        let written = serde_json::to_vec(holder).map_err(io::Error::from).and_then(|bytes| {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(&bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write the lock file");
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// What the lock file states about its holder.
pub fn read(path: &Path) -> Option<InstanceInfo> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(4096).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a process holds the lock.
pub fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The lock next to a socket in the runtime directory, used if the state directory is not writable.
pub fn runtime_dir_lock(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}
