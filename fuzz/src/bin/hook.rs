//! Any bytes as a hook payload of any agent: no panic, nothing unbounded, and a plain "go on" when
//! we have nothing against it. The first byte picks the agent; the event's name follows up to a line
//! break.
#![no_main]

use belay_agents::hook::{DIALECTS, Reply, Told};
use belay_core::{Time, Verdict};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let (event, payload) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (std::str::from_utf8(&rest[..at]).ok(), &rest[at + 1..]),
        None => (None, rest),
    };
    let dialect = DIALECTS[usize::from(*first) % DIALECTS.len()];
    let heard = dialect.hear(&Told { id: "h1", event, payload, at: Time::from_millis(1), exit_code: None });
    for event in &heard.events {
        let json = serde_json::to_vec(event).expect("an event serialises");
        assert!(json.len() < 32 * 1024, "an event is bounded, this one has {} bytes", json.len());
    }
    assert!(dialect.answer(&heard, &Reply::GO).is_empty());
    let hold = Verdict::Hold { incident: "i".into(), reason: "r".into(), until: None, plan_required: false };
    let answer = dialect.answer(&heard, &Reply { verdict: &hold, context: Some("c"), person: Some("p") });
    assert!(answer.is_empty() || serde_json::from_slice::<serde_json::Value>(&answer).is_ok());
});
