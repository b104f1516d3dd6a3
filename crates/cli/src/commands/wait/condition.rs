//! Conditions of a wait.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_config::DurationSetting;
use belay_core::Timestamp;
use belay_process::wait_timeout;
use rustix::process::Pid;

#[derive(Debug)]
pub(super) enum Condition {
    Time(Timestamp),
    File(PathBuf),
    Command(String),
    Process(u32),
}

impl Condition {
    /// Whether it is met now. A command may run for the remaining time.
    pub(super) fn is_met(&self, now: Timestamp, left: Duration) -> bool {
        match self {
            Self::Time(until) => now >= *until,
            Self::File(path) => path.exists(),
            Self::Command(command) => succeeds(command, left),
            Self::Process(pid) => !is_alive(*pid),
        }
    }

    /// Time until it is met, if that is known.
    pub(super) fn due_in(&self, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Time(until) => Some(until.saturating_since(now).max(Duration::from_millis(1))),
            _ => None,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Time(until) => format!("it is {}", crate::format::local_time(*until)),
            Self::File(path) => format!("{} exists", path.display()),
            Self::Command(command) => format!("`{command}` succeeds"),
            Self::Process(pid) => format!("process {pid} has exited"),
        }
    }
}

/// Runs a command in its own process group, so that a timeout kills its children too.
fn succeeds(command: &str, left: Duration) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let ended = shell.spawn().and_then(|mut child| wait_timeout(&mut child, left));
    ended.is_ok_and(|status| status.is_some_and(|status| status.success()))
}

fn is_alive(pid: u32) -> bool {
    // A zombie has exited; only its parent has not reaped it yet.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])) {
        return false;
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        // It exists, but belongs to another user.
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

/// Parses RFC 3339, a time of day (today, or tomorrow if it has passed), or a duration from now.
pub(super) fn time(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(span) = text.parse::<DurationSetting>() {
        return span.get().map(|span| now + span);
    }
    if let Ok(clock) = text.parse::<jiff::civil::Time>() {
        let here = jiff::Timestamp::from_millisecond(now.millis()).ok()?.to_zoned(jiff::tz::TimeZone::system());
        let today = here.with().time(clock).build().ok()?;
        let next = if today <= here { today.tomorrow().ok()?.with().time(clock).build().ok()? } else { today };
        return Some(Timestamp::from_millis(next.timestamp().as_millisecond()));
    }
    Timestamp::parse(text)
}

#[cfg(test)]
mod tests {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn parses_times_of_day_timestamps_and_durations() {
        let now = Timestamp::parse("2026-11-15T18:00:00Z").expect("a time");
        assert_eq!(time("90s", now), Some(now + Duration::from_secs(90)));
        assert_eq!(time("2026-11-15T18:00:05Z", now), Some(now + Duration::from_secs(5)));
        let clock = time("14:30", now).expect("a time");
        assert!(clock > now && clock <= now + Duration::from_secs(25 * 3600), "{clock}");
        assert_eq!(time("soon", now), None);
    }

    const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn a_hanging_command_is_killed_at_the_timeout() {
        assert!(!Condition::Command("sleep 600".into()).is_met(Timestamp::UNKNOWN, Duration::from_millis(20)));
    }

    #[test]
    fn a_zombie_counts_as_exited() {
        let mut child = Command::new("true").spawn().expect("a process");
        let condition = Condition::Process(child.id());
        // The process is a zombie now. Only Linux distinguishes it from a running one.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), ended).expect("an end");
        assert!(cfg!(not(target_os = "linux")) || condition.is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
        child.wait().expect("an end");
        assert!(condition.is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
    }

    #[test]
    fn conditions_are_met() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = Condition::File(dir.path().join("x"));
        assert!(!file.is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
        std::fs::write(dir.path().join("x"), "").expect("a file");
        assert!(file.is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
        assert!(Condition::Command("true".into()).is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
        assert!(!Condition::Command("false".into()).is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
        assert!(!Condition::Process(std::process::id()).is_met(Timestamp::UNKNOWN, COMMAND_TIMEOUT));
    }
}
