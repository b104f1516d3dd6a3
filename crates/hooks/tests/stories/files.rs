//! Edits and undos are detected by file contents, independent of the agent's report.

use belay_core::Body;
use belay_core::event::{ChangeKind, FileChanged};
use belay_store::EventQuery;
use serde_json::json;

use crate::scene::{Scene, key};

fn changes(scene: &Scene, agent: &str) -> Vec<FileChanged> {
    let query =
        EventQuery { session: Some(key(agent, "s1")), kinds: vec!["file_changed".into()], ..EventQuery::default() };
    let rows = scene.engine.borrow().store().unwrap().events(&query).unwrap();
    let change = |body: Body| match body {
        Body::FileChanged(change) => change,
        other => panic!("{other:?}"),
    };
    rows.iter().map(|row| change(row.event().unwrap().body)).collect()
}

#[test]
fn a_patch_that_goes_back_and_forth_shows_its_contents() {
    let mut scene = Scene::new();
    let path = scene.write("a.txt", "one\n");
    for (number, text) in [(1, "two\n"), (2, "one\n"), (3, "two\n")] {
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+y{number}\n*** End Patch");
        let call = json!({
            "session_id": "s1", "tool_name": "apply_patch",
            "tool_input": { "command": patch }, "tool_use_id": format!("call_{number}"),
        });
        let mut before = call.clone();
        before["hook_event_name"] = "PreToolUse".into();
        scene.tell("codex", "PreToolUse", before);
        scene.write("a.txt", text);
        let mut after = call;
        after["hook_event_name"] = "PostToolUse".into();
        after["tool_response"] = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.".into();
        scene.tell("codex", "PostToolUse", after);
    }
    let seen = changes(&scene, "codex");
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|change| change.change == ChangeKind::Modified && change.call.is_some()));
    assert_eq!(seen[0].before, seen[1].after, "the second edit undoes the first");
    assert_eq!(seen[0].after, seen[2].after);
    assert_ne!(seen[0].before, seen[0].after);
}

#[test]
fn relative_new_and_deleted_files() {
    let mut scene = Scene::new();
    let write =
        json!({ "tool_name": "Write", "tool_input": { "file_path": "new.txt", "content": "x" }, "tool_use_id": "t1" });
    scene.claude("PreToolUse", write.clone());
    scene.write("new.txt", "x");
    let mut done = write;
    done["tool_response"] = json!({ "type": "create", "filePath": "new.txt", "content": "x" });
    scene.claude("PostToolUse", done);
    let patch = "*** Begin Patch\n*** Delete File: new.txt\n*** End Patch";
    let gone =
        json!({ "tool_name": "Edit", "tool_input": { "patch": patch }, "tool_use_id": "t2", "tool_response": "ok" });
    scene.claude("PreToolUse", gone.clone());
    std::fs::remove_file(scene.path("new.txt")).unwrap();
    scene.claude("PostToolUse", gone);
    let seen = changes(&scene, "claude-code");
    let kinds: Vec<_> = seen.iter().map(|change| (change.change, change.after.is_some())).collect();
    assert_eq!(kinds, [(ChangeKind::Created, true), (ChangeKind::Deleted, false)]);
}
