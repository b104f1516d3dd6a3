//! How much memory large hook payloads take: the resident process during and after a load, and a hook process with a
//! huge payload. Prints a table. Linux only, because it reads `/proc`.
//!
//!     cargo bench -p belayer --bench memory

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};

const BELAY: &str = env!("CARGO_BIN_EXE_belay");

/// Unit of CPU times in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Targets: the resident process after and during any load of hooks, and a hook process with a huge payload.
const MAX_AFTER_MB: f64 = 64.0;
const MAX_DURING_MB: f64 = 150.0;
const MAX_HOOK_MB: f64 = 130.0;
const MAX_HOOK_CPU_MS: f64 = 200.0;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let mut ok = true;
    println!("{:<48} {:>9} {:>9} {:>9}", "resident process", "before MB", "peak MB", "after MB");
    for (name, count, objects, concurrent) in [
        ("10 MCP results of 3.2 MB, one by one", 10, 65_000, false),
        ("8 MCP results of 5.7 MB at once", 8, 115_000, true),
        ("64 MCP results of 5.7 MB at once", 64, 115_000, true),
        ("1 MCP result of 57 MB", 1, 1_150_000, false),
    ] {
        let home = dir.path().join(format!("{count}-{objects}"));
        let server = Server::start(&home);
        let payload = payload(dir.path(), objects);
        let before = server.rss("VmRSS");
        let mut hooks: Vec<Child> = Vec::new();
        for _ in 0..count {
            hooks.push(hook(&home, &payload));
            if !concurrent {
                hooks.drain(..).for_each(finish);
            }
        }
        hooks.into_iter().for_each(finish);
        let (peak, after) = (server.rss("VmHWM"), server.rss("VmRSS"));
        println!("{name:<48} {before:>9.1} {peak:>9.1} {after:>9.1}");
        ok &= peak <= MAX_DURING_MB && after <= MAX_AFTER_MB;
    }
    println!("(targets: peak {MAX_DURING_MB}, after {MAX_AFTER_MB})\n");
    println!("{:<48} {:>9} {:>9} {:>9}", "hook process", "CPU ms", "wall ms", "peak MB");
    for (name, objects) in [("MCP result of 3.2 MB", 65_000), ("MCP result of 57 MB", 1_150_000)] {
        let home = dir.path().join("hook");
        let _server = Server::start(&home);
        let payload = payload(dir.path(), objects);
        let (cpu, wall, peak) = measure(hook(&home, &payload));
        println!("{name:<48} {cpu:>9.0} {wall:>9.0} {peak:>9.1}");
        ok &= cpu <= MAX_HOOK_CPU_MS && peak <= MAX_HOOK_MB;
    }
    println!("(targets: CPU {MAX_HOOK_CPU_MS}, peak {MAX_HOOK_MB})");
    assert!(ok, "a target is missed");
}

/// A `PostToolUse` payload of Claude Code with this many small objects, in a file.
fn payload(dir: &Path, objects: usize) -> PathBuf {
    let path = dir.join(format!("payload-{objects}"));
    let items: Vec<String> =
        (0..objects).map(|n| format!("{{\"id\":{n},\"name\":\"item {n}\",\"ok\":true}}")).collect();
    let text = format!(
        "{{\"session_id\":\"s\",\"hook_event_name\":\"PostToolUse\",\"cwd\":\"/\",\"tool_name\":\"mcp__db__query\",\
         \"tool_use_id\":\"t\",\"tool_input\":{{\"q\":1}},\"tool_response\":{{\"structuredContent\":[{}]}}}}",
        items.join(",")
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn hook(home: &Path, payload: &Path) -> Child {
    let mut command = Command::new(BELAY);
    command.args(["hook", "claude-code", "--home"]).arg(home);
    command.stdin(Stdio::from(File::open(payload).unwrap())).stdout(Stdio::null()).spawn().unwrap()
}

fn finish(mut hook: Child) {
    assert!(hook.wait().unwrap().success());
}

/// CPU time and wall time in milliseconds, and the peak memory in MB.
fn measure(mut child: Child) -> (f64, f64, f64) {
    let start = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    // Its figures stay readable until it is reaped, but its memory is gone: read that while it runs.
    let mut peak: f64 = 0.0;
    while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
        .unwrap()
        .is_none()
    {
        peak = peak.max(memory(child.id(), "VmHWM"));
        std::thread::sleep(Duration::from_millis(1));
    }
    let wall = start.elapsed().as_secs_f64() * 1e3;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    assert!(child.wait().unwrap().success());
    (ticks * 1e3 / TICKS_PER_SECOND, wall, peak)
}

/// A line of `/proc/PID/status`, in MB.
fn memory(pid: u32, line: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let value = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'));
    let kb = value.and_then(|value| value.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}

struct Server(Child);

impl Server {
    fn start(home: &Path) -> Self {
        let mut serve = Command::new(BELAY);
        serve.args(["serve", "--no-http", "--json", "--home"]).arg(home);
        let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self(server)
    }

    fn rss(&self, line: &str) -> f64 {
        memory(self.0.id(), line)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
