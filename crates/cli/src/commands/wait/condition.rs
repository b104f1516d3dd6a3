//! The conditions of a wait, as the command line names them.

use std::path::PathBuf;
use std::time::Duration;

use belay_config::DurationSetting;
use belay_core::Timestamp;
use belay_core::wait::Awaited;
use belay_tasks::wait;

use super::WaitArgs;
use crate::error::CommandError;

/// A condition and how it reads: "build/done exists".
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) awaited: Awaited,
    pub(super) text: String,
}

impl Condition {
    /// All conditions of the command line. Files and commands are relative to the current directory.
    pub(super) fn parse_all(args: &WaitArgs, now: Timestamp) -> Result<Vec<Self>, CommandError> {
        let mut all = Vec::new();
        let mut add = |awaited, text| all.push(Self { awaited, text });
        if let Some(text) = &args.until {
            let at = time(text, now).ok_or_else(|| {
                CommandError::usage(format!("--until {text}: invalid time"))
                    .hint("use 14:30, 2026-11-16T09:00:00Z, or 10m")
            })?;
            add(Awaited::Time { at }, format!("it is {}", crate::format::local_time(at)));
        }
        for file in &args.for_file {
            let path = utf8(current_dir()?.join(file))?;
            add(Awaited::File { path }, format!("{} exists", file.display()));
        }
        for command in &args.for_command {
            let dir = utf8(current_dir()?)?;
            add(Awaited::Command { command: command.clone(), dir }, format!("`{command}` succeeds"));
        }
        for pid in &args.for_pid {
            add(wait::awaited_process(*pid), format!("process {pid} has exited"));
        }
        Ok(all)
    }

    /// Whether it is met now. A command may run for the remaining time.
    pub(super) fn is_met(&self, now: Timestamp, left: Duration) -> bool {
        wait::is_met(&self.awaited, now, left)
    }
}

fn current_dir() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::new(format!("cannot find the current directory: {error}")).hint("run the command in another one")
    })
}

/// A condition is recorded as text. Another name than the one that was given would be awaited in vain.
fn utf8(path: PathBuf) -> Result<String, CommandError> {
    path.into_os_string().into_string().map_err(|path| {
        CommandError::usage(format!("the path is not UTF-8: {}", path.display())).hint("wait for a path that is")
    })
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
}
