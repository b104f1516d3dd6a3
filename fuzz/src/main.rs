//! All fuzz targets in one binary: libFuzzer is linked once, and so is the code under test.
//!
//! `belay-fuzz --target=NAME CORPUS... -runs=N` fuzzes one target, `belay-fuzz --target=NAME FILE` reproduces a crash,
//! and `belay-fuzz --list` prints every target with the number of runs of its smoke test. libFuzzer ignores arguments
//! that start with two dashes, so these are ours.

#![no_main]

mod event;
mod hook;
mod review;
mod settings_file;
mod text;
mod transcript;

use std::sync::OnceLock;

use belay_agents::event_log_format::EventLogFormat;
use belay_agents::tool_call_format::ToolCallFormat;
use belay_proxy::fuzz as proxy;

struct Target {
    name: &'static str,
    /// Inputs of a smoke test: a few seconds on an idle machine.
    smoke_runs: u32,
    run: fn(&[u8]),
}

const fn target(name: &'static str, smoke_runs: u32, run: fn(&[u8])) -> Target {
    Target { name, smoke_runs, run }
}

const TARGETS: &[Target] = &[
    target("event", 100_000, event::event),
    target("hook", 50_000, hook::hook),
    target("loop_watchdog", 100_000, event::loop_watchdog),
    target("normalise", 100_000, text::normalise),
    target("outcome", 50_000, event::outcome),
    target("proxy_response", 12_000, proxy::response),
    target("proxy_conversation", 50_000, proxy::conversation),
    target("proxy_framing", 100_000, proxy::framing),
    target("proxy_heads", 100_000, proxy::heads),
    target("proxy_sse", 100_000, proxy::sse),
    target("redact", 100_000, text::redact),
    target("review_diff", 100_000, review::diff),
    target("review_verdict", 50_000, review::verdict),
    target("settings_file", 50_000, settings_file::settings_file),
    target("transcript_aider", 2_000, |data| transcript::agent("aider", data)),
    target("transcript_claude_code", 2_000, |data| transcript::agent("claude-code", data)),
    target("transcript_codex", 2_000, |data| transcript::agent("codex", data)),
    target("transcript_copilot", 2_000, |data| transcript::agent("copilot", data)),
    target("transcript_events", 2_000, |data| transcript::format(&EventLogFormat, data)),
    target("transcript_gemini", 2_000, |data| transcript::agent("gemini", data)),
    target("transcript_opencode", 2_000, |data| transcript::agent("opencode", data)),
    target("transcript_pi", 2_000, |data| transcript::agent("pi", data)),
    target("transcript_qwen", 2_000, |data| transcript::agent("qwen", data)),
    target("transcript_toolcalls", 2_000, |data| transcript::format(&ToolCallFormat, data)),
];

static SELECTED: OnceLock<&'static Target> = OnceLock::new();

/// Reads our own arguments before libFuzzer reads its own.
fn select() {
    for argument in std::env::args().skip(1) {
        if argument == "--list" {
            for target in TARGETS {
                println!("{} {}", target.name, target.smoke_runs);
            }
            std::process::exit(0);
        }
        if let Some(name) = argument.strip_prefix("--target=")
            && let Some(target) = TARGETS.iter().find(|target| target.name == name)
        {
            let _ = SELECTED.set(target);
        }
    }
    if SELECTED.get().is_none() {
        eprintln!("usage: belay-fuzz --target=NAME [CORPUS...] [-LIBFUZZER_FLAG...]; --list prints the targets");
        std::process::exit(2);
    }
}

libfuzzer_sys::fuzz_target!(init: select(), |data: &[u8]| {
    if let Some(target) = SELECTED.get() {
        (target.run)(data);
    }
});
