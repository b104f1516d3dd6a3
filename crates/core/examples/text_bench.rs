//! Throughput of the text readers: `cargo run --release -p belay-core --example text_bench`.
//!
//! Prints MB/s on one core for normalisation, redaction, outcomes, repetition and actions, over generated
//! text that looks like what agents see. Figures are for an idle machine.

#![expect(clippy::print_stdout, reason = "printing figures is its purpose")]
#![expect(clippy::disallowed_methods, reason = "a bench needs the clock")]

use std::hint::black_box;
use std::time::Instant;

use belay_core::action::{Action, classify};
use belay_core::outcome::{Outcome, normalise};
use belay_core::redact::redact;
use belay_core::repetition::{RepetitionDetector, RepetitionRules};
use serde_json::json;

fn main() {
    let log = log(256 << 10);
    let code = code(256 << 10);
    let prose = prose(256 << 10);
    for (name, text) in [("log", &log), ("code", &code), ("prose", &prose)] {
        rate(&format!("normalise {name}"), text.len(), || black_box(normalise(black_box(text))).len());
        rate(&format!("redact {name}"), text.len(), || redact(black_box(text)).len());
        rate(&format!("repetition {name}"), text.len(), || {
            usize::from(RepetitionDetector::find_in_text(black_box(text), &RepetitionRules::default()).is_some())
        });
        let pieces: Vec<&str> = pieces(text, 4096).collect();
        rate(&format!("outcome of {name}, 4 KiB each"), text.len(), || {
            pieces.iter().map(|piece| Outcome::from_output(black_box(piece), None).len as usize).sum()
        });
    }
    let start = Instant::now();
    black_box(redact("nothing to see here"));
    println!("{:<36} {:>9.1} µs", "redact, first call of a process", start.elapsed().as_secs_f64() * 1e6);
    let input =
        json!({"command": "cd /repo && timeout 60 cargo test -p core 2>&1 | tail -40", "description": "run the tests"});
    each("Action::of a command", || Action::from_tool_call(classify("Bash", &input), "Bash", &input).0.key.0 as usize);
    let input = json!({"file_path": "/repo/src/lib.rs", "old_string": "let x = 1;\n".repeat(20), "new_string": "let x = 2;\n".repeat(20)});
    each("Action::of an edit", || Action::from_tool_call(classify("Edit", &input), "Edit", &input).0.key.0 as usize);
}

/// The best of several rounds, to exclude other processes.
fn rate(name: &str, bytes: usize, mut work: impl FnMut() -> usize) {
    let best = (0..60)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    println!("{name:<36} {:>9.0} MB/s", bytes as f64 / best.as_secs_f64() / 1e6);
}

fn each(name: &str, mut work: impl FnMut() -> usize) {
    const TIMES: u32 = 200;
    let best = (0..60)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TIMES {
                black_box(work());
            }
            start.elapsed() / TIMES
        })
        .min()
        .unwrap_or_default();
    println!("{name:<36} {:>9.2} µs", best.as_secs_f64() * 1e6);
}

fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(size.min(rest.len())));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn fill(size: usize, mut line: impl FnMut(usize) -> String) -> String {
    let mut out = String::with_capacity(size + 256);
    for i in 0.. {
        out.push_str(&line(i));
        if out.len() >= size {
            break;
        }
    }
    out
}

fn log(size: usize) -> String {
    fill(size, |i| {
        let tone = i * 7919 % 997;
        match i % 4 {
            0 => format!(
                "2026-11-15T10:{:02}:{:02}.{:03}Z INFO worker[{}] handled request in {}.{}ms\n",
                i / 60 % 60,
                i % 60,
                tone,
                4000 + i % 99,
                tone,
                i % 10
            ),
            1 => format!("test module_{}::case_{tone} ... ok ({}ms)\n", i % 50, i % 300),
            2 => {
                format!("   Compiling crate-{tone} v0.{}.{} (/home/user/project/crates/crate-{tone})\n", i % 30, i % 9)
            }
            _ => format!("\u{1b}[32m\u{2713}\u{1b}[0m src/components/view{tone}.test.ts > renders case {i}\n"),
        }
    })
}

fn code(size: usize) -> String {
    fill(size, |i| {
        let name = i * 31 % 9973;
        format!(
            "    /// Looks up value {name} in the cache.\n    pub fn value_{name}(&self, key: &str) -> Option<&Entry> {{\n        self.entries.get(key).filter(|entry| entry.index > {i})\n    }}\n\n"
        )
    })
}

fn prose(size: usize) -> String {
    const WORDS: &[&str] = &[
        "the", "reader", "waits", "for", "a", "lock", "that", "nobody", "holds", "because", "writer", "has", "gone",
        "and", "queue", "is", "empty", "again",
    ];
    let mut state = 1usize;
    fill(size, |i| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[(state >> 33) % WORDS.len()];
        if i % 17 == 16 { format!("{word}{}.\n", state >> 50) } else { format!("{word} ") }
    })
}
