//! Any bytes as a chunked body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_proxy::fuzz::framing(data));
