//! Any bytes as a session file of copilot: read what can be read, count the rest, never panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_fuzz::read("copilot", data));
