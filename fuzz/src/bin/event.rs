//! Any bytes as an event: read or refused, never a panic, and what was read survives a round trip.
#![no_main]

use belay_core::Event;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(event) = Event::from_json(data) {
        let json = serde_json::to_vec(&event).expect("an event serialises");
        let again = Event::from_json(&json).expect("what we wrote we can read");
        assert_eq!(event.identity(), again.identity());
        assert!(json.len() < 32 * 1024, "an event is bounded, this one has {} bytes", json.len());
    }
});
