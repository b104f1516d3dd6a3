//! `belay tombstones`, and the tombstones shown to the next sessions of a project.

use std::path::Path;

use serde_json::json;

use crate::hook::{hook, payload};
use crate::world::{World, session_starts};

/// How each agent reports a session start, and where its model reads the reply.
const BEGINNINGS: &[(&str, &str, &str, &str)] = &[
    (
        "claude-code",
        "",
        r#"{"session_id":"s2","hook_event_name":"SessionStart"}"#,
        "/hookSpecificOutput/additionalContext",
    ),
    ("codex", "", r#"{"session_id":"s2","hook_event_name":"SessionStart"}"#, "/hookSpecificOutput/additionalContext"),
    ("copilot", "sessionStart", r#"{"sessionId":"s2","source":"new"}"#, "/additionalContext"),
    ("gemini", "", r#"{"session_id":"s2","hook_event_name":"SessionStart"}"#, "/hookSpecificOutput/additionalContext"),
    ("qwen", "", r#"{"session_id":"s2","hook_event_name":"SessionStart"}"#, "/hookSpecificOutput/additionalContext"),
];

#[test]
fn the_next_session_and_its_person_can_see_the_tombstones() {
    let world = World::alone();
    session_starts(&world, "s1");
    assert_eq!(world.run(&["kill", "s1", "--note", "it deleted the tests"]).code, Some(0));
    let output = world.run(&["tombstones", "--json"]).json();
    assert_eq!(output["tombstones"][0]["pattern"], "killed", "{output}");
    assert!(world.run(&["tombstones"]).out.contains("claude-code:s1"));
    let cwd = world.path("home/code/app");
    for (agent, event, payload, place) in BEGINNINGS {
        let mut payload: serde_json::Value = serde_json::from_str(payload).unwrap();
        payload["cwd"] = cwd.to_str().unwrap().into();
        let args: Vec<&str> = ["hook", agent, event].into_iter().filter(|word| !word.is_empty()).collect();
        let shown = world.run_with(&args, payload.to_string().as_bytes()).json();
        let text = shown.pointer(place).and_then(|text| text.as_str()).unwrap_or_else(|| panic!("{agent}: {shown}"));
        assert!(text.contains("deleted the tests"), "{agent}: {text}");
    }
    // Another project gets no tombstone.
    let elsewhere = json!({ "session_id": "s3", "hook_event_name": "SessionStart", "cwd": world.path("home") });
    assert_eq!(world.run_with(&["hook", "claude-code"], elsewhere.to_string().as_bytes()).out, "");
    assert_eq!(world.run(&["tombstones", "--clear"]).code, Some(0));
    assert_eq!(world.run(&["tombstones", "--json"]).json()["tombstones"].as_array().unwrap().len(), 0);
}

#[test]
fn linked_worktrees_are_one_project() {
    let world = World::alone();
    let (main, linked) = (world.path("home/code/app"), world.path("home/code/feature"));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let output = world.program("git").args(identity).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let starts = |session: &str, cwd: &Path| {
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "cwd": cwd });
        world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).out
    };
    starts("s1", &linked);
    assert_eq!(world.run(&["kill", "s1", "--note", "it deleted the tests"]).code, Some(0));
    assert!(starts("s2", &main).contains("deleted the tests"));
    let sessions = world.run(&["sessions", "--json"]).json();
    for session in sessions["sessions"].as_array().unwrap() {
        assert_eq!(session["project"], main.canonicalize().unwrap().to_str().unwrap(), "{session}");
    }
    // The rules are those of the main work tree, which an agent in a worktree does not see.
    std::fs::write(linked.join(".belay.toml"), "[detect.allow]\nactions = [\"Bash:make\"]\n").unwrap();
    std::fs::write(main.join(".belay.toml"), "[detect.ladder]\npause_at = 3\n").unwrap();
    starts("s3", &linked);
    for call in ["t1", "t2", "t3", "t4"] {
        let mut payload = payload("PreToolUse", "s3", call, "make");
        payload["cwd"] = linked.to_str().unwrap().into();
        hook(&world, &payload);
        payload["hook_event_name"] = "PostToolUseFailure".into();
        payload["error"] = "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.".into();
        hook(&world, &payload);
    }
    assert_eq!(world.run(&["show", "s3", "--json"]).json()["session"]["state"], "paused", "instead of nudged");
    // A copy of the worktree's `.git` file does not make a directory part of the repository.
    let stranger = world.path("home/code/stranger");
    std::fs::create_dir_all(&stranger).unwrap();
    std::fs::copy(linked.join(".git"), stranger.join(".git")).unwrap();
    assert_eq!(starts("s4", &stranger), "");
}

#[test]
fn a_session_is_told_of_three_at_most_and_no_longer_than_they_live() {
    let world = World::alone();
    for session in ["aaa", "bbb", "ccc", "ddd"] {
        session_starts(&world, session);
        assert_eq!(world.run(&["kill", session, "--note", &format!("note-{session}")]).code, Some(0));
    }
    let shown = |session: &str| {
        let cwd = world.path("home/code/app");
        let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "cwd": cwd });
        world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).out
    };
    let text = shown("eee");
    assert_eq!(text.matches("note-").count(), 3, "{text}");
    assert!(!text.contains("note-aaa"), "the newest are told: {text}");
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    assert_eq!(store.execute("UPDATE tombstones SET expires_at = at + 1", []).unwrap(), 4);
    assert_eq!(shown("fff"), "");
    assert_eq!(world.run(&["tombstones", "--json"]).json()["tombstones"], json!([]));
}

#[test]
fn tombstones_are_deleted_one_by_one_and_expire_as_configured() {
    let world = World::alone();
    for session in ["aaa", "bbb"] {
        session_starts(&world, session);
        assert_eq!(world.run(&["kill", session, "-m", "wrong branch"]).code, Some(0));
    }
    assert_eq!(world.run(&["tombstones", "aaa", "--clear"]).out, "Deleted 1 tombstone.\n");
    let left = world.run(&["tombstones", "--all", "--json"]).json();
    assert_eq!(left["tombstones"][0]["session"]["id"], "bbb", "{left}");
    assert_eq!(left["tombstones"].as_array().unwrap().len(), 1);
    let days = |stone: &serde_json::Value| {
        let time = |key: &str| belay_core::Timestamp::parse(stone[key].as_str().unwrap()).unwrap();
        time("expires_at").saturating_since(time("at")).as_secs() / 86_400
    };
    assert_eq!(days(&left["tombstones"][0]), 7);
    assert_eq!(world.run(&["config", "set", "detect.tombstone_days", "1"]).code, Some(0));
    session_starts(&world, "ccc");
    assert_eq!(world.run(&["kill", "ccc", "-m", "wrong branch"]).code, Some(0));
    assert_eq!(days(&world.run(&["tombstones", "ccc", "--json"]).json()["tombstones"][0]), 1);
    assert_eq!(world.run(&["config", "set", "detect.tombstone_days", "0"]).code, Some(0));
    session_starts(&world, "ddd");
    assert_eq!(world.run(&["kill", "ddd", "-m", "wrong branch"]).code, Some(0));
    assert_eq!(world.run(&["tombstones", "ddd", "--json"]).json()["tombstones"], json!([]));
}
