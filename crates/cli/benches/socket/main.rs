//! Measures the resident process against bare SQLite behind the same kind of socket, and the cost of a store with
//! 100,000 sessions. Prints tables.
//!
//!     cargo bench -p belayer --bench socket [-- sessions]
//!
//! Both servers are separate processes. Requests alternate between them, so that other load on the machine affects
//! both; compare ratios within one run.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is the output; a bench that fails should say where"
)]

mod bare;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belay_config::{EnvSnapshot, Paths};
use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Timestamp, ToolKind};
use belay_engine::{Engine, EngineOptions};
use belay_ipc::{Client, DecideRequest};
use belay_store::{Access, StoreUrl};

use bare::Bare;

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
        Some("bare") => bare::serve(Path::new(&args[1])),
        sessions => {
            let dir = tempfile::tempdir().unwrap();
            // An unpinned process is woken on a core that may be asleep, which adds much system time.
            beside_bare_sqlite(&dir.path().join("free"), "left free");
            if share_one_core() {
                beside_bare_sqlite(&dir.path().join("one"), "on one core");
            }
            in_process(&dir.path().join("engine"));
            many_sessions(dir.path(), sessions.map_or(100_000, |sessions| sessions.parse().unwrap()));
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

fn paths(home: &Path) -> Paths {
    Paths::resolve(&EnvSnapshot::default(), Some(home)).unwrap()
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
    Event::new(
        format!("e-{session}-{n}"),
        key,
        Source::Hook,
        Timestamp::from_millis(1_790_000_000_000 + n as i64),
        body,
    )
}

/// Both servers, all on one core or left to the system.
fn beside_bare_sqlite(dir: &Path, where_they_run: &str) {
    std::fs::create_dir(dir).unwrap();
    let home = dir.join("ours");
    let _ours = Server::belay(&home);
    let bare_home = dir.join("bare");
    std::fs::create_dir(&bare_home).unwrap();
    let _bare = Server::start(Command::new(std::env::current_exe().unwrap()).arg("bare").arg(&bare_home));
    let patience = Duration::from_secs(30);
    let connect = || Client::connect(&paths(&home), patience).unwrap();
    let connect_bare = || Client::connect_at(&bare::socket(&bare_home), patience).unwrap();
    let (mut ours, mut same) = (connect(), connect_bare());
    let mut own = Bare::connect(&bare_home);

    let [mut our_events, mut same_events, mut own_events, mut our_decisions, mut same_decisions] =
        [const { Vec::new() }; 5];
    for n in 0..REQUESTS {
        let event = event(n % 8, n / 8);
        if n % DECISION_EVERY == DECISION_EVERY - 1 {
            let decision = match (n / DECISION_EVERY).is_multiple_of(2) {
                true => OperatorDecision::Pause,
                false => OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: true },
            };
            let session = SessionKey::new("claude-code", format!("0b1c2d3e-{:012}", 0));
            let decide = DecideRequest::new(session, decision);
            our_decisions.push(timed(|| assert!(ours.decide(&decide).unwrap().committed)));
            same_decisions.push(timed(|| assert!(same.decide(&decide).unwrap().committed)));
        }
        our_events.push(observe(&mut ours, &event));
        same_events.push(observe(&mut same, &event));
        let json = serde_json::to_string(&event).unwrap();
        own_events.push(timed(|| own.ask(&json)));
    }
    let [mut our_crowd, mut same_crowd] = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        let asks = |mut client: Client, caller: usize| {
            move |n| observe(&mut client, &event(100 + caller, round * IN_A_ROUND + n))
        };
        our_crowd.extend(crowd(|caller| asks(connect(), caller)));
        same_crowd.extend(crowd(|caller| asks(connect_bare(), caller)));
    }
    let mut hooks = timed_many(1000, |n| {
        observe(&mut connect(), &event(9, n));
    });

    println!("{:<52} {:>10} {:>10} {:>7}", format!("{where_they_run}, through a Unix socket"), "p50", "p99", "ratio");
    let mut ours_mixed = [&our_events[..], &our_decisions].concat();
    let mut same_mixed = [&same_events[..], &same_decisions].concat();
    row("bare SQLite: insert, select, commit", &mut same_events, None);
    row("observe", &mut our_events, Some(&same_events));
    row("bare SQLite with full sync", &mut same_decisions, None);
    row("a person's pause or resume (full sync)", &mut our_decisions, Some(&same_decisions));
    row("bare SQLite, normal and full sync", &mut same_mixed, None);
    row("observe, including durable pauses", &mut ours_mixed, Some(&same_mixed));
    row(&format!("bare SQLite, {CALLERS} concurrent callers"), &mut same_crowd, None);
    row(&format!("observe, {CALLERS} concurrent callers"), &mut our_crowd, Some(&same_crowd));
    row("bare SQLite, plain text instead of JSON", &mut own_events, None);
    row("observe, compared with that", &mut our_events, Some(&own_events));
    row("connect, observe, disconnect (as a hook does)", &mut hooks, None);
    println!();
}

fn observe(client: &mut Client, event: &Event) -> Duration {
    timed(|| assert_eq!(client.observe(std::slice::from_ref(event)).unwrap().answers.len(), 1))
}

/// The engine by itself, to tell what of the above is the way there and back.
fn in_process(dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    let store = belay_store::open(&StoreUrl::local(dir.join("belay.db")), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
    let mut took: Vec<Duration> = (0..REQUESTS)
        .map(|n| event(n % 8, n / 8))
        .map(|event| timed(|| assert!(engine.observe(event).unwrap().committed)))
        .collect();
    row("observe, without a socket", &mut took, None);
}

/// Everything that is started from now on shares one core with us, as on a machine whose cores are busy with the
/// agents. `false` where the system cannot do that.
fn share_one_core() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let mut one = CpuSet::new();
        let last = sched_getaffinity(None).ok().and_then(|all| (0..CpuSet::MAX_CPU).rev().find(|cpu| all.is_set(*cpu)));
        last.is_some_and(|last| {
            one.set(last);
            sched_setaffinity(None, &one).is_ok()
        })
    }
    #[cfg(not(target_os = "linux"))]
    false
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

fn many_sessions(dir: &Path, sessions: usize) {
    let home: PathBuf = dir.join("many");
    paths(&home).create().unwrap();
    let store = belay_store::open(&StoreUrl::local(paths(&home).database()), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
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
    let mut client = Client::connect(&paths(&home), Duration::from_secs(30)).unwrap();
    // One event per session, so that all caches are full afterwards.
    for session in 0..sessions {
        client.observe(&[event(session, 1)]).unwrap();
    }
    let mut served = timed_many(LISTS, |_| list());
    println!("{:<52} {:>10} {:>10}", "", "p50", "p99");
    row("belay sessions, newest 50, complete process", &mut lists, None);
    row("the same, with the resident process running", &mut served, None);
    if let (Some(fresh), Some(used)) = (fresh, server.memory()) {
        println!("resident memory: {fresh:.1} MB fresh, {used:.1} MB after an event in every session");
    }
}
