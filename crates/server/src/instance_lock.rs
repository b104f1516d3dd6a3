//! One resident process per state folder.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// What the lock file says about its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceInfo {
    pub pid: u32,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The lock, held as long as this lives: the system lets go of it however the process ends.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
}

/// How trying for the lock ended.
#[derive(Debug)]
pub enum LockOutcome {
    Acquired(InstanceLock),
    /// Somebody else serves; what it says about itself, if it has said so yet.
    HeldByOther(Option<InstanceInfo>),
}

impl InstanceLock {
    pub fn acquire(path: &Path) -> io::Result<LockOutcome> {
        let file = open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(LockOutcome::Acquired(Self { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(LockOutcome::HeldByOther(read(path))),
            Err(error) => Err(error.into()),
        }
    }

    /// Leaves a note for those who come second. A full disk is no reason not to serve.
    pub fn write_info(&mut self, holder: &InstanceInfo) {
        let written = serde_json::to_vec(holder).map_err(io::Error::from).and_then(|bytes| {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(&bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "the lock file cannot be written");
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn read(path: &Path) -> Option<InstanceInfo> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(4096).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether somebody holds the lock at present.
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

/// Where the lock of a socket is when the state folder cannot be written.
pub fn runtime_dir_lock(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}
