//! Any bytes as tool-call lines: read what can be read, count the rest, never panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_fuzz::read_as(&belay_agents::event_lines::EventLines, data));
