//! How quick is the engine beside bare SQLite? Prints a table.
//!
//!     cargo run --release -p belay-engine --example observe_bench [sessions]
#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use belay_core::event::{OperatorDecision, ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Time, ToolKind};
use belay_engine::{Engine, Options};
use belay_store::{OpenOptions, SessionQuery, SqliteStore, Store};
use rusqlite::Connection;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const OBSERVES: usize = 20_000;
const DECISIONS: usize = 400;
const BATCH: usize = 256;
const BATCHES: usize = 200;

fn main() -> Outcome {
    let sessions: usize = std::env::args().nth(1).map_or(Ok(100_000), |n| n.parse())?;
    let folder = tempfile::tempdir()?;
    println!("{:<46} {:>10} {:>10} {:>8}", "", "p50", "p99", "ratio");

    let bare = bare_one_by_one(&folder.path().join("bare.db"), "NORMAL", OBSERVES)?;
    row("bare SQLite: lock, insert, select, commit", &bare, None);
    let mut engine = engine(&folder.path().join("belay.db"))?;
    let observed = observe_one_by_one(&mut engine)?;
    row("observe", &observed, Some(&bare));

    let bare = bare_one_by_one(&folder.path().join("bare-full.db"), "FULL", DECISIONS)?;
    row("bare SQLite with full sync", &bare, None);
    let decided = decide(&mut engine)?;
    row("a person's pause or resume (full sync)", &decided, Some(&bare));

    let bare = bare_batches(&folder.path().join("bare-batch.db"))?;
    let ours = observe_batches(&mut engine)?;
    println!("{:<46} {:>19.0}/s", format!("bare SQLite, {BATCH} inserts a commit"), bare);
    println!("{:<46} {:>19.0}/s {:>9.2}", format!("observe_batch, {BATCH} events a commit"), ours, bare / ours);
    println!("{:?}", engine.metrics());
    drop(engine);

    many_sessions(&folder.path().join("many.db"), sessions)
}

fn engine(path: &Path) -> Outcome<Engine> {
    Ok(Engine::new(Box::new(SqliteStore::open(path, OpenOptions::default())?), Options::default()))
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

fn observe_one_by_one(engine: &mut Engine) -> Outcome<Vec<Duration>> {
    let events: Vec<Event> = (0..OBSERVES).map(|n| event(n % 8, n / 8)).collect();
    let mut took = Vec::with_capacity(events.len());
    for event in events {
        let began = Instant::now();
        engine.observe(event)?;
        took.push(began.elapsed());
    }
    Ok(took)
}

fn decide(engine: &mut Engine) -> Outcome<Vec<Duration>> {
    let key = event(0, 0).session;
    let mut took = Vec::with_capacity(DECISIONS);
    for n in 0..DECISIONS {
        let resume = OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false };
        let decision = if n.is_multiple_of(2) { OperatorDecision::Pause } else { resume };
        let began = Instant::now();
        engine.decide(&key, decision, "", None)?;
        took.push(began.elapsed());
    }
    Ok(took)
}

fn observe_batches(engine: &mut Engine) -> Outcome<f64> {
    let batches: Vec<Vec<Event>> =
        (0..BATCHES).map(|b| (0..BATCH).map(|n| event(100 + n % 16, (b * BATCH + n) / 16)).collect()).collect();
    let began = Instant::now();
    for batch in batches {
        for answer in engine.observe_batch(batch) {
            answer?;
        }
    }
    Ok((BATCH * BATCHES) as f64 / began.elapsed().as_secs_f64())
}

fn bare(path: &Path, sync: &str) -> Outcome<Connection> {
    let conn = Connection::open(path)?;
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", sync)?;
    conn.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL)")?;
    Ok(conn)
}

fn bare_insert(conn: &Connection, body: &str) -> Outcome {
    conn.prepare_cached("INSERT INTO log (session, body) VALUES (?1, ?2)")?.execute(["s", body])?;
    let id = conn.last_insert_rowid();
    conn.prepare_cached("SELECT session FROM log WHERE id = ?1")?.query_row([id], |row| row.get::<_, String>(0))?;
    Ok(())
}

fn bare_one_by_one(path: &Path, sync: &str, times: usize) -> Outcome<Vec<Duration>> {
    let conn = bare(path, sync)?;
    let body = serde_json::to_string(&event(0, 1))?;
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let began = Instant::now();
        conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        bare_insert(&conn, &body)?;
        conn.prepare_cached("COMMIT")?.execute([])?;
        took.push(began.elapsed());
    }
    Ok(took)
}

fn bare_batches(path: &Path) -> Outcome<f64> {
    let conn = bare(path, "NORMAL")?;
    let body = serde_json::to_string(&event(0, 1))?;
    let began = Instant::now();
    for _ in 0..BATCHES {
        conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for _ in 0..BATCH {
            bare_insert(&conn, &body)?;
        }
        conn.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok((BATCH * BATCHES) as f64 / began.elapsed().as_secs_f64())
}

fn many_sessions(path: &Path, sessions: usize) -> Outcome {
    let began = Instant::now();
    let mut engine = engine(path)?;
    for batch in (0..sessions).collect::<Vec<_>>().chunks(BATCH) {
        engine.observe_batch(batch.iter().map(|n| event(*n, *n)).collect());
    }
    println!("\n{sessions} sessions made in {:.1} s; resident {} MB", began.elapsed().as_secs_f64(), resident_mb());
    let store = SqliteStore::open(path, OpenOptions { read_only: true, ..OpenOptions::default() })?;
    let key = event(sessions / 2, 0).session;
    let newest = SessionQuery::default();
    let claude = SessionQuery { agent: Some("claude-code".to_owned()), ..SessionQuery::default() };
    let codex = SessionQuery { agent: Some("codex".to_owned()), ..SessionQuery::default() };
    let paused = SessionQuery { states: vec!["paused".to_owned()], ..SessionQuery::default() };
    let project = SessionQuery { project: Some("/nowhere".to_owned()), ..SessionQuery::default() };
    ask("open the store again", || Ok(SqliteStore::open(path, OpenOptions::default())?))?;
    ask("newest 50", || Ok(store.sessions(&newest)?))?;
    ask("newest 50 with short names", || {
        let keys: Vec<SessionKey> = store.sessions(&newest)?.rows.into_iter().map(|row| row.key).collect();
        Ok(store.short_names(&keys, 4)?)
    })?;
    ask("newest 50 of an agent with all sessions", || Ok(store.sessions(&claude)?))?;
    ask("newest 50 of an agent without sessions", || Ok(store.sessions(&codex)?))?;
    ask("newest 50 paused, none there", || Ok(store.sessions(&paused)?))?;
    ask("newest 50 of a project without sessions", || Ok(store.sessions(&project)?))?;
    ask("resolve a name", || Ok(store.resolve(&key.id)?))?;
    ask("totals", || Ok(store.totals(None)?))?;
    println!("resident {} MB", resident_mb());
    Ok(())
}

fn ask<T>(what: &str, mut question: impl FnMut() -> Outcome<T>) -> Outcome {
    let mut took = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        question()?;
        took.push(began.elapsed());
    }
    row(what, &took, None);
    Ok(())
}

fn row(what: &str, took: &[Duration], beside: Option<&[Duration]>) {
    let p50 = percentile(took, 50);
    let ratio =
        beside.map_or(String::new(), |other| format!("{:.2}", p50.as_secs_f64() / percentile(other, 50).as_secs_f64()));
    println!("{what:<46} {:>10.1?} {:>10.1?} {ratio:>8}", p50, percentile(took, 99));
}

fn percentile(took: &[Duration], percent: usize) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * percent / 100]
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
