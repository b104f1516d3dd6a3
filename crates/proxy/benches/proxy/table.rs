//! Runs everything and prints the tables.

use std::net::SocketAddr;
use std::time::Duration;

use crate::bars::{Bars, Row};
use crate::client::{Client, Timing};
use crate::load::Conversation;
use crate::paced;
use crate::process::{Process, cpu, memory};
use crate::strain;
use crate::targets::{Target, start};

const ALL: &[&str] = &["belay", "relay", "nginx", "hyper", "portkey", "litellm"];
/// Measured only if named: every additional target makes the caches colder.
const FLOOR: &str = "copy";
const SIZES: &[(&str, usize)] = &[("1 KB", 1 << 10), ("100 KB", 100 << 10), ("1 MB", 1 << 20)];

pub(crate) fn print(names: &[&str]) {
    let scratch = std::env::temp_dir().join(format!("belay-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a scratch directory");
    let (_upstream, address) = Process::start_self(&["serve", "upstream"]);
    let mut targets = Vec::new();
    let wanted = |name: &&str| names.contains(name) || (names.is_empty() && *name != FLOOR);
    for name in ALL.iter().copied().chain([FLOOR]).filter(wanted) {
        match start(name, address, &scratch) {
            Ok(target) => targets.push(target),
            Err(problem) => println!("skipped {name}: {problem}"),
        }
    }
    let idle: Vec<u64> = targets.iter().map(|target| memory(target.process.id())).collect();
    let mut bars = Bars::default();
    for streaming in [false, true] {
        for (label, size) in SIZES {
            bars.rows.extend(sequential(label, *size, streaming, address, &targets));
        }
    }
    paced::print(address, &targets);
    println!("\nLoop Watchdog (0.1.0, as measured on two idle cores): plain +28,800 p50, +39,600 p99, CPU 29,600;");
    println!("streaming, first byte +23,000; 31 req/s at 32 connections; +66,700 with 1,000 sessions stored");
    bars.per_second = strain::throughput(&targets, address, &scratch);
    bars.memory = strain::burst(&targets, &idle);
    if let Some(belay) = targets.iter().find(|target| target.name == "belay") {
        strain::growth(belay, &scratch);
    }
    bars.print();
    drop(targets);
    let _ = std::fs::remove_dir_all(scratch);
}

/// One request at a time, to every target in turn.
fn sequential(label: &'static str, size: usize, streaming: bool, direct: SocketAddr, targets: &[Target]) -> Vec<Row> {
    let rounds: usize = match size {
        0..=10_000 => 3000,
        10_001..=200_000 => 1500,
        // With fewer rounds, cache effects dominate.
        _ => 1000,
    };
    let addresses: Vec<SocketAddr> =
        std::iter::once(direct).chain(targets.iter().map(|target| target.address)).collect();
    let mut clients: Vec<Client> = addresses.iter().map(|address| Client::new(*address)).collect();
    let mut every: Vec<usize> = std::iter::once(1).chain(targets.iter().map(|target| target.every)).collect();
    let lines: Vec<&str> = std::iter::once("").chain(targets.iter().map(|target| target.lines.as_str())).collect();
    let mut timings: Vec<Vec<Timing>> = vec![Vec::new(); clients.len()];
    let mut talk = Conversation::new(size, streaming);
    let (mut before, mut sent) = (Vec::new(), 0);
    let mut order = Order::new(clients.len());
    let warm_up = rounds / 10;
    for round in 0..rounds + warm_up {
        if round == warm_up {
            timings.iter_mut().for_each(Vec::clear);
            before = targets.iter().map(spent_by).collect();
        }
        talk.grow();
        sent += talk.len();
        order.shuffle();
        for index in order.indices.clone() {
            if every[index] == usize::MAX || round % every[index] != 0 {
                continue;
            }
            let session = format!("{label}{streaming}").replace(' ', "");
            let request = talk.request(addresses[index], &session, lines[index]);
            match clients[index].try_ask(&request) {
                Ok(timing) => timings[index].push(timing),
                // Only third-party targets may fail; they are then skipped.
                Err(problem) if every[index] > 1 => {
                    println!("{} fails at {label}: {problem}", targets[index - 1].name);
                    every[index] = usize::MAX;
                }
                Err(problem) => panic!("{}: {problem}", addresses[index]),
            }
        }
    }
    let since = |(target, before): (&Target, &[Duration; 2])| {
        let now = spent_by(target);
        [now[0].saturating_sub(before[0]), now[1].saturating_sub(before[1])]
    };
    let spent: Vec<[Duration; 2]> = targets.iter().zip(&before).map(since).collect();
    let what = if streaming { "streaming" } else { "plain" };
    let average = sent as f64 / (rounds + warm_up) as f64 / 1024.0;
    println!("\n{what}, {label} ({average:.1} KB on average), {rounds} requests each; microseconds");
    println!("{:<8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "first", "p50", "added", "p99", "CPU", "to keep");
    let (mut floor, mut rows) = (0.0, Vec::new());
    for (index, timings) in timings.iter_mut().enumerate() {
        if timings.is_empty() {
            continue;
        }
        let first = percentile(timings.iter().map(|timing| timing.first), 50);
        let p50 = percentile(timings.iter().map(|timing| timing.total), 50);
        let p99 = percentile(timings.iter().map(|timing| timing.total), 99);
        if index == 0 {
            floor = micros(p50);
            println!("{:<8} {:>8.0} {:>8.0} {:>8} {:>8.0} {:>8}", "direct", micros(first), floor, "", micros(p99), "");
            continue;
        }
        let [cpu, kept] = spent[index - 1].map(|spent| micros(spent) / timings.len().max(1) as f64);
        // CPU time of the recorder: building events, deciding and storing.
        let kept = if kept > 0.0 { format!("{kept:>8.0}") } else { String::new() };
        let (name, first, added) = (targets[index - 1].name, micros(first), micros(p50) - floor);
        println!("{name:<8} {first:>8.0} {:>8.0} {added:>+8.0} {:>8.0} {cpu:>8.0} {kept}", micros(p50), micros(p99));
        rows.push(Row { size: label, streaming, name, first, added, cpu });
    }
    rows
}

/// The order of a round, shuffled each time: the first target finds other cores awake than the next, and in a fixed or
/// rotated order each would always follow the same one.
pub(crate) struct Order {
    pub(crate) indices: Vec<usize>,
    state: u64,
}

impl Order {
    pub(crate) fn new(count: usize) -> Self {
        Self { indices: (0..count).collect(), state: 1 }
    }

    pub(crate) fn shuffle(&mut self) {
        for last in (1..self.indices.len()).rev() {
            // Knuth's MMIX generator: the same orders in every run.
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.indices.swap(last, (self.state >> 33) as usize % (last + 1));
        }
    }
}

/// CPU time of a target so far, and the recorder's share of it.
fn spent_by(target: &Target) -> [Duration; 2] {
    let id = target.process.id();
    [cpu(id, ""), cpu(id, "recorder")]
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

pub(crate) fn percentile(values: impl Iterator<Item = Duration>, percent: usize) -> Duration {
    let mut values: Vec<Duration> = values.collect();
    values.sort_unstable();
    values.get(values.len() * percent / 100).or(values.last()).copied().unwrap_or_default()
}
