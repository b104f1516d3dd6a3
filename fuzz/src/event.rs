//! Parsing of events, of Loop Watchdog's events, and of tool inputs and outputs.

use belay_compat::loop_watchdog::event::PostedEvent;
use belay_core::event::{ToolCalled, ToolReturned};
use belay_core::{Body, Event, Timestamp};
use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};
use serde_json::Value;

/// The largest event in the log.
const MAX_STORED_BYTES: usize = 32 * 1024;

/// An event serializes, and below the limit.
pub(crate) fn to_bounded_json(event: &Event) -> Vec<u8> {
    let json = serde_json::to_vec(event).expect("an event serializes");
    assert!(json.len() < MAX_STORED_BYTES, "an event is bounded, this one has {} bytes", json.len());
    json
}

/// Any bytes as an event: parsed or rejected, and a parsed event survives a round trip.
pub(crate) fn event(data: &[u8]) {
    if let Ok(event) = Event::from_json(data) {
        let again = Event::from_json(&to_bounded_json(&event)).expect("a written event parses");
        assert_eq!(event.identity_text(), again.identity_text());
    }
}

/// Any JSON as an event of a Loop Watchdog client: mapped or rejected, never an operator's decision.
pub(crate) fn loop_watchdog(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else { return };
    if let Ok(posted) = PostedEvent::from_value(&value) {
        let event = posted.into_event("id", Timestamp::from_millis(1));
        assert!(!matches!(event.body, Body::Operator(_)));
    }
}

/// Any text as the input and the output of a tool: condensing is deterministic.
pub(crate) fn outcome(data: &[u8]) {
    let texts = <(&str, &str, &str)>::arbitrary_take_rest(Unstructured::new(data));
    let Ok((name, input, output)) = texts else { return };
    let value = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let called = ToolCalled::new(None, None, name, &value);
    assert_eq!(called, ToolCalled::new(None, None, name, &value));
    let returned = ToolReturned::new(None, None, None, output);
    assert_eq!(returned.outcome, ToolReturned::new(None, None, None, output).outcome);
}
