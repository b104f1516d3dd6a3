//! Whether what is awaited has happened.
//!
//! Looking costs a system call or two and never blocks, except for a command, which runs until it ends or the time is up.
//! Only who declared a command may look: the resident process never runs one that an agent declared, because it would leave
//! the sandbox of the agent.

use std::process::{Command, Stdio};
use std::time::Duration;

use belay_core::Timestamp;
use belay_core::wait::Awaited;

/// Whether it has happened. A command may run for the time that is `left`.
pub fn is_met(awaited: &Awaited, now: Timestamp, left: Duration) -> bool {
    match awaited {
        Awaited::Time { at } | Awaited::Limit { until: at, .. } => now >= *at,
        // Asks for the name only. Opening a FIFO would block.
        Awaited::File { path } => std::fs::metadata(path).is_ok(),
        Awaited::Command { command, dir } => succeeds(command, dir, left),
        Awaited::Process { pid, started } => !is_running(*pid, *started),
        // Only who holds the lock or lifts the pause knows.
        Awaited::Lock { .. } | Awaited::Pause { .. } => false,
    }
}

/// When to look again if nothing else happens: at its time, or after `poll`.
pub fn next_look(awaited: &Awaited, now: Timestamp, poll: Duration) -> Duration {
    match awaited {
        Awaited::Time { at } | Awaited::Limit { until: at, .. } => {
            at.saturating_since(now).max(Duration::from_millis(1))
        }
        _ => poll,
    }
}

/// The process that has this id now.
pub fn awaited_process(pid: u32) -> Awaited {
    Awaited::Process { pid, started: belay_process::start_time(pid) }
}

/// Runs a command in its own process group, so that a timeout kills its children too.
fn succeeds(command: &str, dir: &str, left: Duration) -> bool {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(dir).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = shell.spawn().and_then(|mut child| belay_process::wait_timeout(&mut child, left));
    ended.is_ok_and(|status| status.is_some_and(|status| status.success()))
}

/// Whether the process runs, and not another one that has its id by now.
fn is_running(pid: u32, started: Option<u64>) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let known = belay_process::start_time(pid);
    if started.is_some() && known.is_some() && started != known {
        return false;
    }
    // It has exited; only its parent has not asked for its status yet.
    if known.is_some() && belay_process::running_since(pid).is_none() {
        return false;
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    match test_kill_process(pid) {
        Ok(()) => true,
        // It exists, but belongs to another user.
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn is_met_now(awaited: &Awaited) -> bool {
        is_met(awaited, Timestamp::UNKNOWN, TIMEOUT)
    }

    fn command(command: &str) -> Awaited {
        Awaited::Command { command: command.to_owned(), dir: "/".to_owned() }
    }

    fn file(path: &std::path::Path) -> Awaited {
        Awaited::File { path: path.display().to_string() }
    }

    #[test]
    fn a_time_is_met_when_it_has_come_and_looked_at_once() {
        let (now, at) = (Timestamp::from_millis(1_000), Timestamp::from_millis(4_000));
        let time = Awaited::Time { at };
        assert!(!is_met(&time, now, TIMEOUT) && is_met(&time, at, TIMEOUT));
        assert_eq!(next_look(&time, now, Duration::from_secs(2)), Duration::from_secs(3));
        assert_eq!(next_look(&command("true"), now, Duration::from_secs(2)), Duration::from_secs(2));
    }

    #[test]
    fn a_file_is_met_when_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("done");
        assert!(!is_met_now(&file(&path)));
        std::os::unix::fs::symlink(dir.path().join("missing"), &path).unwrap();
        assert!(!is_met_now(&file(&path)), "what the link leads to does not exist");
        std::fs::write(dir.path().join("missing"), "").unwrap();
        assert!(is_met_now(&file(&path)));
    }

    #[test]
    fn a_fifo_behind_a_link_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let (fifo, link) = (dir.path().join("fifo"), dir.path().join("link"));
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        assert!(is_met_now(&file(&link)));
    }

    #[test]
    fn a_command_is_met_when_it_succeeds_in_its_directory() {
        assert!(is_met_now(&command("test \"$PWD\" = /")));
        assert!(!is_met_now(&command("false")));
        let elsewhere = Awaited::Command { command: "true".to_owned(), dir: "/missing".to_owned() };
        assert!(!is_met_now(&elsewhere));
    }

    #[test]
    fn a_hanging_command_is_killed_at_the_timeout() {
        assert!(!is_met(&command("sleep 600"), Timestamp::UNKNOWN, Duration::from_millis(20)));
    }

    #[test]
    fn a_zombie_counts_as_exited() {
        let mut child = Command::new("true").spawn().unwrap();
        let condition = awaited_process(child.id());
        // The process is a zombie now. Only Linux distinguishes it from a running one.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), ended).unwrap();
        assert!(cfg!(not(target_os = "linux")) || is_met_now(&condition));
        child.wait().unwrap();
        assert!(is_met_now(&condition));
    }

    #[test]
    fn another_process_with_the_same_id_does_not_count() {
        let own = std::process::id();
        assert!(!is_met_now(&awaited_process(own)));
        assert!(!is_met_now(&Awaited::Process { pid: own, started: None }), "declared without a start time");
        let started = belay_process::start_time(own).map(|ticks| ticks - 1);
        assert_eq!(is_met_now(&Awaited::Process { pid: own, started }), started.is_some());
    }
}
