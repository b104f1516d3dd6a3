//! A flood of events: the store stays near its limit, and only the oldest sessions are deleted for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use belay_core::event::{ToolCalled, ToolReturned};
use belay_core::{Body, Event, SessionKey, Source, Timestamp, ToolKind};
use belay_ipc::{Client, EventResult, HookRequest};
use belay_store::{Access, EventQuery, SessionQuery, Store, StoreUrl};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::resident::Serve;
use crate::world::{TEST_TIMEOUT, World};

const BATCH: usize = 40;
const EVENTS_PER_SESSION: usize = 60;
/// Sessions that a connection writes side by side, so that their events lie far apart in the store.
const OPEN_SESSIONS: usize = 25;

/// Retention deletes by a time that is up to a second old, and what is in flight is ordered arbitrarily.
const ORDER_TOLERANCE: Duration = Duration::from_secs(3);

/// What is written, and for how long.
struct Flood {
    max_bytes: u64,
    connections: usize,
    /// Events per second of all connections.
    rate: u32,
    /// Batches of each connection, at most.
    batches: usize,
    /// How long connections write, at most.
    time: Duration,
}

/// The acknowledged events of a session, numbered from 0.
struct Acknowledged {
    events: usize,
    last: Instant,
}

#[derive(Default)]
struct Written {
    sessions: BTreeMap<String, Acknowledged>,
    waits: Vec<Duration>,
}

impl Flood {
    fn serve(&self, world: &World, tick: &str) -> Serve {
        let (max_bytes, tick) = (format!("store.max_bytes={}B", self.max_bytes), format!("serve.tick={tick}"));
        Serve::start_with(world, &["--no-http", "--set", &max_bytes, "--set", &tick])
    }

    /// Writes from all connections until the flood is over.
    fn write(&self, world: &World) -> Written {
        let interval = Duration::from_secs(1) * u32::try_from(BATCH * self.connections).unwrap() / self.rate;
        let writers: Vec<Written> = std::thread::scope(|scope| {
            let start = |connection| scope.spawn(move || self.write_one(world, connection, interval));
            let writers: Vec<_> = (0..self.connections).map(start).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let mut all = Written::default();
        for writer in writers {
            all.sessions.extend(writer.sessions);
            all.waits.extend(writer.waits);
        }
        all
    }

    fn write_one(&self, world: &World, connection: usize, interval: Duration) -> Written {
        let mut client = Client::connect(&world.paths(), TEST_TIMEOUT).unwrap();
        let mut written = Written::default();
        let mut next = Instant::now();
        let end = next + self.time;
        for batch in 0..self.batches {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if next >= end {
                break;
            }
            next = (next + interval).max(Instant::now());
            let first = batch * BATCH;
            let place = |n: usize| {
                let group = n / (OPEN_SESSIONS * EVENTS_PER_SESSION);
                let session = group * OPEN_SESSIONS + n % OPEN_SESSIONS;
                (format!("c{connection}-{session}"), n / OPEN_SESSIONS % EVENTS_PER_SESSION)
            };
            let places: Vec<(String, usize)> = (first..first + BATCH).map(place).collect();
            let events: Vec<Box<RawValue>> =
                places.iter().map(|(session, n)| to_raw_value(&event(session, *n)).unwrap()).collect();
            let asked = Instant::now();
            let answers = client.observe(&events).unwrap().answers;
            written.waits.push(asked.elapsed());
            let is_committed =
                |answer: &EventResult| matches!(answer, EventResult::Accepted(outcome) if outcome.committed);
            assert!(answers.iter().all(is_committed), "{answers:?}");
            let last = Instant::now();
            for (session, _) in places {
                let session = written.sessions.entry(session).or_insert(Acknowledged { events: 0, last });
                (session.events, session.last) = (session.events + 1, last);
            }
        }
        written
    }
}

/// A call or its result, as a hook reports them.
fn event(session: &str, n: usize) -> Event {
    let call = Some(format!("toolu_{}", n / 2));
    let body = if n.is_multiple_of(2) {
        let input = json!({ "command": format!("cargo check --package part_{n}") });
        Body::ToolCalled(ToolCalled::new(call, Some(ToolKind::Shell), "Bash", &input))
    } else {
        let line = format!("    Checking part_{n} v0.1.0\nwarning: unused variable: `value_{n}`\n");
        let output = line.repeat(16);
        Body::ToolReturned(ToolReturned::new(call, None, Some(0), &output))
    };
    Event::new(n.to_string(), SessionKey::new("codex", session), Source::Api, Timestamp::UNKNOWN, body)
}

/// The size of the store and its write-ahead log on disk.
fn bytes(world: &World) -> u64 {
    StoreUrl::local(world.paths().database()).disk_bytes()
}

/// Waits until the store is at most `limit` bytes; returns how long that took.
fn shrinks_to(world: &World, limit: u64, timeout: Duration) -> Duration {
    let began = Instant::now();
    while bytes(world) > limit && began.elapsed() < timeout {
        std::thread::sleep(Duration::from_millis(50));
    }
    began.elapsed()
}

#[derive(Debug, Default)]
struct Comparison {
    sessions: usize,
    events: usize,
    /// Acknowledged events that are missing although the store has older ones.
    lost: usize,
    doubled: usize,
}

/// Compares the store with what was acknowledged. Retention deletes the sessions that were idle longest, so what is
/// missing must be older than what is there.
fn compare(store: &dyn Store, written: &Written) -> Comparison {
    let mut found = Comparison::default();
    let mut oldest = None;
    let mut missing = Vec::new();
    for (name, acknowledged) in &written.sessions {
        let session = Some(SessionKey::new("codex", name.as_str()));
        let rows = store.events(&EventQuery { session, limit: usize::MAX, ..EventQuery::default() }).unwrap();
        let mut numbers: Vec<usize> = rows.iter().map(|row| row.event().unwrap().id.parse().unwrap()).collect();
        numbers.sort_unstable();
        let all = numbers.len();
        numbers.dedup();
        found.events += all;
        found.doubled += all - numbers.len();
        let Some(first) = numbers.first().copied() else {
            missing.push(acknowledged);
            continue;
        };
        // A session may have been deleted and created again by its next event.
        found.lost += (acknowledged.events - first).saturating_sub(numbers.len());
        found.sessions += 1;
        oldest = Some(oldest.map_or(acknowledged.last, |oldest: Instant| oldest.min(acknowledged.last)));
    }
    let Some(oldest) = oldest else { panic!("the store has no session") };
    let lost = missing.iter().filter(|session| session.last > oldest + ORDER_TOLERANCE);
    found.lost += lost.map(|session| session.events).sum::<usize>();
    found
}

fn open(world: &World) -> Box<dyn Store> {
    belay_store::open(&StoreUrl::local(world.paths().database()), Access::Read).unwrap()
}

/// What must hold after any flood.
fn assert_nothing_is_lost(world: &World, written: &Written) -> Comparison {
    let store = open(world);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let found = compare(&*store, written);
    assert_eq!((found.lost, found.doubled), (0, 0), "{found:?}");
    let stored = store.sessions(&SessionQuery { limit: usize::MAX, ..SessionQuery::default() }).unwrap();
    assert!(stored.rows.len() >= found.sessions);
    found
}

#[test]
fn a_flood_is_pruned_without_waiting_for_a_tick() {
    let flood = Flood { max_bytes: 4 << 20, connections: 2, rate: 1_000_000, batches: 150, time: TEST_TIMEOUT };
    let world = World::alone();
    let serve = flood.serve(&world, "1h");
    let written = flood.write(&world);
    assert!(shrinks_to(&world, flood.max_bytes, TEST_TIMEOUT) < TEST_TIMEOUT, "{} bytes", bytes(&world));
    let found = assert_nothing_is_lost(&world, &written);
    let acknowledged: usize = written.sessions.values().map(|session| session.events).sum();
    assert!(found.events < acknowledged / 2, "the flood was larger than the limit: {found:?}");
    drop(serve);
}

/// Takes 90 seconds: `cargo xtask soak flood`.
mod soak {
    use super::*;

    const FLOOD: Flood =
        Flood { max_bytes: 48 << 20, connections: 8, rate: 8000, batches: usize::MAX, time: Duration::from_secs(60) };
    const REST: Duration = Duration::from_secs(20);

    fn percentiles(waits: &mut [Duration]) -> String {
        waits.sort_unstable();
        let percentile = |percent: usize| waits[(waits.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        format!("{:.1} ms (p50), {:.1} ms (p99), {:.1} ms (max)", percentile(50), percentile(99), percentile(100))
    }

    /// Sends a hook call every 20 ms, as agents do meanwhile.
    fn call_hooks(world: &World, is_over: &AtomicBool) -> Vec<Duration> {
        let mut client = Client::connect(&world.paths(), TEST_TIMEOUT).unwrap();
        let mut waits = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let payload = json!({
                "session_id": "hooks", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/",
                "tool_use_id": format!("toolu_{}", waits.len()), "tool_input": { "command": "true" },
            });
            let request = HookRequest {
                id: format!("hook-{}", waits.len()),
                agent: "claude-code".to_owned(),
                event: None,
                payload: to_raw_value(&payload).unwrap(),
                at: belay_clock::now(),
                pid: None,
                ci: false,
                cwd: None,
                run: None,
            };
            let asked = Instant::now();
            client.hook(&request).unwrap();
            waits.push(asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        waits
    }

    #[test]
    fn the_store_stays_near_its_limit() {
        let world = World::alone();
        let _serve = FLOOD.serve(&world, "15s");
        let is_over = AtomicBool::new(false);
        let began = Instant::now();
        let (mut written, took, mut hooks, peak) = std::thread::scope(|scope| {
            let hooks = scope.spawn(|| call_hooks(&world, &is_over));
            let sizes = scope.spawn(|| {
                let (mut peak, mut printed) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    let size = bytes(&world);
                    peak = peak.max(size);
                    let second = began.elapsed().as_secs();
                    if second >= printed + 5 {
                        println!("  {second:>3} s {:>5} MiB", size >> 20);
                        printed = second;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                peak
            });
            let written = FLOOD.write(&world);
            let took = began.elapsed();
            is_over.store(true, Ordering::Relaxed);
            (written, took, hooks.join().unwrap(), sizes.join().unwrap())
        });
        let acknowledged: usize = written.sessions.values().map(|session| session.events).sum();
        let rate = acknowledged as f64 / took.as_secs_f64();
        println!("{acknowledged} events in {:.0} s: {rate:.0} per second", took.as_secs_f64());
        let shrunk = shrinks_to(&world, FLOOD.max_bytes * 11 / 10, REST);
        let of_limit = |bytes: u64| bytes as f64 / FLOOD.max_bytes as f64;
        let rested = of_limit(bytes(&world));
        println!("peak {:.2} x the limit; {rested:.2} x after {:.1} s", of_limit(peak), shrunk.as_secs_f64());
        println!("a batch of {BATCH} events takes {}", percentiles(&mut written.waits));
        println!("a hook's decision takes {}", percentiles(&mut hooks));
        let found = assert_nothing_is_lost(&world, &written);
        println!(
            "{} events in {} sessions retained; {} lost, {} doubled",
            found.events, found.sessions, found.lost, found.doubled
        );
        assert!(of_limit(peak) <= 2.0 && rested <= 1.1);
    }
}
