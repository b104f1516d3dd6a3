//! Alerts on the desktop and by webhook, and tombstones.

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

/// Logged after the store has recorded a failed attempt.
const FAILED: &str = "alert not delivered";

/// How often the log reports a delivery by this channel.
fn delivered(log: &str, channel: &str) -> usize {
    log.lines().filter(|line| line.contains("alert delivered") && line.contains(channel)).count()
}

/// The same failing call until Belay pauses the session.
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
    let at = belay_clock::now() - Duration::from_secs(minutes * 60);
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
    let posted = receiver.next();
    assert_eq!(posted.body["type"], "session.paused");
    assert_eq!(posted.body["data"]["session"]["id"], "s1");
    assert!(posted.header("webhook-id").starts_with("msg_incident_opened_inc_"), "{}", posted.head);
    assert!(posted.header("webhook-signature").starts_with("v1,"), "{}", posted.head);
    assert!(posted.header("webhook-timestamp").parse::<u64>().is_ok());
    let stones = world.run(&["tombstones", "--all", "--json"]).json();
    assert_eq!(stones["tombstones"][0]["session"]["id"], "s1", "{stones}");
    assert_eq!(world.run(&["resume", "s1"]).code, Some(0));
    assert_eq!(receiver.next().body["type"], "incident.updated");
    // The operator's own decision needs no notification on this machine, but other receivers get it.
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    assert_eq!(receiver.next().body["type"], "session.paused");
    assert_eq!(shown(&world).len(), 1, "{:?}", shown(&world));
}

#[test]
fn a_webhook_over_https_requires_a_trusted_certificate() {
    let (receiver, authority) = Receiver::start_tls(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("https://localhost:{}/in", receiver.port));
    let file = world.write("ca.pem", &authority);
    {
        // Its certificate is not trusted.
        let serve = Serve::start(&world);
        loops_until_paused(&world, "s1");
        serve.complains(FAILED);
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row =
            rows.as_array().unwrap().iter().find(|row| row["check"] == "alerts" && row["health"] == "warning").unwrap();
        assert!(row["finding"].as_str().unwrap().contains("certificate"), "{row}");
    }
    let world = world.var("SSL_CERT_FILE", file.to_str().unwrap());
    all_is_due(&world);
    let _serve = Serve::start(&world);
    assert_eq!(receiver.next().body["data"]["session"]["id"], "s1");
}

/// Makes every pending delivery due.
fn all_is_due(world: &World) {
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    store.execute("UPDATE deliveries SET next_at = 0, since = 0 WHERE state = 'pending'", []).unwrap();
}

#[test]
fn undelivered_alerts_are_retried_after_a_crash_with_the_same_id() {
    let world = desktop();
    let dead = world.var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", nobody()));
    let serve = Serve::start(&dead);
    loops_until_paused(&dead, "s1");
    shows(&dead, "Belay paused");
    serve.complains(FAILED);
    let rows = dead.run(&["doctor", "--json"]).json()["rows"].clone();
    assert!(
        rows.as_array().unwrap().iter().any(|row| row["check"] == "alerts" && row["health"] == "warning"),
        "{rows}"
    );
    serve.kill();
    let receiver = Receiver::start("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\n\r\n");
    let world = dead.var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    all_is_due(&world);
    let serve = Serve::start(&world);
    let first = receiver.next();
    serve.complains(FAILED);
    let output = world.run(&["doctor"]).out;
    assert!(output.contains("responded 302, a redirect, which is not followed"), "{output}");
    receiver.answers(TAKEN);
    all_is_due(&world);
    let second = receiver.next();
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    file_says(&world.log(), |log| delivered(log, "webhook") == 1);
    let output = world.run(&["doctor"]).out;
    assert!(!output.contains("not delivered"), "{output}");
    assert_eq!(receiver.rest().len(), 0);
    assert_eq!(shown(&world).len(), 1, "a notification is for the moment: {:?}", shown(&world));
}

#[test]
fn a_message_that_waited_during_an_upgrade_is_delivered() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    assert_eq!(world.run_with(&["events", "post"], &lines(&[call("c1", "s1", "make")])).code, Some(0));
    // As a version wrote it whose messages had a session and no subject.
    let recorded = include_str!("../../../alerts/src/alert/fixtures/message-v1.json");
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let text = |field: &str| recorded[field].as_str().unwrap();
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    let insert = "INSERT INTO messages (key, topic, payload, created_at) VALUES (?1, ?2, ?3, ?4)";
    let payload = recorded["payload"].to_string();
    let created_at = recorded["created_at"].as_i64().unwrap();
    store.execute(insert, (text("key"), text("topic"), payload, created_at)).unwrap();
    drop(store);
    let _serve = Serve::start(&world);
    let posted = receiver.next();
    assert_eq!(posted.header("webhook-id"), "msg_incident_opened_inc_9f291af1af");
    assert_eq!(posted.body["type"], "session.paused");
    assert_eq!(posted.body["data"]["session"]["id"], "01a1");
    assert_eq!(posted.body["data"]["subject"]["type"], "session");
}

#[test]
fn a_webhook_that_hangs_does_not_delay_the_desktop() {
    // Connections are established by the kernel and never answered.
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = hanging.local_addr().unwrap().port();
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{port}/"));
    let serve = Serve::start(&world);
    loops_until_paused(&world, "s1");
    let _connection = hanging.accept().unwrap();
    loops_until_paused(&world, "s2");
    shows(&world, "claude-code:s2");
    let log = std::fs::read_to_string(world.log()).unwrap();
    assert!(!log.contains(FAILED), "the request is still open: {log}");
    assert_eq!(delivered(&log, "webhook"), 0, "{log}");
    serve.kill();
}

#[test]
fn a_desktop_that_refuses_is_reported_and_does_not_count_as_delivered() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    for name in ["notify-send", "osascript"] {
        world.write(&format!("bin/{name}"), "#!/bin/sh\nexit 1\n");
    }
    let serve = Serve::start(&world);
    loops_until_paused(&world, "s1");
    serve.complains(FAILED);
    receiver.next();
    let log = file_says(&world.log(), |log| delivered(log, "webhook") == 1);
    assert_eq!(delivered(&log, "desktop"), 0, "{log}");
    let output = world.run(&["doctor"]).out;
    assert!(output.contains("1 alert not delivered and not retried; last error: desktop: "), "{output}");
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
fn a_project_cannot_set_where_alerts_go() {
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
    let messages = count("SELECT count(*) FROM messages");
    file_says(&world.log(), |log| {
        log.matches("alert delivered").count() + log.matches("alert skipped").count() >= messages
    });
    assert_eq!(count("SELECT count(*) FROM deliveries WHERE state = 'pending'"), 0);
    assert_eq!(count("SELECT count(*) FROM deliveries WHERE channel <> 'desktop'"), 0);
    assert_eq!(receiver.rest().len(), 0);
}

#[test]
fn stalls_hung_tools_and_unseen_prompts_are_shown_once() {
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
    let output = world.run_with(&["events", "post"], &lines(&[&[before], events.as_slice()].concat()));
    assert_eq!(output.code, Some(0), "{output:?}");
    let serve = Serve::start_with(&world, &tick);
    assert!(shows(&world, "codex:stalls").contains("No activity for 21 minutes"));
    assert!(shows(&world, "codex:hangs").contains("`make` has been running for 30 minutes"));
    assert!(shows(&world, "codex:asks").contains("A permission prompt has been open for 5 minutes without an answer"));
    serve.kill();
    // A new process reports only new alerts.
    let serve = Serve::start_with(&world, &tick);
    let output = world.run_with(&["events", "post"], &lines(&[ago(7, "later", "prompt", prompt)]));
    assert_eq!(output.code, Some(0), "{output:?}");
    shows(&world, "codex:later");
    assert_eq!(shown(&world).len(), 4, "{:?}", shown(&world));
    assert!(!shown(&world).iter().any(|line| line.contains("codex:waits")), "a declared wait is not a stall");
    drop(serve);
}

#[test]
fn an_idle_process_stays_until_its_alerts_are_delivered() {
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
    let (code, output) = serve.wait();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn notify_tests_every_channel() {
    let receiver = Receiver::start(TAKEN);
    let world = desktop().var("BELAY_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port));
    let output = world.run(&["notify", "--json"]).json();
    assert!(output["channels"].as_array().unwrap().iter().all(|one| one["ok"] == true), "{output}");
    let posted = receiver.next().body;
    assert_eq!((&posted["type"], posted["data"].get("session")), (&"belay.test".into(), None), "{posted}");
    assert!(shown(&world)[0].contains("Belay test alert"), "{:?}", shown(&world));
    receiver.answers("HTTP/1.1 401 Unauthorized\r\n\r\n");
    let output = world.run(&["notify"]);
    assert_eq!(output.code, Some(1));
    assert!(output.out.contains("XX  webhook  not delivered: the receiver responded 401"), "{output:?}");
    let nobody = World::new().var("CI", "true").run(&["notify"]);
    assert!(nobody.code == Some(1) && nobody.err.contains("no alert channel is configured"), "{nobody:?}");
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
