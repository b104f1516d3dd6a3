//! `belay explain SESSION` names the event or rule that led to the status, for every value.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{World, lines};

fn ago(seconds: u64, session: &str, kind: &str, more: Value) -> String {
    let at = belay_clock::now() - Duration::from_secs(seconds);
    let mut event = json!({
        "id": format!("{session}-{kind}"), "session": { "agent": "codex", "id": session }, "at": at, "kind": kind,
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event.to_string()
}

#[test]
fn every_status_names_its_evidence() {
    let world = World::new();
    let asked = |subject: &str| json!({ "what": "make", "subject": subject });
    let own = std::process::id();
    let events = [
        ago(9, "works", "prompt", json!({ "text": "Fix it", "by": "person" })),
        ago(9, "asks", "permission_asked", asked("tool")),
        ago(9, "wonders", "turn_ended", json!({ "text": "Which one?" })),
        ago(9, "plans", "permission_asked", asked("plan")),
        ago(9, "greets", "permission_asked", asked("dialog")),
        ago(9, "waits", "waiting", json!({ "what": "the build", "until": "2999-01-01T00:00:00Z" })),
        ago(9, "limited", "limit_hit", json!({ "what": "Limit", "resets_at": "2999-01-01T00:00:00Z" })),
        ago(9, "finished", "turn_ended", json!({ "text": "Done." })),
        ago(9, "idle", "session_started", json!({})),
        ago(9, "failed", "turn_ended", json!({ "failed": true })),
        // Its id belongs to a younger process. A stall needs one that is older than its silence; core tests it.
        ago(3_600, "gone", "session_started", json!({ "pid": own })),
        ago(3_599, "gone", "prompt", json!({ "text": "Fix it", "by": "person" })),
        ago(9, "ended", "session_ended", json!({})),
        ago(3_600, "silent", "prompt", json!({ "text": "Fix it", "by": "person" })),
        ago(9, "held", "prompt", json!({ "text": "Fix it", "by": "person" })),
    ];
    let posted = world.run_with(&["events", "post"], &lines(&events));
    assert_eq!(posted.code, Some(0), "{posted:?}");
    assert_eq!(world.run(&["pause", "held"]).code, Some(0));
    for (session, label, evidence) in [
        ("works", "working", "prompt"),
        ("asks", "permission", "permission_asked"),
        ("wonders", "question", "turn_ended"),
        ("plans", "plan approval", "permission_asked"),
        ("greets", "dialog", "permission_asked"),
        ("waits", "waiting", "waiting"),
        ("limited", "limited", "limit_hit"),
        ("finished", "finished", "turn_ended"),
        ("idle", "idle", "session_started"),
        ("failed", "failed", "turn_ended"),
        ("gone", "failed", "process_gone"),
        ("ended", "ended", "session_ended"),
        ("silent", "unknown", "silence"),
        ("held", "held", "hold"),
    ] {
        let said = world.run(&["explain", session]);
        assert!(said.out.contains(&format!(" is {label}: ")), "{session}: {said:?}");
        assert!(said.out.contains(&format!("evidence      {evidence}, by ")), "{session}: {said:?}");
    }
}
