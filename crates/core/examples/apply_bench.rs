//! Events per second on one core through `Session::apply`, digests already computed; and
//! whether an event late in a long session costs more than one early on.
//!
//! `cargo run --release -p belay-core --example apply_bench`

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures time and prints")]

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use belay_core::event::{ModelAnswered, ToolCalled, ToolReturned, Usage};
use belay_core::{Body, CallStatus, Event, Rules, Session, SessionKey, Source, Timestamp};
use serde_json::json;

/// Events of one segment of work. Ids and times differ between segments.
fn segment(first: u64, calls: u64, stuck: bool) -> Vec<Event> {
    let key = SessionKey::new("bench", "session");
    let mut events = Vec::new();
    for n in first..first + calls {
        let at = Timestamp::from_millis(1_767_225_600_000 + n as i64 * 3_000);
        let id = format!("toolu_{n:020}");
        let round = if stuck { n % 4 } else { n };
        let (name, input, output, status) = match n % 4 {
            0 => (
                "Read",
                json!({"file_path": format!("src/module{round}.rs")}),
                format!("pub fn part{round}() {{}}\n"),
                None,
            ),
            1 => (
                "Edit",
                json!({"file_path": format!("src/m{}.rs", round % 50), "old_string": format!("old {round}"), "new_string": format!("new {round}")}),
                "The file has been updated.".to_owned(),
                stuck.then_some(CallStatus::Error),
            ),
            2 => (
                "Bash",
                json!({"command": "cargo test -q"}),
                format!("test a{round} ... FAILED\ntest result: FAILED. {round} passed; 1 failed; finished in 0.31s"),
                Some(CallStatus::Error),
            ),
            _ => (
                "Grep",
                json!({"pattern": format!("word{round}"), "path": "src"}),
                format!("src/a.rs:{round}: word"),
                None,
            ),
        };
        let mut push = |id: String, body| events.push(Event::new(id, key.clone(), Source::Transcript, at, body));
        push(format!("c{n}"), Body::ToolCalled(ToolCalled::new(Some(id.clone()), None, name, &input)));
        push(format!("r{n}"), Body::ToolReturned(ToolReturned::new(Some(id), status, None, &output)));
        let usage = Usage { input: 12, output: 300, cache_read: 90_000, cache_write: 800, ..Usage::default() };
        let answer = ModelAnswered {
            response: Some(format!("msg_{n}")),
            model: Some("claude-sonnet-4-5".to_owned()),
            usage: Some(usage),
            tool_calls: Some(1),
            ..ModelAnswered::default()
        };
        push(format!("a{n}"), Body::ModelAnswered(answer));
    }
    events
}

/// CPU time of this thread, which is comparable on a busy machine; elapsed time on other systems.
fn cpu_nanos() -> u128 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat");
    let spent = spent.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    spent.unwrap_or_else(|| START.elapsed().as_nanos())
}

/// Calls per measured segment.
const SEGMENT: u64 = 20_000;

fn main() {
    let rules = Rules::default();
    println!("{:<44}{:>12}{:>12}{:>10}", "", "events/s", "ns/event", "effects");
    for (name, stuck) in [("healthy work", false), ("loops", true)] {
        let mut session = Session::new(SessionKey::new("bench", "session"));
        for part in 0..5 {
            let events = segment(part * SEGMENT, SEGMENT, stuck);
            let start = cpu_nanos();
            let mut effects = 0;
            for event in &events {
                effects += black_box(session.apply(black_box(event), &rules)).len();
            }
            let nanos = (cpu_nanos() - start) as f64;
            if part == 0 || part == 4 {
                let name = format!("{name}, calls {} to {}", part * SEGMENT + 1, (part + 1) * SEGMENT);
                let nanos = nanos / events.len() as f64;
                let per_second = 1e9 / nanos;
                println!("{name:<44}{per_second:>12.0}{nanos:>12.0}{effects:>10}");
            }
        }
    }
}
