//! Which hooks may wait for an answer: those that have nothing to say.

use std::cell::RefCell;
use std::time::Duration;

use belay_agents::hook::HookPoint;
use belay_core::event::OperatorDecision;
use belay_hooks::{HookHost, HookOffer};
use belay_ipc::HookTicket;
use serde_json::{Value, json};

use crate::scene::{Scene, key};

/// Takes every offer.
#[derive(Default)]
struct Host(RefCell<Vec<HookOffer>>);

impl HookHost for Host {
    fn offer(&self, offer: HookOffer) -> Option<HookTicket> {
        self.0.borrow_mut().push(offer);
        Some(HookTicket { id: "t1".to_owned(), wait_ms: 1, repeat: false })
    }
}

/// What one hook call offers.
fn offered(scene: &mut Scene, agent: &str, event: &str, payload: Value) -> Option<HookOffer> {
    let host = Host::default();
    let request = scene.ask(agent, event, payload);
    let response = scene.give_to(&request, &host);
    let offer = host.0.into_inner().pop();
    assert_eq!(response.ticket.is_some(), offer.is_some());
    assert!(offer.as_ref().is_none_or(|offer| offer.hook == request.id && response.stdout.is_empty()));
    offer
}

fn payload(event: &str) -> Value {
    let (input, response) = (json!({ "command": "make" }), json!({ "stdout": "done", "stderr": "" }));
    json!({
        "session_id": "s1", "hook_event_name": event, "tool_name": "Bash", "tool_input": input,
        "tool_response": response, "tool_use_id": "toolu_1", "prompt": "Build it",
    })
}

#[test]
fn a_hook_at_a_prompt_after_a_tool_and_at_the_end_of_a_turn_is_offered() {
    let mut scene = Scene::new();
    for (event, point) in [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PreToolUse", None),
        ("PermissionRequest", Some(HookPoint::Permission)),
        ("PostToolUse", Some(HookPoint::AfterTool)),
        ("Stop", Some(HookPoint::TurnEnd)),
        ("SessionEnd", None),
    ] {
        let offer = offered(&mut scene, "claude-code", event, payload(event));
        assert_eq!(offer.as_ref().map(|offer| offer.point), point, "{event}");
        let Some(offer) = offer else { continue };
        assert_eq!(offer.session, key("claude-code", "s1"));
        assert_eq!(offer.permission.map(|prompt| prompt.text), (event == "PermissionRequest").then(|| "make".into()));
    }
}

#[test]
fn an_offer_knows_how_long_its_agent_waits_also_under_another_agents_names() {
    let mut scene = Scene::new();
    let copilot = json!({ "sessionId": "s1", "stopReason": "end_turn" });
    let offer = offered(&mut scene, "copilot", "agentStop", copilot).unwrap();
    assert_eq!((offer.point, offer.event.timeout), (HookPoint::TurnEnd, Duration::from_secs(150)));
    let asks = json!({ "sessionID": "s1", "callID": "c1", "permission": "bash make", "tool": "bash",
        "args": { "command": "make" } });
    let offer = offered(&mut scene, "opencode", "permission.asked", asks).unwrap();
    assert_eq!(offer.event.timeout, Duration::from_secs(600));
}

#[test]
fn a_hook_that_says_why_its_session_is_held_is_not_offered() {
    let mut scene = Scene::new();
    assert!(offered(&mut scene, "claude-code", "PostToolUse", payload("PostToolUse")).is_some());
    scene.decide(&key("claude-code", "s1"), OperatorDecision::Pause);
    assert!(offered(&mut scene, "claude-code", "PermissionRequest", payload("PermissionRequest")).is_none());
}
