//! `cargo xtask bench audit`: how fast a history is replayed, beside tools that only add it up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::transcripts;
use crate::shell;

/// The JavaScript one, and a native one; both only add up usage.
const OTHERS: &[&str] = &["17.2.0", "20.0.24"];

/// What we promise: megabytes in a second of one core, and bytes held at most.
const MEGABYTES_PER_CORE: f64 = 300.0;
const MEMORY: u64 = 200_000_000;

/// Runs of each; the quickest counts, since others only ever take time away.
const RUNS: usize = 3;

pub(super) fn run(args: &[String]) -> Result<bool, String> {
    let (keep, args) = match args {
        [args @ .., flag] if flag == "--keep" => (true, args),
        args => (false, args),
    };
    let bytes = match args {
        [] => 1_000_000_000,
        [flag, size] if flag == "--size" => parse(size)?,
        _ => return Err("usage: cargo xtask bench audit [--size 1GB] [--keep]".to_owned()),
    };
    let history = history(bytes)?;
    let met = compare(&history);
    if !keep {
        fs::remove_dir_all(&history).map_err(|e| format!("{}: {e}", history.display()))?;
    }
    met
}

/// Times everybody on the history; whether what we promise holds.
fn compare(history: &Path) -> Result<bool, String> {
    if !shell::run(&mut shell::cargo(&["build", "--release", "--quiet", "-p", "belayer"]))? {
        return Ok(false);
    }
    let belay = shell::root().join("target/release/belay");
    let mut rows = Vec::new();
    for (name, jobs) in [("belay audit, one core", Some("1")), ("belay audit, all cores", None)] {
        let mut command = Command::new(&belay);
        command.arg("audit").arg(history.join("projects")).env("BELAY_HOME", history.join("belay"));
        if let Some(jobs) = jobs {
            command.args(["--jobs", jobs]);
        }
        rows.push((name.to_owned(), best(&mut command)?));
    }
    for version in OTHERS {
        let name = format!("ccusage {version}");
        match ccusage(version) {
            Ok(program) => {
                let mut command = Command::new(program);
                command.args(["daily", "--offline", "--json"]).env("CLAUDE_CONFIG_DIR", history);
                match best(&mut command) {
                    Ok(cost) => rows.push((name, cost)),
                    Err(why) => println!("{name} is left out: {why}"),
                }
            }
            Err(why) => println!("{name} is left out: {why}"),
        }
    }
    let bytes = size_of(&history.join("projects"));
    print(&rows, bytes);
    let ours = rows[0].1;
    Ok(ours.speed(bytes) >= MEGABYTES_PER_CORE && rows[..2].iter().all(|(_, cost)| cost.memory < MEMORY))
}

/// `500MB`, `1GB`.
fn parse(size: &str) -> Result<u64, String> {
    let upper = size.to_ascii_uppercase();
    let (number, unit) = match (upper.strip_suffix("GB"), upper.strip_suffix("MB")) {
        (Some(number), _) => (number, 1_000_000_000),
        (_, Some(number)) => (number, 1_000_000),
        _ => (upper.as_str(), 1),
    };
    number
        .trim()
        .parse::<u64>()
        .map(|number| number * unit)
        .map_err(|_| format!("{size} is no size; write 1GB or 300MB"))
}

/// A generated history of that size, made once.
fn history(bytes: u64) -> Result<PathBuf, String> {
    let folder = shell::root().join("target/bench").join(format!("history-{bytes}"));
    let whole = folder.join("whole");
    if !whole.exists() {
        let _ = fs::remove_dir_all(&folder);
        let (written, sessions) =
            transcripts::generate(&folder, bytes).map_err(|e| format!("{}: {e}", folder.display()))?;
        println!("made {sessions} sessions, {} MB, in {}", written / 1_000_000, folder.display());
        fs::write(&whole, "").map_err(|e| e.to_string())?;
    }
    Ok(folder)
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(
            |entry| {
                if entry.path().is_dir() { size_of(&entry.path()) } else { entry.metadata().map_or(0, |m| m.len()) }
            },
        )
        .sum()
}

/// One version of ccusage, installed once into the user's cache.
fn ccusage(version: &str) -> Result<PathBuf, String> {
    let home = std::env::home_dir().ok_or("there is no home folder")?;
    let folder = home.join(".cache/belay-bench").join(format!("ccusage-{version}"));
    let program = folder.join("node_modules/.bin/ccusage");
    if !program.exists() {
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--prefix"]).arg(&folder).arg(format!("ccusage@{version}"));
        if !shell::run(&mut npm)? || !program.exists() {
            return Err("npm could not install it".to_owned());
        }
    }
    Ok(program)
}

#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Time on all cores together; zero where it cannot be told.
    cpu: Duration,
    /// Peak resident memory in bytes; 0 where it cannot be told.
    memory: u64,
}

impl Cost {
    /// Megabytes in a second of one core.
    fn speed(&self, bytes: u64) -> f64 {
        bytes as f64 / 1e6 / if self.cpu.is_zero() { self.wall } else { self.cpu }.as_secs_f64()
    }
}

fn best(command: &mut Command) -> Result<Cost, String> {
    let mut best: Option<Cost> = None;
    for _ in 0..RUNS {
        let cost = measure(command)?;
        best = Some(best.map_or(cost, |so_far| Cost {
            wall: so_far.wall.min(cost.wall),
            cpu: so_far.cpu.min(cost.cpu),
            memory: so_far.memory.max(cost.memory),
        }));
    }
    best.ok_or_else(|| "nothing was run".to_owned())
}

fn measure(command: &mut Command) -> Result<Cost, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (begin, spent) = (Instant::now(), spent_by_children());
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|e| format!("{name} could not be started: {e}"))?;
    let mut memory = 0;
    let status = loop {
        memory = memory.max(peak(child.id()));
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let wall = begin.elapsed();
    let cpu = spent_by_children().saturating_sub(spent);
    if status.success() { Ok(Cost { wall, cpu, memory }) } else { Err(format!("{name} ended with {status}")) }
}

/// Time on all cores of the processes we have waited for, where the system tells.
fn spent_by_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything; user and system time are counted from behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(13).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Peak memory of a process so far, where the system tells.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes * 1024)
}

fn print(rows: &[(String, Cost)], bytes: u64) {
    println!("\n{} MB of Claude Code transcripts\n", bytes / 1_000_000);
    println!(
        "{:<26}{:>9}{:>13}{:>8}{:>16}{:>14}",
        "", "seconds", "CPU seconds", "MB/s", "MB/s and core", "peak memory"
    );
    for (name, cost) in rows {
        let (wall, cpu) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
        let speed = bytes as f64 / 1e6 / wall;
        println!(
            "{name:<26}{wall:>9.2}{cpu:>13.2}{speed:>8.0}{:>16.0}{:>11} MB",
            cost.speed(bytes),
            cost.memory / 1_000_000
        );
    }
    println!("\nThe bar: {MEGABYTES_PER_CORE:.0} MB/s and core, {} MB at most.", MEMORY / 1_000_000);
    if let (Some((_, ours)), Some((name, theirs))) = (rows.first(), rows.get(2)) {
        let times = |ours: Duration, theirs: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
        println!(
            "On one core {:.1} times as fast as {name} by the clock, {:.1} times by CPU time; the bar is 5.",
            times(ours.wall, theirs.wall),
            times(ours.cpu, theirs.cpu)
        );
    }
}
