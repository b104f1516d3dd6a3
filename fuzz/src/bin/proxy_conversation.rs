//! Any bytes as the bodies of one conversation.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| belay_proxy::fuzz::conversation(data));
