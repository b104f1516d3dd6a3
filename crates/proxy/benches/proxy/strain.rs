//! Concurrent load: requests per second, memory, and the cost of a full store.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::load::Conversation;
use crate::process::{cpu, memory, peak, reset_peak};
use crate::table::{micros, percentile};
use crate::targets::{Target, binary, home};
use crate::upstream::TOKENS;

/// How long a loop runs.
const LOOP: Duration = Duration::from_secs(3);

/// The result of a closed loop.
struct Flood {
    requests: usize,
    timings: Vec<Duration>,
}

/// A closed loop over this many connections.
fn flood(address: SocketAddr, lines: &str, clients: usize, session: &str) -> Flood {
    let until = Instant::now() + LOOP;
    let timings: Vec<Duration> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..clients)
            .map(|index| {
                scope.spawn(move || {
                    let mut talk = Conversation::new(1 << 10, false);
                    let session = format!("{session}{index}");
                    let mut client = Client::new(address);
                    let mut timings = Vec::new();
                    while Instant::now() < until {
                        // Identical requests would be held as a loop.
                        talk.grow();
                        timings.push(client.ask(&talk.request(address, &session, lines)).total);
                    }
                    timings
                })
            })
            .collect();
        all.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    Flood { requests: timings.len(), timings }
}

/// CPU time once it no longer grows: recording continues after the last response.
fn at_rest(spent: &dyn Fn() -> Duration) -> Duration {
    const TICK: Duration = Duration::from_millis(200);
    loop {
        let before = spent();
        std::thread::sleep(TICK);
        let now = spent();
        if now.saturating_sub(before) < TICK / 100 {
            return now;
        }
    }
}

/// Requests per second at 32 connections; those of `belay`.
pub(crate) fn throughput(targets: &[Target], direct: SocketAddr, scratch: &Path) -> Option<f64> {
    const CLIENTS: usize = 32;
    println!("\nclosed loop, {CLIENTS} connections, 1 KB, the better of two rounds of {} s each", LOOP.as_secs());
    println!("{:<8} {:>10} {:>10} {:>10} {:>10}", "", "req/s", "p50", "p99", "CPU");
    let none = String::new();
    let mut best: Vec<Option<(Flood, Duration)>> = Vec::new();
    // The slow targets are skipped.
    let targets: Vec<&Target> = targets.iter().filter(|target| target.every == 1).collect();
    best.resize_with(targets.len() + 1, || None);
    for round in 0..2 {
        for (index, slot) in best.iter_mut().enumerate() {
            let target = index.checked_sub(1).map(|at| targets[at]);
            let (address, lines) = target.map_or((direct, &none), |target| (target.address, &target.lines));
            let spent = || target.map(|target| cpu(target.process.id(), "")).unwrap_or_default();
            let before = spent();
            let tokens = || totals(scratch)["tokens"].as_u64().unwrap_or(0);
            let kept = target.filter(|target| target.name == "belay").map(|_| tokens());
            let flood = flood(address, lines, CLIENTS, &format!("flood{round}-"));
            let cost = at_rest(&spent).saturating_sub(before);
            if let Some(kept) = kept {
                let (kept, asked) = ((tokens() - kept) / TOKENS, flood.requests as u64);
                assert_eq!(kept, asked, "answers are missing in the store");
            }
            if slot.as_ref().is_none_or(|(best, _)| best.requests < flood.requests) {
                *slot = Some((flood, cost));
            }
        }
    }
    let mut own = None;
    for (index, found) in best.into_iter().enumerate() {
        let Some((flood, cost)) = found else { continue };
        let name = index.checked_sub(1).map_or("direct", |at| targets[at].name);
        let per_second = flood.requests as f64 / LOOP.as_secs_f64();
        let each = micros(cost) / flood.requests.max(1) as f64;
        let [middle, late] = [50, 99].map(|percent| micros(percentile(flood.timings.iter().copied(), percent)));
        println!("{name:<8} {per_second:>10.0} {middle:>10.0} {late:>10.0} {each:>10.0}");
        if name == "belay" {
            own = Some(per_second);
        }
    }
    own
}

/// Memory before, during and after 256 concurrent requests of 1 MB; returns that of `belay`, in megabytes.
pub(crate) fn burst(targets: &[Target], idle: &[u64]) -> Option<[f64; 3]> {
    let mut own = None;
    const CLIENTS: usize = 256;
    println!("\n{CLIENTS} requests of 1 MB at once; resident memory in MB");
    println!("{:<8} {:>10} {:>10} {:>10}", "", "idle", "peak", "afterwards");
    for (target, idle) in targets.iter().zip(idle).filter(|(target, _)| target.every == 1) {
        let pid = target.process.id();
        reset_peak(pid);
        let start = Arc::new(Barrier::new(CLIENTS));
        std::thread::scope(|scope| {
            for index in 0..CLIENTS {
                let start = Arc::clone(&start);
                scope.spawn(move || {
                    let talk = Conversation::new(1 << 20, false);
                    let request = talk.request(target.address, &format!("burst{index}"), &target.lines);
                    let mut client = Client::new(target.address);
                    start.wait();
                    client.ask(&request);
                });
            }
        });
        let highest = peak(pid);
        // Queued records are stored, and idle buffers are released.
        std::thread::sleep(Duration::from_secs(3));
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let [idle, highest, after] = [*idle, highest, memory(pid)].map(mb);
        println!("{:<8} {idle:>10.1} {highest:>10.1} {after:>10.1}", target.name);
        if target.name == "belay" {
            own = Some([idle, highest, after]);
        }
    }
    own
}

/// The cost of a request by the number of stored sessions.
pub(crate) fn growth(target: &Target, scratch: &Path) {
    const CLIENTS: usize = 16;
    println!("\n1 KB through {} by sessions in the store; microseconds", target.name);
    println!("{:>10} {:>8} {:>8} {:>10}", "sessions", "p50", "p99", "memory MB");
    let (mut known, mut talk) = (0, Conversation::new(1 << 10, false));
    for wanted in [100, 1_000, 10_000, 100_000] {
        let next = AtomicUsize::new(known);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let talk = Conversation::new(1 << 10, false);
                    let mut client = Client::new(target.address);
                    loop {
                        let session = next.fetch_add(1, Ordering::Relaxed);
                        if session >= wanted {
                            return;
                        }
                        client.ask(&talk.request(target.address, &format!("grown{session}"), ""));
                    }
                });
            }
        });
        known = wanted;
        let stored = written(scratch, wanted);
        let mut client = Client::new(target.address);
        let mut ask = || {
            talk.grow();
            client.ask(&talk.request(target.address, "grown0", "")).total
        };
        let timings: Vec<Duration> = (0..1000).map(|_| ask()).collect();
        let at = |percent| micros(percentile(timings.iter().copied(), percent));
        println!("{stored:>10} {:>8.0} {:>8.0} {:>10.1}", at(50), at(99), memory(target.process.id()) as f64 / 1e6);
    }
}

/// What is in the store.
fn totals(scratch: &Path) -> serde_json::Value {
    let mut command = Command::new(binary().expect("it runs already"));
    let output = command.arg("--home").arg(home(scratch)).args(["status", "--json"]).output().expect("a status");
    let mut status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    status["totals"].take()
}

/// Waits until the store has at least this many sessions; returns their number.
fn written(scratch: &Path, wanted: usize) -> u64 {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let totals = totals(scratch);
        let by_state = totals["sessions"].as_object().into_iter().flatten();
        let sessions: u64 = by_state.filter_map(|(_, count)| count.as_u64()).sum();
        if sessions >= wanted as u64 || Instant::now() > until {
            return sessions;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
