//! Any bytes as an answer of any model API, packed or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_proxy::fuzz::answer(data));
