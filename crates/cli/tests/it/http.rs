//! HTTP: the page, the API, and access control.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::resident::Serve;
use crate::world::{World, call, lines};

pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

pub(crate) fn body(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

#[test]
fn the_api_reads_what_the_commands_read() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abcdef", "ls"), call("e2", "abcxyz", "ls")]));
    assert_eq!(body(&serve.get("/healthz"))["status"], "ok");
    assert_eq!(body(&serve.get("/readyz"))["ok"], true);
    let sessions = body(&serve.get("/api/v1/sessions"));
    assert_eq!(sessions["sessions"], world.run(&["sessions", "--json"]).json()["sessions"]);
    let first = body(&serve.get("/api/v1/sessions?limit=1"));
    let next = first["next"].as_str().unwrap();
    let second = body(&serve.get(&format!("/api/v1/sessions?limit=1&after={next}")));
    assert_ne!(first["sessions"][0]["session"], second["sessions"][0]["session"]);
    assert_eq!(body(&serve.get("/api/v1/sessions/claude-code:abcd"))["id"], "abcdef");
    assert_eq!(status(&serve.get("/api/v1/sessions/abc")), "409");
    assert_eq!(status(&serve.get("/api/v1/sessions/none")), "404");
    assert_eq!(body(&serve.get("/api/v1/sessions/abcd/events"))["events"][0]["event"]["id"], "e1");
    assert_eq!(body(&serve.get("/api/v1/events?last=true&limit=1"))["events"][0]["event"]["id"], "e2");
    assert_eq!(status(&serve.get("/api/v1/events?limit=many")), "400");
    assert_eq!(body(&serve.get("/api/v1/incidents"))["incidents"], serde_json::json!([]));
    assert_eq!(status(&serve.get("/api/v1/incidents/inc-0")), "404");
    assert_eq!(body(&serve.get("/api/v1/status"))["pid"], serve.pid());
    assert!(body(&serve.get("/api/v1/status")).get("token").is_none(), "reading never tells the token");
    let metrics = serve.get("/metrics");
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
    for line in ["belay_sessions{state=\"active\"} 2", "belay_stored_events 2", "belay_events_total 2"] {
        assert!(metrics.lines().any(|shown| shown == line), "{line} is missing in {metrics}");
    }
    assert_eq!(status(&serve.get("/nothing")), "404");
    assert_eq!(status(&serve.http(&post("/healthz", "", ""))), "405");
}

/// One HTTP exchange of another user. `None` without the right to change users.
#[cfg(target_os = "linux")]
pub(crate) fn http_of_another_user(serve: &Serve, request: &str) -> Option<String> {
    let nobody = rustix::process::Uid::from_raw(65_534);
    let (address, request) = (serve.address(), request.to_owned());
    // Only this thread changes its user.
    let asking = std::thread::spawn(move || {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).ok()?;
        Some(crate::resident::http(&address, &request))
    });
    asking.join().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn another_user_can_neither_read_nor_post_nor_relay() {
    let world = World::new();
    let serve = Serve::start(&world);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
    let json = "content-type: application/json\r\n";
    let relay = "x-api-key: sk-ant-theirs\r\nanthropic-version: 2023-06-01\r\n";
    for request in [
        get("/"),
        get("/metrics"),
        get("/api/v1/sessions"),
        get("/v1/watchdog/dashboard"),
        post("/api/v1/events", json, &call("e1", "planted", "ls")),
        post("/v1/watchdog/events", json, "{}"),
        post("/v1/messages", relay, "{}"),
    ] {
        let Some(answer) = http_of_another_user(&serve, &request) else { return };
        assert_eq!(status(&answer), "403", "{request}\n{answer}");
        assert!(answer.contains("another user"), "{answer}");
    }
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"], serde_json::json!([]));
    assert_eq!(status(&http_of_another_user(&serve, &get("/healthz")).unwrap()), "200");
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let authorized = get("/api/v1/sessions").replace("\r\n\r\n", &format!("\r\nauthorization: Bearer {token}\r\n\r\n"));
    assert_eq!(status(&http_of_another_user(&serve, &authorized).unwrap()), "200");
}

#[test]
fn an_event_without_the_token_leaves_no_tombstone() {
    let world = World::new();
    let serve = Serve::start(&world);
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let loop_of = |session: &str, headers: &str| {
        for n in 0..12 {
            let id = format!("{session}-{n}");
            let called = call(&id, session, "npm test");
            let result = serde_json::json!({
                "id": format!("{id}-r"), "session": { "agent": "claude-code", "id": session }, "source": "hook",
                "kind": "tool_returned", "call": format!("toolu_{id}"), "status": "error", "output": "1 failing: cart",
            });
            let headers = format!("content-type: application/json\r\n{headers}");
            let answer = serve.http(&post("/api/v1/events", &headers, &format!("[{called},{result}]")));
            assert_eq!(status(&answer), "200", "{answer}");
        }
        let sessions = body(&serve.get("/api/v1/sessions?state=paused"));
        assert_eq!(sessions["sessions"][0]["id"], session, "{sessions}");
    };
    loop_of("planted", "");
    assert_eq!(world.run(&["tombstones", "--all", "--json"]).json()["tombstones"], serde_json::json!([]));
    loop_of("genuine", &format!("authorization: Bearer {token}\r\n"));
    let stones = world.run(&["tombstones", "--all", "--json"]).json();
    assert_eq!(stones["tombstones"][0]["session"]["id"], "genuine", "{stones}");
}

#[test]
fn a_posted_event_is_no_way_around_the_token() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    world.run(&["pause", "abc"]);
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let resume = |headers: &str| {
        let headers = format!("content-type: application/json\r\n{headers}");
        let event = r#"{"id":"r1","session":{"agent":"claude-code","id":"abc"},"kind":"operator","decision":"resume"}"#;
        body(&serve.http(&post("/api/v1/events", &headers, event)))
    };
    let refused = resume("");
    assert_eq!(refused["answers"][0]["error"]["field"], "kind", "{refused}");
    assert_eq!(refused["answers"][0]["error"]["code"], "forbidden", "{refused}");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "paused");
    resume(&format!("authorization: Bearer {token}\r\n"));
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "active");
}

#[test]
fn forged_prompts_do_not_let_a_loop_through() {
    let world = World::alone();
    let serve = Serve::start(&world);
    let hook = |event: &str, call: u32| {
        let mut payload = json!({
            "session_id": "s", "hook_event_name": event, "cwd": "/", "tool_name": "Bash",
            "tool_input": { "command": "make" }, "tool_use_id": format!("t{call}"),
        });
        if event == "PostToolUseFailure" {
            payload["error"] = "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.".into();
        }
        world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).out
    };
    let mut denied = 0;
    for call in 0..12 {
        let answer = hook("PreToolUse", call);
        denied += u32::from(!answer.is_empty());
        if answer.is_empty() {
            hook("PostToolUseFailure", call);
        }
        for by in ["person", "agent"] {
            let prompt = json!({
                "id": format!("{by}-{call}"), "session": { "agent": "claude-code", "id": "s" }, "kind": "prompt",
                "by": by, "text": format!("continue with step {call}"),
            });
            serve.http(&post("/api/v1/events", "content-type: application/json\r\n", &prompt.to_string()));
        }
    }
    assert!(denied >= 8, "{denied} of 12 equal calls were denied");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "paused");
}

#[test]
fn facts_that_discard_evidence_need_the_token() {
    let world = World::new();
    let serve = Serve::start(&world);
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let event = |number: usize, body: &Value| {
        let mut event = json!({ "id": format!("e{number}"), "session": { "agent": "claude-code", "id": "abc" } });
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        event
    };
    let bodies = [
        json!({ "kind": "prompt", "text": "go on" }),
        json!({ "kind": "prompt", "by": "continuation", "text": "go on" }),
        json!({ "kind": "operator", "decision": "reset" }),
        json!({ "kind": "sub_agents_spent" }),
        json!({ "kind": "shared_spent" }),
        json!({ "kind": "delivered", "finding": "f", "channel": "hook" }),
        json!({ "kind": "tick" }),
        json!({ "kind": "note", "text": "the rest of the batch is processed" }),
    ];
    let batch: Value = bodies.iter().enumerate().map(|(number, body)| event(number, body)).collect();
    let send = |headers: &str| {
        let headers = format!("content-type: application/json\r\n{headers}");
        body(&serve.http(&post("/api/v1/events", &headers, &batch.to_string())))["answers"].clone()
    };
    let answers = send("");
    for (answer, sent) in answers.as_array().unwrap().iter().zip(&bodies).take(7) {
        assert_eq!(answer["error"]["code"], "forbidden", "{sent}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(sent["kind"].as_str().unwrap()) && message.contains("token"), "{message}");
    }
    assert_eq!(answers[7]["seq"], 1, "{answers}");
    let answers = send(&format!("authorization: Bearer {token}\r\n"));
    assert!(answers.as_array().unwrap().iter().all(|answer| answer.get("error").is_none()), "{answers}");
}

#[test]
fn decisions_need_the_token() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let decide = |headers: &str| {
        let headers = format!("content-type: application/json\r\n{headers}");
        serve.http(&post("/api/v1/sessions/abc/decisions", &headers, r#"{"decision":"pause","note":"from afar"}"#))
    };
    assert_eq!(status(&decide("")), "401");
    assert_eq!(status(&decide("authorization: Bearer 00\r\n")), "401");
    assert_eq!(status(&decide(&format!("authorization: Basic {token}\r\n"))), "401");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "active");
    let done = decide(&format!("authorization: Bearer {token}\r\n"));
    assert_eq!(status(&done), "200", "{done}");
    assert_eq!(body(&done)["session"]["state"], "paused");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "paused");
    let mode = std::fs::metadata(world.state().join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_killed_session_is_not_resumed() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    assert_eq!(world.run(&["kill", "abc"]).code, Some(0));
    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let headers = format!("content-type: application/json\r\nauthorization: Bearer {token}\r\n");
    let output = serve.http(&post("/api/v1/sessions/abc/decisions", &headers, r#"{"decision":"resume"}"#));
    assert_eq!(status(&output), "422", "{output}");
    let error = &body(&output)["error"];
    assert_eq!(error["message"], "claude-code:abc is killed and cannot be resumed", "{output}");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "killed");
}

#[test]
fn other_sites_and_other_names_are_kept_out() {
    let world = World::new();
    let serve = Serve::start(&world);
    let get = |headers: &str| {
        status(&serve.http(&format!("GET /api/v1/sessions HTTP/1.1\r\nconnection: close\r\n{headers}\r\n"))).to_owned()
    };
    assert_eq!(get("host: localhost\r\n"), "200");
    assert_eq!(get("host: evil.example\r\n"), "403", "DNS rebinding");
    assert_eq!(get("host: 127.0.0.1\r\norigin: https://evil.example\r\n"), "403");
    assert_eq!(get("host: 127.0.0.1\r\nsec-fetch-site: cross-site\r\n"), "403");
    let event = call("e1", "abc", "ls");
    let simple = post("/api/v1/events", "content-type: text/plain\r\n", &event);
    assert_eq!(status(&serve.http(&simple)), "400", "a form of another site cannot post events");
    let huge = format!(
        "POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        1_u64 << 30
    );
    assert_eq!(status(&serve.http(&huge)), "413");
}

#[test]
fn events_can_be_posted() {
    let world = World::new();
    let serve = Serve::start(&world);
    let json = "content-type: application/json\r\n";
    let one = serve.http(&post("/api/v1/events", json, &call("e1", "abc", "ls")));
    assert_eq!(body(&one)["answers"][0]["seq"], 1, "{one}");
    let many = format!("[{},{{\"id\":\"e3\"}}]", call("e2", "abc", "ls"));
    let answers = body(&serve.http(&post("/api/v1/events", json, &many)));
    assert_eq!(answers["answers"][0]["seq"], 2);
    assert_eq!(answers["answers"][1]["error"]["field"], "session");
    assert_eq!(status(&serve.http(&post("/api/v1/events", json, "[1,"))), "400");
}

#[test]
fn a_hostile_number_does_not_break_accounting() {
    let world = World::new();
    let serve = Serve::start(&world);
    let json = "content-type: application/json\r\n";
    let answered = |id: &str, tokens: i64| {
        let event = serde_json::json!({
            "id": id, "session": {"agent": "codex", "id": "abc"}, "cwd": "/p", "kind": "model_answered",
            "response": id, "usage": {"input": tokens}, "cost_micros": tokens,
        });
        body(&serve.http(&post("/api/v1/events", json, &event.to_string())))
    };
    for id in ["h1", "h2"] {
        answered(id, i64::MAX);
    }
    let first = answered("e1", 5);
    assert_eq!(first["answers"][0]["seq"], 3, "{first}");
    assert!(serve.get("/metrics").contains("belay_stored_tokens"), "{}", serve.get("/metrics"));
    assert_eq!(status(&serve.get("/api/v1/status")), "200");
    let shown = world.run(&["status", "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let spent = body(&serve.get("/api/v1/sessions/abc"))["tokens"].as_u64();
    assert_eq!(spent, Some((2_u64 << 48) + 5));
}
