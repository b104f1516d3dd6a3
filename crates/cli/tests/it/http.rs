//! HTTP: the page, the API, and who is kept out.

use std::os::unix::fs::PermissionsExt;

use crate::resident::Serve;
use crate::world::{World, call, lines};

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

fn body(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

#[test]
fn the_page_shows_sessions_without_a_script() {
    let world = World::new();
    let serve = Serve::start(&world);
    assert!(serve.get("/").contains("No session has been seen yet"));
    let hostile = r#"{"id":"e1","session":{"agent":"codex","id":"<b>x</b>"},"cwd":"/<script>alert(1)</script>","kind":"note","text":"x"}"#;
    world.run_with(&["events", "post"], hostile.as_bytes());
    let page = serve.get("/");
    assert!(page.contains("codex:&lt;b&gt;x"), "{page}");
    assert!(page.contains("/&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.to_lowercase().contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(serve.get("/style.css").contains("color-scheme"));
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
        assert!(metrics.lines().any(|told| told == line), "{line} is missing in {metrics}");
    }
    assert_eq!(status(&serve.get("/nothing")), "404");
    assert_eq!(status(&serve.http(&post("/healthz", "", ""))), "405");
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
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "paused");
    resume(&format!("authorization: Bearer {token}\r\n"));
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"][0]["state"], "active");
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
