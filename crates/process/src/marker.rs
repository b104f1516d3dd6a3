//! Finds every process that a command has started, also after a crash of the one that started it.
//!
//! The command, and everything it starts, keeps a file open. Linux tells who has a file open, so that processes are
//! found that left the process group, by this process or by the next one. On other systems nothing is found.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::Signal;

use crate::tree::ProcessTree;

/// Shell scripts use small descriptors and would close an inherited one.
const MIN_INHERITED_FD: i32 = 200;
/// Time that processes have between the request to exit and the kill.
const GRACE: Duration = Duration::from_secs(2);
/// Time that killed processes have to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often they are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The file that a command keeps open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMarker(PathBuf);

impl ProcessMarker {
    /// A marker at this path, which exists or will be created by [`ProcessMarker::attach`].
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the command, and what it starts, keep the file open.
    ///
    /// The child creates and opens it itself. If this process had it open, however briefly, then any other child that a
    /// thread starts at this moment would have it as well until it executes its program, and would be taken for a part of
    /// this command.
    pub fn attach(&self, command: &mut Command) -> io::Result<()> {
        let path = CString::new(self.0.as_os_str().as_bytes())?;
        let open = move || {
            let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::CLOEXEC;
            let file = rustix::fs::open(path.as_c_str(), flags, Mode::RUSR | Mode::WUSR)?;
            let inherited = fcntl_dupfd_cloexec(&file, MIN_INHERITED_FD)?;
            fcntl_setfd(&inherited, FdFlags::empty())?;
            // Open until the last process that inherits it has ended.
            std::mem::forget(inherited);
            Ok(())
        };
        #[expect(unsafe_code, reason = "makes system calls only, which is safe between fork and exec")]
        unsafe {
            command.pre_exec(open);
        }
        Ok(())
    }

    /// Whether a process has the file open.
    pub fn has_processes(&self) -> bool {
        ProcessTree::new(None, &self.0).is_alive()
    }

    /// Ends every process that has the file open. Returns whether none is left.
    pub fn end_processes(&self) -> bool {
        let tree = ProcessTree::new(None, &self.0);
        let kill_at = Instant::now() + GRACE;
        if tree.is_alive() {
            tree.signal(Signal::TERM);
        }
        while tree.is_alive() {
            if Instant::now() >= kill_at + KILL_TIMEOUT {
                return false;
            }
            if Instant::now() >= kill_at {
                // New ones may have been started since the last look.
                tree.signal(Signal::KILL);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn processes_are_found_and_ended_although_nobody_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let marker = ProcessMarker::new(dir.path().join("marker"));
        let mut command = Command::new("sh");
        // Leaves its session, ignores the request to exit, and outlives its parent.
        command.arg("-c").arg("setsid sh -c 'trap \"\" TERM; echo started; tail -f /dev/null & wait' & exit");
        command.stdout(Stdio::piped());
        marker.attach(&mut command).unwrap();
        let mut child = command.spawn().unwrap();
        let mut started = [0; 8];
        child.stdout.as_mut().unwrap().read_exact(&mut started).unwrap();
        child.wait().unwrap();
        let tree = ProcessTree::new(None, marker.path());
        assert!(tree.is_alive(), "the grandchild still runs");
        assert!(marker.end_processes());
        assert!(!tree.is_alive());
        assert!(marker.end_processes(), "there is nothing left to end");
    }
}
