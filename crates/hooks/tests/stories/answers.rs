//! An answer in the agent's terminal fires no hook; the resident process finds it in the session file.

use belay_core::status::Phase;
use serde_json::json;

use crate::scene::{Scene, key};

const INTERRUPTED: &str = r#"{"type":"user","isSidechain":false,"message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"timestamp":"2026-11-15T18:01:00Z"}"#;

fn phase(scene: &Scene) -> Phase {
    let row = scene.engine.borrow().store().unwrap().session(&key("claude-code", "s1")).unwrap().unwrap();
    row.details.phase.phase
}

fn asks(scene: &mut Scene, file: &str) {
    let call = json!({ "tool_name": "Bash", "tool_input": { "command": "make" }, "tool_use_id": "toolu_1",
        "transcript_path": file });
    scene.claude("SessionStart", json!({ "source": "startup", "transcript_path": file }));
    scene.claude("UserPromptSubmit", json!({ "prompt": "Build it", "transcript_path": file }));
    scene.claude("PreToolUse", call.clone());
    scene.claude("PermissionRequest", call);
}

#[test]
fn a_rejected_permission_ends_the_waiting() {
    let mut scene = Scene::new();
    let file = scene.write("s1.jsonl", "");
    asks(&mut scene, &file);
    scene.poll();
    assert!(matches!(phase(&scene), Phase::Permission { .. }), "{:?}", phase(&scene));
    scene.write("s1.jsonl", &format!("{INTERRUPTED}\n"));
    scene.poll();
    assert_eq!(phase(&scene), Phase::Ready);
    let events = scene.events(&key("claude-code", "s1"));
    scene.poll();
    assert_eq!(scene.events(&key("claude-code", "s1")), events, "nothing is recorded twice");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let mut scene = Scene::new();
    let file = scene.write("s1.jsonl", "");
    asks(&mut scene, &file);
    let other = scene.write("other.jsonl", &format!("{INTERRUPTED}\n"));
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(other, &file).unwrap();
    scene.poll();
    assert!(matches!(phase(&scene), Phase::Permission { .. }), "{:?}", phase(&scene));
}
