//! Measures the cost of a hook: the real binary, started as an agent starts it, compared with the cheapest process.
//! Prints a table.
//!
//!     cargo bench -p belayer --bench hook [-- RUNS]
//!
//! All candidates alternate within one run, so that other load affects all of them; compare ratios within one run.

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

use serde_json::{Value, json};

const BELAY: &str = env!("CARGO_BIN_EXE_belay");

fn main() {
    let runs = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(300);
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path());
    println!("{runs} runs of each, alternating; payloads of Claude Code (an edit, about 0.5 and 2.4 kB)\n");
    println!("{:<52} {:>8} {:>8} {:>8}", "", "p50 ms", "p90 ms", "p99 ms");
    let [bare, pre, post, alone] = bench.in_turn(runs);
    row("sh -c true", &bare);
    row("hook before a tool, resident process", &pre);
    row("hook after a tool, resident process", &post);
    row("hook before a tool, no resident process", &alone);
    let shells = in_parallel(runs, |_| shell());
    row("sh -c true, four concurrent", &shells);
    let parallel = in_parallel(runs, |number| {
        let payload = bench.payload("PreToolUse", 1_000_000 + number);
        bench.hook("served", &payload)
    });
    row("hook before a tool, four concurrent", &parallel);
    let ratio = median(&pre) / median(&bare);
    println!("\nhook / sh -c true, p50         {ratio:>6.2}   (target: 2.2)");
    println!("before + after a tool         {:>6.2} ms (target: 3; heartbeat 225)", median(&pre) + median(&post));
    println!(
        "four concurrent, p99          {:>6.2} ms (target: 10; sh -c true {:.2})",
        quantile(&parallel, 0.99),
        quantile(&shells, 0.99)
    );
    println!("no resident process, p50      {:>6.2} ms (target: 15)", median(&alone));
}

fn row(name: &str, times: &[f64]) {
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| quantile(times, q));
    println!("{name:<52} {p50:>8.2} {p90:>8.2} {p99:>8.2}");
}

fn median(times: &[f64]) -> f64 {
    quantile(times, 0.5)
}

fn quantile(times: &[f64], q: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

struct Bench {
    dir: PathBuf,
    server: Child,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Bench {
    fn new(dir: &Path) -> Self {
        let mut serve = Command::new(BELAY);
        serve.args(["serve", "--no-http", "--json", "--home"]).arg(dir.join("served"));
        let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { dir: dir.to_owned(), server }
    }

    /// A payload in a file: what an agent would write into the pipe.
    fn payload(&self, event: &str, number: usize) -> PathBuf {
        let line = format!("    let value_{number} = parse(input)?; // {}\n", "x".repeat(60));
        let mut payload = json!({
            "session_id": format!("session-{}", number / 200), "hook_event_name": event,
            "transcript_path": "/nowhere.jsonl", "cwd": "/", "permission_mode": "default",
            "tool_name": "Edit", "tool_use_id": format!("toolu_{number}"),
            "tool_input": { "file_path": format!("/src/file_{number}.rs"), "old_string": line, "new_string": line.to_uppercase() },
        });
        if event == "PostToolUse" {
            let original = line.repeat(18);
            payload["tool_response"] =
                json!({ "filePath": "/src/a.rs", "originalFile": original, "structuredPatch": Value::Array(vec![]) });
        }
        let path = self.dir.join(format!("{event}-{number}"));
        std::fs::write(&path, payload.to_string()).unwrap();
        path
    }

    fn hook(&self, home: &str, payload: &Path) -> Command {
        let mut command = Command::new(BELAY);
        command.args(["hook", "claude-code", "--home"]).arg(self.dir.join(home));
        command.stdin(Stdio::from(File::open(payload).unwrap())).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn in_turn(&self, runs: usize) -> [Vec<f64>; 4] {
        let mut times: [Vec<f64>; 4] = Default::default();
        // The first runs warm the disk cache.
        for number in 0..runs + 20 {
            let (pre, post) = (self.payload("PreToolUse", number), self.payload("PostToolUse", number));
            let commands = [shell(), self.hook("served", &pre), self.hook("served", &post), self.hook("alone", &pre)];
            for (mut command, times) in commands.into_iter().zip(&mut times) {
                let start = Instant::now();
                assert!(command.status().unwrap().success());
                if number >= 20 {
                    times.push(millis(start.elapsed()));
                }
            }
        }
        times
    }
}

fn shell() -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "true"]).stdin(Stdio::null());
    shell
}

/// Four lanes, each starting its next process when the one before has ended.
fn in_parallel(runs: usize, command: impl Fn(usize) -> Command + Sync) -> Vec<f64> {
    let lane = |lane: usize| -> Vec<f64> {
        let run = |number: usize| {
            let mut command = command(lane * runs + number);
            let start = Instant::now();
            assert!(command.status().unwrap().success());
            millis(start.elapsed())
        };
        (0..runs).map(run).collect()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|number| scope.spawn(move || lane(number))).collect();
        running.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
