//! `cargo xtask bench audit`: the speed of replaying a history, compared with tools that only sum it up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::transcripts;
use crate::shell;

/// Versions of ccusage: a JavaScript one and a native one. Both only sum up usage.
const CCUSAGE_VERSIONS: &[&str] = &["17.2.0", "20.0.24"];

/// The targets: megabytes per second and core, and peak memory in bytes.
const MIN_MEGABYTES_PER_SECOND: f64 = 300.0;
const MAX_MEMORY: u64 = 200_000_000;

/// Runs per program. The fastest counts: other load only ever adds time.
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

/// Times every program on the history. Returns whether Belay meets its targets.
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
    for version in CCUSAGE_VERSIONS {
        let name = format!("ccusage {version}");
        match ccusage(version) {
            Ok(program) => {
                let mut command = Command::new(program);
                command.args(["daily", "--offline", "--json"]).env("CLAUDE_CONFIG_DIR", history);
                match best(&mut command) {
                    Ok(cost) => rows.push((name, cost)),
                    Err(why) => println!("{name} is skipped: {why}"),
                }
            }
            Err(why) => println!("{name} is skipped: {why}"),
        }
    }
    let bytes = size_of(&history.join("projects"));
    print(&rows, bytes);
    let ours = rows[0].1;
    Ok(ours.speed(bytes) >= MIN_MEGABYTES_PER_SECOND && rows[..2].iter().all(|(_, cost)| cost.memory < MAX_MEMORY))
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
        .map_err(|_| format!("invalid size `{size}`; use 1GB or 300MB"))
}

/// A generated history of that size, created once.
fn history(bytes: u64) -> Result<PathBuf, String> {
    let dir = shell::root().join("target/bench").join(format!("history-{bytes}"));
    let complete = dir.join("complete");
    if !complete.exists() {
        let _ = fs::remove_dir_all(&dir);
        let (written, sessions) = transcripts::generate(&dir, bytes).map_err(|e| format!("{}: {e}", dir.display()))?;
        println!("generated {sessions} sessions, {} MB, in {}", written / 1_000_000, dir.display());
        fs::write(&complete, "").map_err(|e| e.to_string())?;
    }
    Ok(dir)
}

fn size_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
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
    let home = std::env::home_dir().ok_or("no home directory")?;
    let dir = home.join(".cache/belay-bench").join(format!("ccusage-{version}"));
    let program = dir.join("node_modules/.bin/ccusage");
    if !program.exists() {
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--prefix"]).arg(&dir).arg(format!("ccusage@{version}"));
        if !shell::run(&mut npm)? || !program.exists() {
            return Err("npm cannot install it".to_owned());
        }
    }
    Ok(program)
}

#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// CPU time of all cores; zero where the system does not report it.
    cpu: Duration,
    /// Peak resident memory in bytes; 0 where the system does not report it.
    memory: u64,
}

impl Cost {
    /// Megabytes per second of one core.
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
    best.ok_or_else(|| "no run".to_owned())
}

fn measure(command: &mut Command) -> Result<Cost, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (begin, spent) = (Instant::now(), children_cpu_time());
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|e| format!("cannot start {name}: {e}"))?;
    let mut memory = 0;
    let status = loop {
        memory = memory.max(peak_memory(child.id()));
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let wall = begin.elapsed();
    let cpu = children_cpu_time().saturating_sub(spent);
    if status.success() { Ok(Cost { wall, cpu, memory }) } else { Err(format!("{name} exited with {status}")) }
}

/// CPU time of the processes that were waited for, where the system reports it.
fn children_cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may contain anything; user and system time are found by their position after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(13).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Peak memory of a process so far, where the system reports it.
fn peak_memory(pid: u32) -> u64 {
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
    println!("\nThe bar: {MIN_MEGABYTES_PER_SECOND:.0} MB/s and core, {} MB at most.", MAX_MEMORY / 1_000_000);
    if let (Some((_, ours)), Some((name, theirs))) = (rows.first(), rows.get(2)) {
        let times = |ours: Duration, theirs: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
        println!(
            "On one core {:.1} times as fast as {name} by the clock, {:.1} times by CPU time; the bar is 5.",
            times(ours.wall, theirs.wall),
            times(ours.cpu, theirs.cpu)
        );
    }
}
