//! Any bytes as a stream of events.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_proxy::fuzz::sse(data));
