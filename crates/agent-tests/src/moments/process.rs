//! The process table, as far as a recording needs it.

use std::fs;
use std::time::Duration;

use super::recording::ProcessSight;

/// Fields of `/proc/PID/stat` after the name, which is in parentheses.
fn stat(pid: u32) -> Option<(String, Vec<String>)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    Some((name.to_owned(), rest.split_whitespace().map(str::to_owned).collect()))
}

/// When the system started, in milliseconds since the epoch.
fn boot_time() -> Option<i64> {
    let uptime: f64 = fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    let up = i64::try_from(Duration::from_secs_f64(uptime).as_millis()).ok()?;
    Some(belay_clock::now().millis() - up)
}

/// Looks at the agent's process and its children.
pub(super) fn sight(pid: Option<u32>) -> ProcessSight {
    let Some(pid) = pid else { return ProcessSight { state: "unknown", children: Vec::new() } };
    let alive = stat(pid).is_some_and(|(_, fields)| fields.first().is_some_and(|state| state != "Z"));
    if !alive {
        return ProcessSight { state: "gone", children: Vec::new() };
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let children = ids
        .filter_map(stat)
        .filter(|(name, fields)| name != "belay" && fields.get(1).and_then(|parent| parent.parse().ok()) == Some(pid));
    let boot = boot_time().unwrap_or(0);
    let mut starts: Vec<i64> =
        children.filter_map(|(_, fields)| Some(boot + fields.get(19)?.parse::<i64>().ok()? * 10)).collect();
    starts.sort_unstable();
    ProcessSight { state: "alive", children: starts }
}
