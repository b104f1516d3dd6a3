//! The dashboard: server time of its pages with many sessions and a long one, the cost of live streams for decisions,
//! the size of its files, and memory. Prints a table. Linux only, because it reads `/proc`.
//!
//!     cargo bench -p belayer --bench dashboard

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_config::{EnvSnapshot, Paths};
use belay_core::event::{ModelAnswered, ToolCalled, ToolReturned, Usage};
use belay_core::{Body, Event, SessionKey, Source, Timestamp, ToolKind};
use belay_engine::{Engine, EngineOptions};
use belay_ipc::Client;
use belay_store::{Access, StoreUrl};
use flate2::Compression;
use flate2::write::GzEncoder;

const SESSIONS: usize = 10_000;
/// Events of the long session: three per call.
const LONG: usize = 31_000;
const REQUESTS: usize = 60;
const STREAMS: usize = 200;
const DECISIONS: usize = 6_000;
const ROUNDS: usize = 6;

const MAX_PAGE_MS: f64 = 50.0;
/// The session page with 31,000 events, compared with that of 30.
const MAX_GROWTH: f64 = 1.5;
const MAX_SLOWDOWN: f64 = 1.10;
const MAX_ASSETS_KB: f64 = 80.0;
const MAX_IDLE_MB: f64 = 25.0;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let mut table = Table { ok: true };
    table.row("assets of a page, gzipped", gzipped_assets(), "KB", MAX_ASSETS_KB);

    let idle = Server::start(&dir.path().join("idle"));
    let _ = idle.get("/");
    table.row("idle resident memory, after the first page", idle.memory(), "MB", MAX_IDLE_MB);
    drop(idle);

    let home = dir.path().join("many");
    seed(&home);
    let server = Server::start(&home);
    let mut client = Client::connect(&paths(&home), Duration::from_secs(30)).unwrap();
    let mut n = 0;
    let mut page = |path: &str| {
        median(REQUESTS, || {
            // A change before each request, so that nothing is answered from a cache.
            n += 1;
            client.observe(&[event(2 + n, 1_000 + n)]).unwrap();
            let start = Instant::now();
            let body = server.get(path);
            assert!(body.len() > 500, "{body}");
            start.elapsed()
        })
    };
    for (name, path) in [
        ("overview with 10,000 sessions, p50", "/"),
        ("GET /api/v1/overview with 10,000 sessions, p50", "/api/v1/overview"),
        ("incidents, p50", "/incidents"),
    ] {
        table.row(name, page(path), "ms", MAX_PAGE_MS);
    }
    let (long, short) = (page(&format!("/sessions/{}", key(0))), page(&format!("/sessions/{}", key(1))));
    table.row("session page with 31,000 events, p50", long, "ms", MAX_PAGE_MS);
    table.row("session page with 30 events, p50", short, "ms", MAX_PAGE_MS);
    table.row("31,000 events / 30 events", long / short, "x", MAX_GROWTH);
    let grown = server.memory();
    println!("  memory after these pages: {grown:.1} MB");

    let mut n = 100_000;
    let mut decide = || {
        n += 1;
        let event = event(3, n);
        let start = Instant::now();
        client.observe(&[event]).unwrap();
        start.elapsed()
    };
    // In turns, so that other load on the machine affects both.
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.extend((0..DECISIONS / ROUNDS).map(|_| decide()));
        let streams: Vec<Stream> = (0..STREAMS).map(|_| Stream::open(&server)).collect();
        watched.extend((0..DECISIONS / ROUNDS).map(|_| decide()));
        drop(streams);
    }
    let (alone, watched) = (percentile(&mut alone, 50), percentile(&mut watched, 50));
    table.row("decision p50 with 200 live streams / without", watched / alone, "x", MAX_SLOWDOWN);
    println!("  {:.0} us with, {:.0} us without", watched * 1e3, alone * 1e3);
    if !table.ok {
        println!("a target is missed");
        std::process::exit(1);
    }
}

/// Prints what was measured, its target, and whether it is met.
struct Table {
    ok: bool,
}

impl Table {
    fn row(&mut self, name: &str, measured: f64, unit: &str, target: f64) {
        let met = measured <= target;
        self.ok &= met;
        let verdict = if met { "met" } else { "MISSED" };
        println!("{name:<48} {measured:>7.2} {unit:<2}  target {target:>5} {unit:<2}  {verdict}");
    }
}

fn paths(home: &Path) -> Paths {
    Paths::resolve(&EnvSnapshot::default(), Some(home)).unwrap()
}

fn key(session: usize) -> SessionKey {
    SessionKey::new("claude-code", format!("0b1c2d3e-{session:012}"))
}

/// A call, its result, and the response that it cost, again and again.
fn event(session: usize, n: usize) -> Event {
    let step = n / 3;
    let call = Some(format!("toolu_{session}_{step}"));
    let body = match n % 3 {
        0 => {
            let input = serde_json::json!({ "command": format!("cargo check --package part_{}", step % 700) });
            Body::ToolCalled(ToolCalled::new(call, Some(ToolKind::Shell), "Bash", &input))
        }
        1 => Body::ToolReturned(ToolReturned::new(call, None, Some(0), &format!("Finished part {step}\n"))),
        _ => Body::ModelAnswered(ModelAnswered {
            response: Some(format!("r-{session}-{step}")),
            model: Some("claude-sonnet-4-5".to_owned()),
            usage: Some(Usage { input: 40, output: 90, cache_read: 60_000, ..Usage::default() }),
            tool_calls: Some(1),
            ..ModelAnswered::default()
        }),
    };
    let at = Timestamp::from_millis(belay_clock::now().millis() - 3_600_000 + n as i64);
    Event::new(format!("e-{session}-{n}"), key(session), Source::Hook, at, body)
}

fn seed(home: &Path) {
    paths(home).create().unwrap();
    let store = belay_store::open(&StoreUrl::local(paths(home).database()), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
    let long = (0..LONG).map(|n| event(0, n));
    let short = (0..30).map(|n| event(1, n));
    let others = (2..SESSIONS).flat_map(|session| [event(session, 0), event(session, 1)]);
    let events: Vec<Event> = long.chain(short).chain(others).collect();
    for chunk in events.chunks(256) {
        engine.observe_batch(chunk.to_vec()).into_iter().for_each(|answer| assert!(answer.unwrap().committed));
    }
}

fn gzipped_assets() -> f64 {
    let mut bytes = 0;
    for asset in belay_dashboard::assets::assets() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(asset.bytes).unwrap();
        bytes += encoder.finish().unwrap().len();
    }
    bytes as f64 / 1024.0
}

fn median(count: usize, mut work: impl FnMut() -> Duration) -> f64 {
    percentile(&mut (0..count).map(|_| work()).collect::<Vec<_>>(), 50)
}

/// In milliseconds.
fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(home: &Path) -> Self {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_belay"));
        serve.args(["serve", "--listen", "127.0.0.1:0", "--json", "--home"]).arg(home);
        let mut process = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { process, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let response = String::from_utf8_lossy(&response).into_owned();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        response
    }

    /// Megabytes in use.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A live stream that a thread reads.
struct Stream(TcpStream);

impl Stream {
    fn open(server: &Server) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "GET /api/v1/live HTTP/1.1\r\nhost: {}\r\n\r\n", server.address).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let mut buffer = [0; 16 * 1024];
        let read = reader.read(&mut buffer).unwrap();
        assert!(buffer[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..read]));
        std::thread::spawn(move || while reader.read(&mut buffer).is_ok_and(|read| read > 0) {});
        Self(stream)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}
