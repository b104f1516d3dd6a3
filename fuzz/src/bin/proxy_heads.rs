//! Any bytes as the head of a request or an answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_proxy::fuzz::heads(data));
