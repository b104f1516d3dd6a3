//! What a person and their programs are told: notifications on the desktop, webhooks, tombstones.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::receiver::{Receiver, TAKEN, nobody};
use crate::resident::Serve;
use crate::world::{World, call, file_says, lines};

/// A desktop: each notification becomes a line of its arguments.
fn desktop() -> World {
    let world = World::new();
    let file = world.path("notifications");
    let script = format!("#!/bin/sh\nprintf '%s|' \"$@\" >> '{0}'\necho >> '{0}'\n", file.display());
    for name in ["notify-send", "osascript"] {
        let path = world.write(&format!("bin/{name}"), &script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.var("PATH", path)
}

fn shown(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("notifications")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for a notification.
fn shows(world: &World, part: &str) -> String {
    let has_it = |line: &&str| line.contains(part) && line.ends_with('\n');
    let text = file_says(&world.path("notifications"), |text| text.split_inclusive('\n').any(|line| has_it(&line)));
    text.split_inclusive('\n').find(has_it).unwrap().to_owned()
}

/// How the courier says that a try has failed; the store knows it then.
const FAILED: &str = "a webhook was not delivered";

/// The same failing call until Belay has had enough.
fn loops_until_paused(world: &World, session: &str) {
    repeats_until_paused(world, session, "make");
}

fn repeats_until_paused(world: &World, session: &str, command: &str) {
    for n in 0..12 {
        let id = format!("{session}-{n}");
        let returned = json!({
            "id": format!("{id}-r"), "session": { "agent": "claude-code", "id": session }, "kind": "tool_returned",
            "call": format!("toolu_{id}"), "status": "error", "output": "make: *** No rule to make target 'all'.  Stop.",
        });
        world.run_with(&["events", "post"], &lines(&[call(&id, session, command), returned.to_string()]));
    }
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"][0]["state"], "paused", "{sessions}");
}

/// An event of a session, so many minutes ago.
fn ago(minutes: u64, session: &str, kind: &str, more: Value) -> String {
    let now = std::time::SystemTime::now() - Duration::from_secs(minutes * 60);
    let millis = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let at = belay_core::Timestamp::from_millis(i64::try_from(millis).unwrap());
    let mut event = json!({
        "id": format!("{session}-{kind}"), "session": { "agent": "codex", "id": session }, "at": at, "kind": kind,
        "cwd": "/home/user/project",
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event.to_string()
}

#[test]
fn a_pause_is_shown_posted_and_left_for_the_next_session() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop()
        .var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/in", receiver.port))
        .var("BELAY_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let _serve = Serve::start(&world);
    loops_until_paused(&world, "s1");
    let line = shows(&world, "Belay paused claude-code");
    assert!(line.contains("belay resume claude-code:s1"), "{line}");
    let told = receiver.next();
    assert_eq!(told.body["type"], "session.paused");
    assert_eq!(told.body["data"]["session"]["id"], "s1");
    assert!(told.header("webhook-id").starts_with("msg_incident_opened_inc_"), "{}", told.head);
    assert!(told.header("webhook-signature").starts_with("v1,"), "{}", told.head);
    assert!(told.header("webhook-timestamp").parse::<u64>().is_ok());
    let stones = world.run(&["tombstones", "--all", "--json"]).json();
    assert_eq!(stones["tombstones"][0]["session"]["id"], "s1", "{stones}");
    assert_eq!(world.run(&["resume", "s1"]).code, Some(0));
    assert_eq!(receiver.next().body["type"], "incident.updated");
    // What a person does at this machine is no news to him, but may be to others.
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    assert_eq!(receiver.next().body["type"], "session.paused");
    assert_eq!(shown(&world).len(), 1, "{:?}", shown(&world));
}

#[test]
fn a_webhook_over_https_is_posted_to_whom_the_machine_trusts() {
    let (receiver, authority) = Receiver::start_tls(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("https://localhost:{}/in", receiver.port));
    let file = world.write("ca.pem", &authority);
    {
        // Nobody vouches for it.
        let serve = Serve::start(&world);
        loops_until_paused(&world, "s1");
        serve.complains(FAILED);
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "news").unwrap();
        assert!(row["finding"].as_str().unwrap().contains("certificate"), "{row}");
    }
    let world = world.var("SSL_CERT_FILE", file.to_str().unwrap());
    all_is_due(&world);
    let _serve = Serve::start(&world);
    assert_eq!(receiver.next().body["data"]["session"]["id"], "s1");
}

/// Time passes for what waits to be tried again.
fn all_is_due(world: &World) {
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    store.execute("UPDATE outbox SET next_at = 0 WHERE state = 'pending'", []).unwrap();
}

#[test]
fn what_was_not_delivered_is_tried_again_after_a_crash_under_the_same_id() {
    let world = desktop();
    let dead = world.var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", nobody()));
    let serve = Serve::start(&dead);
    loops_until_paused(&dead, "s1");
    shows(&dead, "Belay paused");
    serve.complains(FAILED);
    let rows = dead.run(&["doctor", "--json"]).json()["rows"].clone();
    assert!(rows.as_array().unwrap().iter().any(|row| row["check"] == "news"), "{rows}");
    serve.kill();
    let receiver = Receiver::start("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\n\r\n");
    let world = dead.var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    all_is_due(&world);
    let serve = Serve::start(&world);
    let first = receiver.next();
    serve.complains(FAILED);
    let said = world.run(&["doctor"]).out;
    assert!(said.contains("answered 302, a redirect, which is not followed"), "{said}");
    receiver.answers(TAKEN);
    all_is_due(&world);
    let second = receiver.next();
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    file_says(&world.log(), |log| log.contains("news was told"));
    let said = world.run(&["doctor"]).out;
    assert!(!said.contains("could not be delivered"), "{said}");
    assert_eq!(receiver.rest().len(), 0);
    assert_eq!(shown(&world).len(), 1, "a notification is for the moment: {:?}", shown(&world));
}

#[test]
fn heartbeats_receivers_get_what_they_know() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    let _serve = Serve::start_with(&world, &["--listen", "127.0.0.1:0", "--set", "webhook.format=heartbeat"]);
    loops_until_paused(&world, "s1");
    let body = receiver.next().body;
    let mut keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["cwd", "event", "host", "message", "pattern", "timestamp"]);
    assert_eq!((&body["event"], &body["cwd"]), (&"escalation".into(), &"/home/user/project".into()));
}

#[test]
fn in_ci_nothing_pops_up() {
    let receiver = Receiver::start(TAKEN);
    let url = format!("http://127.0.0.1:{}/", receiver.port);
    let world = desktop().var("BELAY_WEBHOOK_URL", url).var("CI", "true");
    let _serve = Serve::start(&world);
    loops_until_paused(&world, "s1");
    receiver.next();
    assert_eq!(shown(&world), Vec::<String>::new());
}

#[test]
fn a_project_cannot_say_where_news_goes() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop();
    let evil = format!("[webhook]\nurl = \"http://127.0.0.1:{}/\"\n", receiver.port);
    world.write("home/code/app/.belay.toml", &evil);
    world.run(&["trust", "--yes"]);
    let _serve = Serve::start(&world);
    loops_until_paused(&world, "s1");
    shows(&world, "Belay paused");
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    let count = |sql: &str| store.query_row(sql, [], |row| row.get::<_, usize>(0)).unwrap();
    let news = count("SELECT count(*) FROM outbox");
    file_says(&world.log(), |log| log.matches("news was told").count() >= news);
    assert_eq!(count("SELECT count(*) FROM outbox WHERE state = 'pending'"), 0);
    assert_eq!(receiver.rest().len(), 0);
}

#[test]
fn silence_hung_tools_and_unseen_prompts_are_told_once() {
    let world = desktop();
    let tick = ["--listen", "127.0.0.1:0", "--set", "serve.tick=10ms"];
    let shell = json!({ "call": "c1", "tool": { "kind": "shell", "name": "shell" }, "input": { "command": "make" } });
    let prompt = json!({ "text": "fix it", "by": "person" });
    let waits = ago(20, "waits", "waiting", json!({ "what": "the build", "until": "2999-01-01T00:00:00Z" }));
    let events = [
        ago(21, "stalls", "prompt", prompt.clone()),
        ago(30, "hangs", "tool_called", shell),
        ago(5, "asks", "permission_asked", json!({})),
        ago(21, "waits", "prompt", prompt.clone()),
        waits,
    ];
    // The prompt before the question, so that the agent is at work.
    let before = ago(6, "asks", "prompt", prompt.clone());
    let said = world.run_with(&["events", "post"], &lines(&[&[before], events.as_slice()].concat()));
    assert_eq!(said.code, Some(0), "{said:?}");
    let serve = Serve::start_with(&world, &tick);
    assert!(shows(&world, "codex:stalls").contains("Nothing has happened for 21 minutes"));
    assert!(shows(&world, "codex:hangs").contains("`make` has been running for 30 minutes"));
    assert!(shows(&world, "codex:asks").contains("A permission prompt has been open for 5 minutes; nobody"));
    serve.kill();
    // Another one tells what is new, and nothing again.
    let serve = Serve::start_with(&world, &tick);
    let said = world.run_with(&["events", "post"], &lines(&[ago(7, "later", "prompt", prompt)]));
    assert_eq!(said.code, Some(0), "{said:?}");
    shows(&world, "codex:later");
    assert_eq!(shown(&world).len(), 4, "{:?}", shown(&world));
    assert!(!shown(&world).iter().any(|line| line.contains("codex:waits")), "a declared wait is no stall");
    drop(serve);
}

#[test]
fn an_idle_process_stays_until_its_news_is_delivered() {
    let receiver = Receiver::start("HTTP/1.1 503 Busy\r\n\r\n");
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    {
        let serve = Serve::start(&world);
        loops_until_paused(&world, "s1");
        receiver.next();
        serve.complains(FAILED);
    }
    all_is_due(&world);
    let serve = Serve::start_with(&world, &["--listen", "127.0.0.1:0", "--set", "serve.idle_exit=1ms"]);
    receiver.next();
    serve.complains(FAILED);
    receiver.answers(TAKEN);
    all_is_due(&world);
    receiver.next();
    let (code, said) = serve.wait();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn channels_can_be_tried() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    let said = world.run(&["notify", "--json"]).json();
    assert!(said["channels"].as_array().unwrap().iter().all(|one| one["ok"] == true), "{said}");
    assert_eq!(receiver.next().body["type"], "belay.test");
    assert!(shown(&world)[0].contains("Belay can reach you"), "{:?}", shown(&world));
    receiver.answers("HTTP/1.1 401 Unauthorized\r\n\r\n");
    let said = world.run(&["notify"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("XX  webhook  the receiver answered 401"), "{said:?}");
    let nobody = World::new().var("CI", "true").run(&["notify"]);
    assert!(nobody.code == Some(1) && nobody.err.contains("there is no channel"), "{nobody:?}");
}

#[test]
fn secrets_do_not_leave_the_machine() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    let _serve = Serve::start(&world);
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    repeats_until_paused(&world, "s1", &format!("curl -H 'Authorization: Bearer {secret}' https://example.com/deploy"));
    let body = receiver.next().body.to_string();
    assert!(body.contains("curl") && !body.contains(secret), "{body}");
    let line = shows(&world, "Belay paused");
    assert!(line.contains("curl") && !line.contains(secret), "{line}");
}
