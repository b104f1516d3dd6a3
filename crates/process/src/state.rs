//! Whether an agent's process is alive.

use belay_core::Timestamp;
use belay_core::status::{Phase, PhaseRecord, ProcessState};

/// The process of a session. A process that started after the session's last event has taken over the id.
pub fn process_state(pid: Option<u32>, last_at: Timestamp) -> ProcessState {
    let Some(pid) = pid else { return ProcessState::Unknown };
    match started_at(pid) {
        Started::At(start) if start.millis() > last_at.millis().saturating_add(TOLERANCE_MILLIS) => ProcessState::Gone,
        Started::At(_) | Started::SomeTime => ProcessState::Alive,
        Started::NotRunning => ProcessState::Gone,
    }
}

/// Start times are exact to a clock tick; the clock may have been adjusted since.
const TOLERANCE_MILLIS: i64 = 2_000;

enum Started {
    At(Timestamp),
    /// It runs; the system does not tell since when.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux tells the start time"))]
    SomeTime,
    NotRunning,
}

/// Start of the oldest child of the agent that began after an open permission prompt did; see
/// [`Observation::child_since`](belay_core::status::Observation). Hooks are not counted.
pub fn child_since(phase: &PhaseRecord, pid: Option<u32>) -> Option<Timestamp> {
    match phase.phase {
        Phase::Permission { .. } => children(pid?).into_iter().filter(|start| *start > phase.since).min(),
        _ => None,
    }
}

/// Start times of the direct children that are not hooks.
#[cfg(target_os = "linux")]
fn children(pid: u32) -> Vec<Timestamp> {
    use crate::start_time;
    let Some(boot) = boot_time() else { return Vec::new() };
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    // Each thread lists the children that it started.
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let ids: Vec<u32> =
        lists.flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>()).collect();
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let others = ids.into_iter().filter(|pid| name(*pid).trim_end() != "belay");
    others.filter_map(|pid| Some(after_boot(boot, start_time(pid)?))).collect()
}

/// Other systems do not tell cheaply.
#[cfg(not(target_os = "linux"))]
fn children(_pid: u32) -> Vec<Timestamp> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn started_at(pid: u32) -> Started {
    use crate::start_time;
    let Some(ticks) = start_time(pid) else { return Started::NotRunning };
    Started::At(after_boot(boot_time().unwrap_or_default(), ticks))
}

/// When the system started. `btime` in `/proc/stat` is exact to a second only.
#[cfg(target_os = "linux")]
fn boot_time() -> Option<Timestamp> {
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = uptime.split_whitespace().next()?.split_once('.')?;
    let up = seconds.parse::<i64>().ok()? * 1_000 + hundredths.parse::<i64>().ok()? * 10;
    Some(Timestamp::from_millis(belay_clock::now().millis() - up))
}

#[cfg(target_os = "linux")]
fn after_boot(boot: Timestamp, ticks: u64) -> Timestamp {
    // USER_HZ is 100 on every architecture that Linux supports today.
    let since_boot = i64::try_from(ticks.saturating_mul(10)).unwrap_or(i64::MAX);
    Timestamp::from_millis(boot.millis().saturating_add(since_boot))
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_new_child_of_an_agent_that_asked_is_found() {
        let before = Timestamp::from_millis(belay_clock::now().millis() - 20);
        let permission = Phase::Permission { what: String::new(), call: None, is_command: true };
        let asked = |since| PhaseRecord { phase: permission.clone(), since, ..PhaseRecord::default() };
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let own = Some(std::process::id());
        let found = child_since(&asked(before), own).expect("a child");
        assert!(found > before && found.millis() <= belay_clock::now().millis() + 20, "{found:?}");
        let later = Timestamp::from_millis(belay_clock::now().millis() + 1_000);
        assert_eq!(child_since(&asked(later), own), None, "it ran before the agent asked");
        assert_eq!(child_since(&PhaseRecord::default(), own), None, "nothing is asked");
        child.kill().expect("a signal");
        child.wait().expect("an exit");
    }

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
