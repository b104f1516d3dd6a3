//! Everything that a run has started and that is still alive.
//!
//! Most of it is in the agent's process group. A process that left it (`setsid`, a double fork) still holds the run's
//! lock, which it inherited; Linux tells who has a file open.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// A process group, and the processes that have a file open.
#[derive(Debug)]
pub struct ProcessTree {
    group: Option<Pid>,
    lock: PathBuf,
}

impl ProcessTree {
    pub fn new(group: Option<Pid>, lock: &Path) -> Self {
        // Links to open files name the real path.
        Self { group, lock: lock.canonicalize().unwrap_or_else(|_| lock.to_path_buf()) }
    }

    /// Whether a process of the group, or one that has the file open, is left.
    pub fn is_alive(&self) -> bool {
        self.group.is_some_and(|group| test_kill_process_group(group).is_ok()) || !self.holders().is_empty()
    }

    /// Sends a signal to each of them.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
        for pid in self.holders() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Other processes that have the lock open.
    #[cfg(target_os = "linux")]
    fn holders(&self) -> Vec<Pid> {
        let own = i32::try_from(std::process::id()).ok();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| Some(*pid) != own && self.is_held_by(*pid)).filter_map(Pid::from_raw).collect()
    }

    #[cfg(target_os = "linux")]
    fn is_held_by(&self, pid: i32) -> bool {
        // Not readable: a process of another user, which cannot have inherited the lock.
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file == self.lock)
    }

    /// Without a way to ask, only the process group is known.
    #[cfg(not(target_os = "linux"))]
    fn holders(&self) -> Vec<Pid> {
        let _ = &self.lock;
        Vec::new()
    }
}
