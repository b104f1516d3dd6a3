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
        ago(12, "delegates", "prompt", json!({ "text": "Look around", "by": "person" })),
        ago(11, "delegates", "sub_agent_started", json!({ "child": { "agent": "codex", "id": "helper" } })),
        ago(
            9,
            "helper",
            "permission_asked",
            json!({ "what": "make", "parent": { "agent": "codex", "id": "delegates" } }),
        ),
        ago(9, "launched", "session_started", json!({ "how": "launched" })),
    ];
    let posted = world.run_with(&["events", "post"], &lines(&events));
    assert_eq!(posted.code, Some(0), "{posted:?}");
    assert_eq!(world.run(&["pause", "held"]).code, Some(0));
    let mut golden = String::new();
    for (session, label, kind, evidence) in [
        ("works", "working", "event", "prompt"),
        ("asks", "waiting for permission", "event", "permission_asked"),
        ("wonders", "waiting for an answer", "event", "turn_ended"),
        ("plans", "waiting for plan approval", "event", "permission_asked"),
        ("greets", "waiting at a login or trust dialog", "event", "permission_asked"),
        ("waits", "waiting", "event", "waiting"),
        ("limited", "limited", "event", "limit_hit"),
        ("finished", "finished", "event", "turn_ended"),
        ("idle", "idle", "event", "session_started"),
        ("failed", "failed", "event", "turn_ended"),
        ("gone", "failed", "rule", "process_gone"),
        ("ended", "ended", "event", "session_ended"),
        ("silent", "unknown", "rule", "silence"),
        ("held", "held", "rule", "hold"),
        ("delegates", "waiting for permission", "rule", "sub_agent"),
        ("launched", "unknown", "event", "session_started"),
    ] {
        let output = world.run(&["explain", session]);
        assert!(output.out.contains(&format!(" is {label}: ")), "{session}: {output:?}");
        assert!(output.out.contains(&format!("{kind:<14}{evidence}, by ")), "{session}: {output:?}");
        golden.push_str(&world.run_text(&["explain", session]));
        golden.push('\n');
    }
    insta::assert_snapshot!("explain-statuses", golden);
}

#[test]
fn a_parent_is_not_working_while_its_sub_agent_waits() {
    let world = World::new();
    let parent = json!({ "parent": { "agent": "codex", "id": "main" }, "what": "rm -rf build" });
    let events = [
        ago(30, "main", "prompt", json!({ "text": "Look around", "by": "person" })),
        ago(29, "main", "sub_agent_started", json!({ "child": { "agent": "codex", "id": "helper" } })),
        ago(20, "helper", "permission_asked", parent),
    ];
    assert_eq!(world.run_with(&["events", "post"], &lines(&events)).code, Some(0));
    let status = || world.run(&["show", "main", "--json"]).json()["session"]["status"].clone();
    let waiting = status();
    assert_eq!((&waiting["value"], &waiting["waiting_for"]), (&json!("waiting"), &json!("permission")), "{waiting}");
    assert!(world.run(&["sessions"]).out.contains("permission"));
    // The sub-agent's own row has the prompt; the parent is listed with the others, but not as working.
    let overview = world.run(&["top", "--json"]).json();
    assert_eq!(overview["needs"][0]["session"]["id"], "helper", "{overview}");
    assert_eq!(overview["needs"][1], Value::Null, "{overview}");
    assert_eq!(overview["active"][0]["status"]["value"], "waiting", "{overview}");
    // The person rejected it, and prompted the agent again.
    let prompt = ago(1, "main", "prompt", json!({ "text": "Leave it", "by": "person", "id": "again" }));
    assert_eq!(world.run_with(&["events", "post"], &lines(&[prompt])).code, Some(0));
    assert_eq!(status()["value"], "working");
    let overview = world.run(&["top", "--json"]).json();
    assert_eq!(overview["needs"], json!([]), "{overview}");
    let helper = world.run(&["show", "helper", "--json"]).json();
    assert_eq!(helper["session"]["status"]["value"], "unknown", "{helper}");
}

#[test]
fn a_settled_prompt_does_not_hide_that_of_another_sub_agent() {
    let world = World::new();
    let asks = |what: &str| json!({ "parent": { "agent": "codex", "id": "main" }, "what": what });
    let events = [
        ago(30, "main", "prompt", json!({ "text": "Look around", "by": "person" })),
        ago(29, "main", "sub_agent_started", json!({ "child": { "agent": "codex", "id": "early" } })),
        ago(28, "early", "permission_asked", asks("rm -rf build")),
        ago(20, "main", "prompt", json!({ "text": "Leave it", "by": "person", "id": "again" })),
        ago(19, "main", "sub_agent_started", json!({ "child": { "agent": "codex", "id": "late" }, "id": "second" })),
        ago(10, "late", "permission_asked", asks("git push")),
    ];
    assert_eq!(world.run_with(&["events", "post"], &lines(&events)).code, Some(0));
    let status = world.run(&["show", "main", "--json"]).json()["session"]["status"].clone();
    assert_eq!((&status["value"], &status["waiting_for"]), (&json!("waiting"), &json!("permission")), "{status}");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("git push")), "{status}");
    let overview = world.run(&["top", "--json"]).json();
    assert_eq!(overview["needs"][0]["session"]["id"], "late", "{overview}");
    assert_eq!(overview["needs"][1], Value::Null, "{overview}");
}
