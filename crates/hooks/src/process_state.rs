//! Whether an agent's process is alive.

use belay_core::Timestamp;
use belay_core::status::ProcessState;

/// The process of a session. A process that started after the session's last event has taken over the id.
pub fn process_state(pid: Option<u32>, last_at: Timestamp) -> ProcessState {
    let Some(pid) = pid else { return ProcessState::Unknown };
    match started_at(pid) {
        Started::At(start) if start.millis() > last_at.millis().saturating_add(TOLERANCE_MILLIS) => ProcessState::Gone,
        Started::At(_) | Started::SomeTime => ProcessState::Alive,
        Started::NotRunning => ProcessState::Gone,
    }
}

/// Start times are exact to a clock tick, and the boot time to a second.
const TOLERANCE_MILLIS: i64 = 2_000;

enum Started {
    At(Timestamp),
    /// It runs; the system does not tell since when.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux tells the start time"))]
    SomeTime,
    NotRunning,
}

#[cfg(target_os = "linux")]
fn started_at(pid: u32) -> Started {
    use crate::local_facts::process::start_time;
    let Some(ticks) = start_time(pid) else { return Started::NotRunning };
    let boot = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<i64>().ok()).unwrap_or(0);
    // USER_HZ is 100 on every architecture that Linux supports today.
    let since_boot = i64::try_from(ticks.saturating_mul(10)).unwrap_or(i64::MAX);
    Started::At(Timestamp::from_millis(boot.saturating_mul(1_000).saturating_add(since_boot)))
}

#[cfg(not(target_os = "linux"))]
fn started_at(pid: u32) -> Started {
    use rustix::process::{Pid, test_kill_process};
    let found = i32::try_from(pid).ok().and_then(Pid::from_raw).map(test_kill_process);
    match found {
        // A process of another user cannot be signalled, but it runs.
        Some(Ok(())) | Some(Err(rustix::io::Errno::PERM)) => Started::SomeTime,
        _ => Started::NotRunning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_gone_or_another() {
        let now = belay_clock::now();
        let own = std::process::id();
        assert_eq!(process_state(None, now), ProcessState::Unknown);
        assert_eq!(process_state(Some(own), now), ProcessState::Alive);
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let pid = child.id();
        child.wait().expect("an exit");
        assert_eq!(process_state(Some(pid), now), ProcessState::Gone);
        #[cfg(target_os = "linux")]
        assert_eq!(process_state(Some(own), Timestamp::from_millis(1_000)), ProcessState::Gone, "the id was reused");
    }
}
