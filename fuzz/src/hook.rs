//! Hook payloads.

use belay_agents::AGENTS;
use belay_agents::hook::{HookInput, HookReply};
use belay_core::{Timestamp, Verdict};

use crate::event::to_bounded_json;

/// Any bytes as a hook payload of any agent: every event is bounded, and the `Go` verdict yields an empty response. The
/// first byte picks the agent; the event's name follows, up to a line break.
pub(crate) fn hook(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let (event, payload) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (std::str::from_utf8(&rest[..at]).ok(), &rest[at + 1..]),
        None => (None, rest),
    };
    let with_hooks: Vec<_> = AGENTS.iter().filter_map(|agent| agent.hooks).collect();
    let protocol = with_hooks[usize::from(*first) % with_hooks.len()].protocol;
    let parsed = protocol.parse_or_default(&HookInput {
        id: "h1",
        event,
        payload,
        at: Timestamp::from_millis(1),
        exit_code: None,
    });
    for event in &parsed.events {
        to_bounded_json(event);
    }
    assert!(protocol.encode_bytes(&parsed, &HookReply::ALLOW).is_empty());
    let hold = Verdict::Hold { incident: "i".into(), reason: "r".into(), until: None, plan_required: false };
    let held = HookReply { verdict: &hold, context: Some("c"), person: Some("p"), continuation: None };
    for reply in [held, HookReply { continuation: Some("k"), ..HookReply::ALLOW }] {
        let answer = protocol.encode_bytes(&parsed, &reply);
        assert!(answer.is_empty() || serde_json::from_slice::<serde_json::Value>(&answer).is_ok());
    }
}
