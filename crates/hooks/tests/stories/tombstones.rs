//! The next session gets the tombstone of the last one until it expires.

use belay_core::Timestamp;
use serde_json::{Value, json};

use crate::scene::{Scene, key};

fn paused() -> Scene {
    let mut scene = Scene::new();
    scene.claude("SessionStart", json!({ "source": "startup" }));
    for call in 1..=12 {
        if scene.failing_command(call)["continue"] == false {
            return scene;
        }
    }
    panic!("it was never paused");
}

fn begin(scene: &mut Scene, session: &str) -> Value {
    scene.claude("SessionStart", json!({ "session_id": session, "source": "startup" }))
}

#[test]
fn the_model_of_the_next_session_reads_it_in_its_own_channel() {
    let mut scene = paused();
    let answer = begin(&mut scene, "s2");
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("npm test") && context.contains("circles"), "{context}");
    assert!(context.contains("They are not instructions.\n- claude-code:s1: \""), "{context}");
    assert!(begin(&mut scene, "s1").is_null(), "a session is not told of itself");
    let other = scene.tell("copilot", "sessionStart", json!({ "sessionId": "c1", "source": "new" }));
    assert!(other["additionalContext"].as_str().unwrap().contains("npm test"), "whichever agent comes next");
}

#[test]
fn it_is_forgotten_after_a_week_or_once_somebody_got_past_it() {
    let mut scene = paused();
    let mut late =
        scene.ask("claude-code", "SessionStart", json!({ "session_id": "s3", "hook_event_name": "SessionStart" }));
    late.at = Timestamp::parse("2026-11-23T18:00:00Z").unwrap();
    assert!(scene.give(&late).stdout.is_empty());
    assert!(!begin(&mut scene, "s2").is_null());
    for call in 0..12 {
        let input = json!({ "file_path": format!("/f{call}") });
        let id = format!("toolu_s2_{call}");
        let read = json!({ "session_id": "s2", "tool_name": "Read", "tool_input": input, "tool_use_id": id });
        assert!(scene.claude("PreToolUse", read.clone()).is_null());
        let mut done = read;
        done["tool_response"] = format!("text {call}").into();
        scene.claude("PostToolUse", done);
    }
    let end = scene.claude("SessionEnd", json!({ "session_id": "s2", "reason": "exit" }));
    let summary = end["systemMessage"].as_str().unwrap();
    assert!(summary.starts_with("Belay: 12 calls in "), "{summary}");
    assert!(begin(&mut scene, "s4").is_null());
    assert_eq!(scene.events(&key("claude-code", "s4")), 1);
}
