//! Child processes with a timeout.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Longest interval between two checks of a child.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits for a child; `None` after a timeout. The child is then killed, with its process group if it leads one.
pub fn wait_timeout(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if !left.is_zero() => std::thread::sleep(pause.min(left)),
            late => {
                // It may exit by itself at this moment, or may not lead a process group.
                let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                let _ = child.kill();
                let _ = child.wait();
                return late;
            }
        }
        pause = (pause * 2).min(MAX_POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn one_that_ends_tells_how() {
        let mut child = Command::new("false").spawn().expect("a process");
        let status = wait_timeout(&mut child, Duration::from_secs(60)).expect("an answer").expect("in time");
        assert_eq!(status.code(), Some(1));
    }

    #[test]
    fn one_that_hangs_is_killed_with_what_it_started() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "tail -f /dev/null & echo $!; wait"]).process_group(0).stdout(Stdio::piped());
        let mut child = shell.spawn().expect("a process");
        assert_eq!(wait_timeout(&mut child, Duration::from_millis(20)).expect("an answer"), None);
        // The pipe closes when no process holds it.
        let mut said = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut said).expect("its end");
        assert!(child.try_wait().expect("an answer").is_some(), "{said}");
    }
}
