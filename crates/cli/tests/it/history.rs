//! The dashboard's history page with a real resident process: audits, settings on trial, clearing.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::audit::{FILE, stuck};
use crate::resident::{Serve, http};
use crate::trial::Person;
use crate::world::{World, call, lines, within};

/// Waits until no audit runs, and returns all of them. The live stream tells when one ends.
fn audited(serve: &Serve, start: impl FnOnce()) -> Value {
    let mut live = crate::live::LiveClient::connect(serve, "", "");
    let mut live = within("the stream is ready", move || (live.next(), live)).1;
    start();
    let address = serve.address();
    within("the audit ends", move || {
        let get = "GET /api/v1/audits HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
        loop {
            let answer = http(&address, get);
            let audits: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
            if audits.get("running").is_none() {
                return audits;
            }
            assert_eq!(live.change()["kind"], "audit");
        }
    })
}

#[test]
fn an_audit_is_started_from_the_page_and_kept() {
    let world = World::new();
    world.write(FILE, &stuck());
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    assert!(serve.get("/history").contains("Start the audit"));
    let audits = audited(&serve, || {
        let (status, output) = person.post("/history/audits", "days=");
        assert_eq!(status, 200, "{output}");
    });
    let audit = &audits["audits"][0];
    assert_eq!((&audit["sessions"], &audit["calls"], &audit["loops"]), (&json!(1), &json!(6), &json!(1)), "{audits}");
    let id = audit["id"].as_str().unwrap();
    assert_eq!(&person.get(&format!("/api/v1/audits/{id}")), audit);
    let report = serve.get(&format!("/history/audits/{id}"));
    assert!(report.contains("npm install") && report.contains("<title>Belay audit</title>"), "{report}");
    let policy = "content-security-policy: default-src 'none'; style-src 'unsafe-inline'";
    assert!(report.contains(policy) && report.contains("; sandbox\r\n"), "{report}");
    let page = serve.get("/history");
    assert!(page.contains(&format!("/history/audits/{id}")) && page.contains("all sessions"), "{page}");
    let file = world.state().join(format!("audits/{id}.html"));
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    // It outlives the process.
    serve.kill();
    let serve = Serve::start(&world);
    assert!(serve.get("/history").contains(id));
    for bad in ["../../token", "00000000-0000-7000-8000-000000000000"] {
        assert!(serve.get(&format!("/history/audits/{bad}")).starts_with("HTTP/1.1 40"), "{bad}");
    }
}

#[test]
fn a_setting_is_tried_on_past_sessions_before_it_is_saved() {
    let world = World::new();
    world.write(FILE, &stuck());
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    let audits = audited(&serve, || {
        let (status, output) = person.post("/history/try", "key=detect.ladder.pause_at&value=4&days=3650");
        assert_eq!(status, 200, "{output}");
    });
    let tried = &audits["tried"];
    assert_eq!(
        (&tried["key"], &tried["value"], &tried["current"]),
        (&json!("detect.ladder.pause_at"), &json!("4"), &json!("6"))
    );
    assert_eq!((&tried["sessions"], &tried["before"]["nudged"]), (&json!(1), &json!(1)), "{tried}");
    assert_eq!(tried["after"]["paused"], 1, "{tried}");
    let page = serve.get("/history");
    assert!(page.contains("belay config set detect.ladder.pause_at 4"), "{page}");
    // Nothing was saved.
    assert!(!world.path("home/.config/belay/config.toml").exists());
    for (fields, problem) in [
        ("key=webhook.url&value=x", "not a setting of detection"),
        ("key=detect.ladder.pause_at&value=maybe", "detect.ladder.pause_at"),
        ("key=detect.ladder.pause_at", "no value is given"),
        ("key=detect.ladder.pause_at&value=true&days=0", "days"),
    ] {
        let (status, output) = person.post("/history/try", fields);
        let message = output["error"]["message"].as_str().unwrap_or_default();
        assert!(status == 400 && message.contains(problem), "{fields}: {status} {output}");
    }
}

#[test]
fn an_audit_needs_a_person_and_an_unknown_one_is_not_cancelled() {
    let world = World::new();
    let serve = Serve::start(&world);
    let request = "POST /api/v1/audits HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 2\r\n\
                   content-type: application/json\r\n\r\n{}";
    assert!(serve.http(request).starts_with("HTTP/1.1 401"));
    let person = Person::new(&world, &serve);
    let (status, _) = person.post("/history/audits/00000000-0000-7000-8000-000000000000/cancel", "");
    assert_eq!(status, 404);
    let (status, output) = person.send("POST", "/api/v1/audits", "application/json", r#"{"days":0}"#);
    assert_eq!((status, output["error"]["code"].as_str()), (400, Some("bad_request")), "{output}");
}

/// Sessions that work, are paused, killed and ended.
fn four_sessions(world: &World) {
    let ended = json!({ "id": "x", "session": { "agent": "claude-code", "id": "over" }, "kind": "session_ended" });
    let calls = ["works", "paused", "killed", "over"].map(|session| call(session, session, "ls"));
    world.run_with(&["events", "post"], &lines(&calls));
    world.run_with(&["events", "post"], ended.to_string().as_bytes());
    for decision in ["pause", "kill"] {
        let session = if decision == "pause" { "paused" } else { "killed" };
        assert_eq!(world.run(&[decision, session]).code, Some(0));
    }
}

/// The states of all sessions, archived ones included.
fn states(world: &World) -> Vec<(String, String)> {
    let sessions = world.run(&["sessions", "--all", "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut states: Vec<_> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| (text(&session["id"]), text(&session["state"])))
        .collect();
    states.sort();
    states
}

fn are(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(id, state)| ((*id).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn clearing_the_history_archives_what_is_over() {
    let world = World::new();
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    four_sessions(&world);
    let (status, output) = person.post("/history/clear", "");
    let message = "Archived 2 sessions. 2 sessions stay: they are active or wait for you.";
    assert_eq!((status, &output["message"]), (200, &message.into()));
    let expected = [("killed", "archived"), ("over", "archived"), ("paused", "paused"), ("works", "active")];
    assert_eq!(states(&world), are(&expected));
    // What is held stays held.
    assert_eq!(person.get("/api/v1/sessions/killed")["held"]["resume_requires"], "never");
    let (_, output) = person.post("/history/clear", "");
    assert_eq!(output["message"], "There was nothing to clear. 2 sessions stay: they are active or wait for you.");
}

#[test]
fn clearing_the_history_can_delete_the_record() {
    let world = World::new();
    let serve = Serve::start(&world);
    let person = Person::new(&world, &serve);
    four_sessions(&world);
    let (status, output) = person.send("POST", "/api/v1/history/clear", "application/json", r#"{"delete":true}"#);
    assert_eq!((status, output), (200, json!({ "archived": 1, "deleted": 1, "kept": 2 })));
    let expected = [("killed", "archived"), ("paused", "paused"), ("works", "active")];
    assert_eq!(states(&world), are(&expected));
    assert!(!serve.get("/api/v1/events?limit=100").contains("\"over\""), "its events are gone");
    let request = "POST /history/clear HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 11\r\n\
                   content-type: application/x-www-form-urlencoded\r\n\r\ndelete=true";
    assert!(serve.http(request).starts_with("HTTP/1.1 401"), "only a person clears it");
}

#[test]
fn the_landing_page_names_the_agents_of_this_machine() {
    let world = World::new();
    let path = world.write("bin/codex", "#!/bin/sh\n");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let world = world.var("PATH", path);
    let serve = Serve::start(&world);
    let page = serve.get("/");
    assert!(page.contains("not supervised"), "{page}");
    assert!(page.contains("Found on this machine") && page.contains("belay init --agent codex"), "{page}");
    assert_eq!(world.run(&["init", "--agent", "codex", "--yes"]).code, Some(0));
    assert!(!serve.get("/").contains("not supervised"));
}
