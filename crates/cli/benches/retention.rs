//! How long does the resident process take to prune 1,000,000 events in 10,000 sessions to `store.max_bytes` while others
//! write, and how long do writers wait meanwhile?
//!
//!     cargo bench -p belayer --bench retention [-- sessions]

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_config::{EnvSnapshot, Paths};
use belay_core::event::{ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Timestamp, ToolKind};
use belay_engine::{Engine, EngineOptions};
use belay_ipc::Client;
use belay_store::{Access, StoreUrl};

const EVENTS_PER_SESSION: usize = 100;
/// The store is pruned to this share of its size.
const CAP_DIVISOR: u64 = 8;
const TARGET: Duration = Duration::from_secs(120);
const TIMEOUT: Duration = Duration::from_secs(600);
/// Pause between the writer's requests: about 200 events per second.
const WRITE_INTERVAL: Duration = Duration::from_millis(5);

fn main() {
    let sessions = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000);
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::resolve(&EnvSnapshot::default(), Some(dir.path())).unwrap();
    paths.create().unwrap();
    let began = Instant::now();
    fill(&paths, sessions);
    let before = bytes(&paths);
    println!(
        "{sessions} sessions, {} events: {} MB, written in {:.0} s",
        sessions * EVENTS_PER_SESSION,
        mb(before),
        began.elapsed().as_secs_f64()
    );

    let cap = before / CAP_DIVISOR;
    let _server = Server::start(dir.path(), cap);
    let mut client = Client::connect(&paths, Duration::from_secs(30)).unwrap();
    let began = Instant::now();
    let mut waits = Vec::new();
    let mut written = 0;
    let took = loop {
        let asked = Instant::now();
        client.observe(&[event(sessions + written / EVENTS_PER_SESSION, written % EVENTS_PER_SESSION)]).unwrap();
        waits.push(asked.elapsed());
        written += 1;
        std::thread::sleep(WRITE_INTERVAL);
        if bytes(&paths) <= cap || began.elapsed() > TIMEOUT {
            break began.elapsed();
        }
    };
    waits.sort_unstable();
    let percentile = |percent: usize| waits[(waits.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "pruned to {} MB (limit {} MB) in {:.1} s beside {written} writes; target {} s",
        mb(bytes(&paths)),
        mb(cap),
        took.as_secs_f64(),
        TARGET.as_secs()
    );
    println!(
        "a write takes {:.1} ms (p50), {:.1} ms (p99), {:.1} ms (max)",
        percentile(50),
        percentile(99),
        percentile(100)
    );
    assert!(took <= TARGET, "retention is too slow");
}

/// The resident process; killed when dropped.
struct Server(Child);

impl Server {
    fn start(home: &Path, cap: u64) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belay"));
        command.args(["serve", "--no-http", "--json", "--set", &format!("store.max_bytes={cap}B"), "--home"]).arg(home);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server did not start");
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes the sessions side by side, 64 at a time, as parallel agents do.
fn fill(paths: &Paths, sessions: usize) {
    let store = belay_store::open(&StoreUrl::local(paths.database()), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
    let all: Vec<usize> = (0..sessions).collect();
    for side_by_side in all.chunks(64) {
        for n in 0..EVENTS_PER_SESSION {
            let events = side_by_side.iter().map(|session| event(*session, n)).collect();
            engine.observe_batch(events).into_iter().for_each(|outcome| assert!(outcome.unwrap().committed));
        }
    }
}

/// The size of the store and its write-ahead log on disk.
fn bytes(paths: &Paths) -> u64 {
    let mut wal = paths.database().into_os_string();
    wal.push("-wal");
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    size(&paths.database()) + size(wal.as_ref())
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// A call or its result, as a hook reports them.
fn event(session: usize, n: usize) -> Event {
    let step = n / 2;
    let call = Some(format!("toolu_{session}_{step}"));
    let body = if n.is_multiple_of(2) {
        let input = serde_json::json!({ "command": format!("cargo check --package part_{step}") });
        Body::ToolCalled(ToolCalled::new(call, Some(ToolKind::Shell), "Bash", &input))
    } else {
        let output =
            format!("    Checking part_{step} v0.1.0\nwarning: unused variable: `value_{step}`\n    Finished\n");
        Body::ToolReturned(ToolReturned::new(call, None, Some(0), &output))
    };
    let key = SessionKey::new("claude-code", format!("0b1c2d3e-{session:012}"));
    let at = Timestamp::from_millis(1_790_000_000_000 + i64::try_from(session).unwrap() * 1000);
    Event::new(format!("{session}-{n}"), key, Source::Hook, at, body)
}
