//! Ends a resident process that does not answer.

use std::io;
use std::path::Path;

use belay_config::Paths;
use belay_process::start_time;
use rustix::process::{Pid, Signal};
use serde::Deserialize;

/// The holder of the instance lock, as it describes itself.
#[derive(Debug, Deserialize)]
struct LockHolder {
    pid: i32,
    /// When it started, in the unit of the system. Identifies the process if its id is used again.
    #[serde(default)]
    start_time: Option<u64>,
}

/// Kills the resident process of this state directory. Everything it has acknowledged is stored. Nothing happens if it
/// is gone.
pub(super) fn kill(paths: &Paths) -> io::Result<()> {
    match lock_holder(&paths.lock())? {
        Some(holder) => kill_process(&holder),
        None => Ok(()),
    }
}

/// The process that holds the lock now, if any. Only this user can write the file.
fn lock_holder(lock: &Path) -> io::Result<Option<LockHolder>> {
    if !belay_hooks::daemon_autostart::is_lock_held(lock)? {
        return Ok(None);
    }
    let text = std::fs::read(lock)?;
    let holder = serde_json::from_slice(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some(holder))
}

#[cfg(target_os = "linux")]
fn kill_process(holder: &LockHolder) -> io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(holder.pid) else { return Ok(()) };
    // From here on the descriptor refers to one process; its start time shows whether it is the right one.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let started = u32::try_from(holder.pid).ok().and_then(start_time);
    match started.is_some() && started == holder.start_time {
        true => Ok(pidfd_send_signal(process, Signal::KILL)?),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_process(holder: &LockHolder) -> io::Result<()> {
    // The lock is held, so the process that wrote its id into the file has not exited.
    let Some(pid) = Pid::from_raw(holder.pid) else { return Ok(()) };
    Ok(rustix::process::kill_process(pid, Signal::KILL)?)
}
