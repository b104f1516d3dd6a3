//! Any JSON as a posted event of a Loop Watchdog client: mapped or refused, never a decision.
#![no_main]

use belay_core::event::lwep::LwepEvent;
use belay_core::{Body, Time};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice(data) else { return };
    if let Ok(posted) = LwepEvent::from_value(&value) {
        for event in posted.into_events("id", Time::from_millis(1)) {
            assert!(!matches!(event.body, Body::Operator(_)));
        }
    }
});
