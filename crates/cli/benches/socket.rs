//! How quick is the resident process beside bare SQLite behind the same kind of socket, and what
//! does a store of 100,000 sessions cost? Prints tables.
//!
//!     cargo bench -p belayer --bench socket [-- sessions]
//!
//! Both servers are processes of their own. Requests go to them in turn, so that whatever else the
//! machine does hits both; ratios within one run are what counts.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use belay_config::{Env, Places};
use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Time, ToolKind};
use belay_engine::{Engine, Options};
use belay_server::Client;
use belay_server::protocol::Decide;
use belay_store::{OpenOptions, SqliteStore};
use rusqlite::Connection;

const REQUESTS: usize = 10_000;
/// One in so many requests is a person's pause or resume, durable against a power cut.
const DECISION_EVERY: usize = 50;
const LISTS: usize = 30;
/// Callers at once, and how much each asks before the other server has its turn.
const CALLERS: usize = 8;
const ROUNDS: usize = 20;
const IN_A_ROUND: usize = 60;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.first().map(String::as_str) {
        Some("bare") => bare_server(Path::new(&args[1])),
        sessions => {
            let folder = tempfile::tempdir().unwrap();
            beside_bare_sqlite(folder.path());
            many_sessions(folder.path(), sessions.map_or(100_000, |sessions| sessions.parse().unwrap()));
        }
    }
}

/// A process that goes when this does.
struct Server(Child);

impl Server {
    /// Starts it and waits for the line that says it is ready.
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server did not start");
        Self(child)
    }

    fn belay(home: &Path) -> Self {
        Self::start(
            Command::new(env!("CARGO_BIN_EXE_belay")).args(["serve", "--no-http", "--json", "--home"]).arg(home),
        )
    }

    /// Megabytes of memory in use, where the system tells.
    fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn places(home: &Path) -> Places {
    Places::find(&Env::default(), Some(home)).unwrap()
}

/// A call or its result, as a hook tells them: work that moves, one part after another.
fn event(session: usize, n: usize) -> Event {
    let step = n / 2;
    let call = Some(format!("toolu_{session}_{step}"));
    let body = if n.is_multiple_of(2) {
        let input = serde_json::json!({ "command": format!("cargo check --package part_{step}") });
        Body::ToolCalled(ToolCalled::new(call, Some(ToolKind::Shell), "Bash", &input))
    } else {
        let output = format!(
            "    Checking part_{step} v0.1.0 (/home/user/project/part_{step})\nwarning: unused variable: `value_{step}`\n  \
             --> part_{step}/src/lib.rs:12:9\n   |\n12 |     let value_{step} = parse(input);\n   |         ^^^^^\n   |\n   \
             = note: `#[warn(unused_variables)]` on by default\n\n    Finished `dev` profile in 0.4{step}s\n"
        );
        Body::ToolReturned(ToolReturned::new(call, None, Some(0), &output))
    };
    let key = SessionKey::new("claude-code", format!("0b1c2d3e-{session:012}"));
    Event::new(format!("e-{session}-{n}"), key, Source::Hook, Time::from_millis(1_790_000_000_000 + n as i64), body)
}

fn beside_bare_sqlite(folder: &Path) {
    let home = folder.join("ours");
    let _ours = Server::belay(&home);
    let bare_home = folder.join("bare");
    std::fs::create_dir(&bare_home).unwrap();
    let _bare = Server::start(Command::new(std::env::current_exe().unwrap()).arg("bare").arg(&bare_home));
    let mut ours = Client::connect(&places(&home), Duration::from_secs(30)).unwrap();
    let mut bare = Bare::connect(&bare_home);

    let [mut our_events, mut bare_events, mut our_decisions, mut bare_decisions] = [const { Vec::new() }; 4];
    for n in 0..REQUESTS {
        let event = event(n % 8, n / 8);
        let json = serde_json::to_string(&event).unwrap();
        if n % DECISION_EVERY == DECISION_EVERY - 1 {
            let decision = match (n / DECISION_EVERY).is_multiple_of(2) {
                true => OperatorDecision::Pause,
                false => OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: true },
            };
            let session = SessionKey::new("claude-code", format!("0b1c2d3e-{:012}", 0));
            let decide = Decide { session, decision, note: String::new(), by: None };
            our_decisions.push(timed(|| assert!(ours.decide(&decide).unwrap().committed)));
            bare_decisions.push(timed(|| bare.ask('F', &json)));
        }
        our_events.push(timed(|| assert_eq!(ours.observe(std::slice::from_ref(&event)).unwrap().answers.len(), 1)));
        bare_events.push(timed(|| bare.ask('N', &json)));
    }
    let [mut our_crowd, mut bare_crowd] = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        our_crowd.extend(crowd(|caller| {
            let mut client = Client::connect(&places(&home), Duration::from_secs(30)).unwrap();
            move |n| {
                let event = event(100 + caller, round * IN_A_ROUND + n);
                timed(|| assert_eq!(client.observe(std::slice::from_ref(&event)).unwrap().answers.len(), 1))
            }
        }));
        bare_crowd.extend(crowd(|caller| {
            let mut bare = Bare::connect(&bare_home);
            move |n| {
                let json = serde_json::to_string(&event(100 + caller, round * IN_A_ROUND + n)).unwrap();
                timed(|| bare.ask('N', &json))
            }
        }));
    }
    let hooks = timed_many(1000, |n| {
        let mut client = Client::connect(&places(&home), Duration::from_secs(30)).unwrap();
        client.observe(&[self::event(9, n)]).unwrap();
    });

    println!("{:<52} {:>10} {:>10} {:>7}", "through a Unix socket", "p50", "p99", "ratio");
    let all = |events: &[Duration], decisions: &[Duration]| [events, decisions].concat();
    let ours_mixed = all(&our_events, &our_decisions);
    row("bare SQLite: insert, select, commit", &mut bare_events, None);
    row("observe", &mut our_events, Some(&bare_events));
    row("bare SQLite with full sync", &mut bare_decisions, None);
    row("a person's pause or resume (full sync)", &mut our_decisions, Some(&bare_decisions));
    let mut bare_mixed = all(&bare_events, &bare_decisions);
    row("bare SQLite, both kinds", &mut bare_mixed, None);
    row("observe, durable pauses included", &mut ours_mixed.clone(), Some(&bare_mixed));
    row(&format!("bare SQLite, {CALLERS} callers at once"), &mut bare_crowd, None);
    row(&format!("observe, {CALLERS} callers at once"), &mut our_crowd, Some(&bare_crowd));
    row("connect, observe, hang up (as a hook does)", &mut hooks.clone(), None);
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// What callers wait who ask at the same time, each on a connection of its own.
fn crowd<C: FnMut(usize) -> Duration + Send>(connect: impl Fn(usize) -> C) -> Vec<Duration> {
    let callers: Vec<C> = (0..CALLERS).map(connect).collect();
    std::thread::scope(|scope| {
        let asking: Vec<_> = callers
            .into_iter()
            .map(|mut ask| scope.spawn(move || (0..IN_A_ROUND).map(&mut ask).collect::<Vec<_>>()))
            .collect();
        asking.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    })
}

fn timed_many(times: usize, mut work: impl FnMut(usize)) -> Vec<Duration> {
    (0..times).map(|n| timed(|| work(n))).collect()
}

/// Sorts, prints, and compares medians.
fn row(name: &str, took: &mut [Duration], beside: Option<&[Duration]>) {
    took.sort_unstable();
    let at = |took: &[Duration], percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    let ratio = beside.map_or_else(String::new, |beside| format!("{:.2}", at(took, 50) / at(beside, 50)));
    println!("{name:<52} {:>7.1} us {:>7.1} us {ratio:>7}", at(took, 50), at(took, 99));
}

/// The other server: what the simplest thing that could work costs.
struct Bare(BufReader<UnixStream>);

impl Bare {
    fn connect(home: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(home.join("sock")).unwrap()))
    }

    fn ask(&mut self, sync: char, json: &str) {
        self.0.get_mut().write_all(format!("{sync}{json}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        assert!(answer.starts_with("ok"));
    }
}

fn bare_server(home: &Path) {
    let conn = Connection::open(home.join("bare.db")).unwrap();
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    conn.pragma_update(None, "synchronous", "NORMAL").unwrap();
    conn.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL)").unwrap();
    let conn = Arc::new(Mutex::new(conn));
    let listener = UnixListener::bind(home.join("sock")).unwrap();
    println!("ready");
    for stream in listener.incoming() {
        let (stream, conn) = (stream.unwrap(), Arc::clone(&conn));
        std::thread::spawn(move || {
            let mut answers = stream.try_clone().unwrap();
            let mut lines = BufReader::new(stream);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                let session = bare_insert(&conn.lock().unwrap(), line.starts_with('F'), &line[1..]);
                answers.write_all(format!("ok {session}\n").as_bytes()).unwrap();
                line.clear();
            }
        });
    }
}

fn bare_insert(conn: &Connection, full: bool, body: &str) -> String {
    if full {
        conn.pragma_update(None, "synchronous", "FULL").unwrap();
    }
    conn.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
    conn.prepare_cached("INSERT INTO log (session, body) VALUES ('s', ?1)").unwrap().execute([body]).unwrap();
    let id = conn.last_insert_rowid();
    let mut select = conn.prepare_cached("SELECT session FROM log WHERE id = ?1").unwrap();
    let session = select.query_row([id], |row| row.get::<_, String>(0)).unwrap();
    conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    if full {
        conn.pragma_update(None, "synchronous", "NORMAL").unwrap();
    }
    session
}

fn many_sessions(folder: &Path, sessions: usize) {
    let home: PathBuf = folder.join("many");
    places(&home).create().unwrap();
    let store = SqliteStore::open(places(&home).database(), OpenOptions::default()).unwrap();
    let mut engine = Engine::new(Box::new(store), Options::default());
    let began = Instant::now();
    for chunk in (0..sessions).collect::<Vec<_>>().chunks(256) {
        let events = chunk.iter().map(|session| event(*session, 0)).collect();
        engine.observe_batch(events).into_iter().for_each(|answer| assert!(answer.unwrap().committed));
    }
    drop(engine);
    println!("\n{sessions} sessions (made in {:.1} s)", began.elapsed().as_secs_f64());

    let list = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belay"));
        let output = command.args(["sessions", "--home"]).arg(&home).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 51.min(sessions + 1));
    };
    let mut lists = timed_many(LISTS, |_| list());
    let server = Server::belay(&home);
    let fresh = server.memory();
    let mut client = Client::connect(&places(&home), Duration::from_secs(30)).unwrap();
    // Once through all of them: whatever is kept at hand is full afterwards.
    for session in 0..sessions {
        client.observe(&[event(session, 1)]).unwrap();
    }
    let mut served = timed_many(LISTS, |_| list());
    println!("{:<52} {:>10} {:>10}", "", "p50", "p99");
    row("belay sessions (a whole process; newest 50)", &mut lists, None);
    row("the same while the resident process serves", &mut served, None);
    if let (Some(fresh), Some(used)) = (fresh, server.memory()) {
        println!("resident memory: {fresh:.1} MB fresh, {used:.1} MB after an event in every session");
    }
}
