//! Loop Watchdog's clients: every path, body and status they rely on.

use belay_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

use crate::resident::{Serve, wait_for_events};
use crate::world::World;

/// A resident process with a model behind it.
struct Watchdog {
    serve: Serve,
    token: String,
    model: ScriptedModel,
    world: World,
}

impl Watchdog {
    fn start(more: &[&str]) -> Self {
        let world = World::new();
        let model = ScriptedModel::start(Script::new().without_tools().otherwise("Here you are.")).unwrap();
        let upstream = format!("proxy.upstreams.openai.url={}", model.url());
        let mut args = vec!["--listen", "127.0.0.1:0", "--set", &upstream];
        args.extend_from_slice(more);
        let serve = Serve::start_with(&world, &args);
        let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
        Self { serve, token, model, world }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let answer = self.serve.http(&format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ));
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_else(|_| body.into()))
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, "", "")
    }

    /// As a Loop Watchdog client, which has no token.
    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, "content-type: application/json\r\n", &body.to_string())
    }

    fn decide(&self, path: &str, body: &Value) -> (u16, Value) {
        let headers = format!("content-type: application/json\r\nauthorization: Bearer {}\r\n", self.token);
        self.ask("POST", path, &headers, &body.to_string())
    }

    /// A model call of a session.
    fn call(&self, session: &str, headers: &str) -> (u16, Value) {
        let headers = format!("content-type: application/json\r\nx-loop-session: {session}\r\n{headers}");
        let body = json!({ "model": "gpt-5", "messages": [{ "role": "user", "content": "Go on" }] });
        self.ask("POST", "/v1/chat/completions", &headers, &body.to_string())
    }

    /// The same command fails until it is held.
    fn loops(&self, session: &str) {
        for _ in 0..8 {
            for (kind, summary) in [("command_start", "npm test"), ("tool_error", "1 failing")] {
                let (status, shown) = self
                    .post("/v1/watchdog/events", &json!({ "session_id": session, "kind": kind, "summary": summary }));
                assert_eq!((status, &shown["session_id"]), (202, &session.into()), "{shown}");
            }
        }
        assert_eq!(self.get(&format!("/v1/watchdog/status/{session}")).1["paused"], true);
    }
}

/// These fields and no others.
fn has_exactly(value: &Value, fields: &str) {
    has(value, fields);
    assert_eq!(value.as_object().map(serde_json::Map::len), Some(fields.split_whitespace().count()), "{value}");
}

fn has(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        assert!(value.get(field).is_some(), "{field} is missing in {value}");
    }
}

const STATUS: &str = "session_id identity paused current_state event_count last_event_at incident acknowledged_at \
    acknowledged_note archived cooldown_until requires_changed_plan required_plan_preview";
const SNAPSHOT: &str = "created_at updated_at last_summary current_stage metrics recent_events";
const INCIDENT: &str = "incident_id session_id identity created_at score reasons repeated_files repeated_errors \
    triggering_event_ids request_count recommendation";
const EVENT: &str = "event_id schema_version session_id identity kind summary files metadata created_at fingerprint \
    error_signature git_diff_fingerprint test_failure git_diff";
const DASHBOARD: &str = "generated_at total_sessions paused_sessions total_events active_incidents \
    acknowledged_sessions archived_sessions sessions";

/// A path, its expected status, and a text in the body.
type Row = (&'static str, u16, fn(&Value));

#[test]
fn every_path_that_reads_answers_in_its_shape() {
    let watchdog = Watchdog::start(&[]);
    watchdog.loops("shop:me:main");
    let rows: &[Row] = &[
        ("/healthz", 200, |body| assert_eq!(body["status"], "ok")),
        ("/dashboard", 200, |body| assert!(body.as_str().unwrap().contains("shop:me:main"))),
        ("/v1/watchdog/dashboard", 200, |body| {
            has(body, DASHBOARD);
            assert_eq!((&body["total_sessions"], &body["paused_sessions"]), (&json!(1), &json!(1)));
        }),
        ("/v1/watchdog/dashboard?include_archived=true", 200, |body| has(body, DASHBOARD)),
        ("/v1/watchdog/sessions?include_archived=True", 200, |body| assert_eq!(body["sessions"][0]["paused"], true)),
        ("/v1/watchdog/dashboard?include_archived=0", 200, |body| has(body, DASHBOARD)),
        ("/v1/watchdog/events", 405, |body| assert_eq!(body["detail"], "Method Not Allowed")),
        ("/v1/watchdog/dashboard?include_archived=maybe", 422, |body| assert!(body["detail"].is_array())),
        ("/v1/watchdog/sessions", 200, |body| {
            has(&body["sessions"][0], STATUS);
            has(&body["sessions"][0], SNAPSHOT);
            has(&body["sessions"][0]["recent_events"][0], EVENT);
        }),
        ("/v1/watchdog/status/shop:me:main", 200, |body| {
            has(body, STATUS);
            has(&body["incident"], INCIDENT);
            assert_eq!(body["current_state"], "critical");
        }),
        ("/v1/watchdog/status/never%2Fseen", 200, |body| {
            has(body, STATUS);
            assert_eq!((&body["paused"], &body["event_count"]), (&json!(false), &json!(0)));
            assert_eq!((&body["session_id"], &body["identity"]), (&json!("never/seen"), &Value::Null));
        }),
        ("/v1/watchdog/sessions/shop:me:main/events", 200, |body| {
            assert_eq!(body["events"].as_array().unwrap().len(), 8);
            assert_eq!(body["events"][7]["kind"], "tool_error");
        }),
        ("/v1/watchdog/sessions/never/seen/events", 200, |body| assert_eq!(body["events"], json!([]))),
        ("/v1/watchdog/nothing", 404, |body| assert_eq!(body["detail"], "Not Found")),
    ];
    for (path, status, check) in rows {
        let (answered, body) = watchdog.get(path);
        assert_eq!(answered, *status, "{path}: {body}");
        check(&body);
    }
}

#[test]
fn events_are_taken_in_both_forms_and_refused_with_a_reason() {
    let watchdog = Watchdog::start(&[]);
    let json = "content-type: application/json\r\n";
    let long = json!({ "session_id": "x".repeat(600), "kind": "test_pass" }).to_string();
    let rows: &[(&str, &str, u16, &str)] = &[
        (json, r#"{"session_id":"a","kind":"file_edit","files":["x.rs"]}"#, 202, ""),
        (json, r#"{"identity":{"watchdog_session_id":"a","branch":"main"},"kind":"test_pass"}"#, 202, ""),
        (json, r#"{"session":{"watchdog_session_id":"a","agent":"codex"},"event":{"type":"agent_request"}}"#, 202, ""),
        (
            json,
            r#"{"version":"1","session":{"watchdog_session_id":"a"},"event":{"type":"git_diff","id":"e1"}}"#,
            202,
            "",
        ),
        (json, r#"{"session_id":"a","kind":"test_failure","metadata":{"exit_code":"one"}}"#, 202, ""),
        (json, r#"{"session_id":"a","kind":"manual_resume"}"#, 202, ""),
        (
            json,
            r#"{"version":"99","session":{"watchdog_session_id":"a"},"event":{"type":"test_pass"}}"#,
            422,
            "version",
        ),
        (json, r#"{"session_id":"a","kind":"no_such_kind"}"#, 422, "no_such_kind"),
        (json, r#"{"kind":"test_pass"}"#, 422, "session_id"),
        (json, r#"{"session_id":"","kind":"test_pass"}"#, 422, "session_id"),
        (json, r#"{"session_id":"\u001b[2J","kind":"test_pass"}"#, 422, "control characters"),
        (json, &long, 422, "600 bytes long"),
        (json, r#"["not","an","object"]"#, 422, "object"),
        (json, "{not json", 400, "JSON"),
        ("content-type: text/plain\r\n", r#"{"session_id":"a","kind":"test_pass"}"#, 422, "content-type"),
        (
            "content-type: application/json\r\norigin: http://evil.example\r\n",
            r#"{"session_id":"a","kind":"test_pass"}"#,
            403,
            "",
        ),
    ];
    for (headers, body, status, says) in rows {
        let (answered, shown) = watchdog.ask("POST", "/v1/watchdog/events", headers, body);
        assert_eq!(answered, *status, "{body}: {shown}");
        assert!(shown.to_string().contains(says), "{body}: {shown}");
        if answered == 202 {
            has(&shown, STATUS);
        }
    }
    let whole = json!({ "watchdog_session_id": "b", "repository": "shop", "workspace": "/w/shop", "branch": "main", "task_id": "T-1" });
    let (_, shown) = watchdog.post("/v1/watchdog/events", &json!({ "identity": whole, "kind": "test_pass" }));
    for (field, value) in whole.as_object().unwrap() {
        assert_eq!(&shown["identity"][field], value, "{shown}");
    }
    let (_, all) = watchdog.get("/v1/watchdog/sessions");
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2, "one id, one session, whoever tells of it: {all}");
}

#[test]
fn decisions_need_the_token_and_do_what_they_did() {
    let watchdog = Watchdog::start(&[]);
    watchdog.loops("team/shop:1");
    let path = |action: &str| format!("/v1/watchdog/sessions/team/shop:1/{action}");
    for action in ["acknowledge", "resume", "kill", "archive"] {
        assert_eq!(watchdog.post(&path(action), &json!({})).0, 401, "{action}");
    }
    assert_eq!(watchdog.post("/v1/watchdog/history/clear", &json!({})).0, 401);
    let no_body = format!("authorization: Bearer {}\r\n", watchdog.token);
    let rows: &[(&str, u16)] = &[(&path("resume"), 422), ("/v1/watchdog/history/clear", 422)];
    for (path, status) in rows {
        let (answered, shown) = watchdog.ask("POST", path, &no_body, "");
        assert_eq!((answered, shown["detail"].is_array()), (*status, true), "{path}: {shown}");
    }
    assert_eq!(watchdog.decide(&path("resume"), &json!({ "cooldown_seconds": 86_401 })).0, 422);
    assert_eq!(watchdog.decide(&path("dance"), &json!({})).0, 404);
    assert_eq!(watchdog.decide("/v1/watchdog/sessions/%1b[2J/kill", &json!({})).0, 422);
    let (status, seen) = watchdog.decide(&path("acknowledge"), &json!({ "note": "on it" }));
    assert_eq!((status, &seen["paused"]), (200, &json!(true)));
    assert!(seen["acknowledged_at"].is_string() && seen["acknowledged_note"] == "on it", "{seen}");
    let (status, lifted) = watchdog.decide(&path("resume"), &json!({ "clear_recent_events": true }));
    assert_eq!((status, &lifted["paused"], &lifted["incident"]), (200, &json!(false), &Value::Null), "{lifted}");
    assert_eq!((&lifted["acknowledged_at"], &lifted["acknowledged_note"]), (&Value::Null, &json!("")), "{lifted}");
    assert_eq!(watchdog.call("team/shop:1", "").0, 200, "and it goes on");
    let (_, killed) = watchdog.decide(&path("kill"), &json!({ "note": "enough" }));
    assert_eq!((&killed["paused"], &killed["incident"]["score"]), (&json!(true), &json!(999.0)), "{killed}");
    let (status, held) = watchdog.call("team/shop:1", "");
    assert_eq!((status, &held["error"]["incident"]["score"]), (409, &json!(999.0)), "{held}");
    assert_eq!(held["error"]["incident"]["incident_id"], killed["incident"]["incident_id"]);
    let (status, refused) = watchdog.decide(&path("resume"), &json!({}));
    assert_eq!(status, 409, "a kill is final: {refused}");
    assert!(refused["error"]["message"].as_str().unwrap().ends_with("is killed and cannot be resumed"), "{refused}");
    assert_eq!(watchdog.decide("/v1/watchdog/sessions/new-one/acknowledge", &json!({})).0, 200, "made if unknown");
    let (_, hidden) = watchdog.decide(&path("archive"), &json!({}));
    assert_eq!((&hidden["archived"], &hidden["paused"]), (&json!(true), &json!(true)), "out of sight, still held");
    let (status, cleared) = watchdog.decide("/v1/watchdog/history/clear", &json!({}));
    assert_eq!((status, &cleared["sessions"]), (200, &json!([])));
    assert_eq!(watchdog.get("/v1/watchdog/dashboard").1["total_sessions"], 0);
}

#[test]
fn an_intervention_counts_as_a_persons_only_with_the_token() {
    let watchdog = Watchdog::start(&[]);
    let event = |kind: &str, summary: &str| json!({ "session_id": "s", "kind": kind, "summary": summary });
    for number in 0..8 {
        for (kind, summary) in [("command_start", "npm test"), ("tool_error", "1 failing")] {
            watchdog.post("/v1/watchdog/events", &event(kind, summary));
        }
        let (status, _) =
            watchdog.post("/v1/watchdog/events", &event("user_intervention", &format!("go on with {number}")));
        assert_eq!(status, 202);
    }
    assert_eq!(watchdog.get("/v1/watchdog/status/s").1["paused"], true);
    let prompts = |watchdog: &Watchdog| watchdog.get("/api/v1/events?kind=prompt").1["events"].as_array().map(Vec::len);
    assert_eq!(prompts(&watchdog), Some(0));
    watchdog.decide("/v1/watchdog/events", &event("user_intervention", "go on"));
    assert_eq!(prompts(&watchdog), Some(1));
}

#[test]
fn a_held_session_hears_409_then_423_and_428_until_it_names_a_plan() {
    let watchdog = Watchdog::start(&[]);
    assert_eq!(watchdog.call("shop", "").0, 200);
    // Recording is asynchronous: a prompt that is recorded late would reset the evidence.
    wait_for_events(&watchdog.world, "legacy", "shop", &["model_answered"], 1);
    watchdog.loops("shop");
    let before = watchdog.model.requests().len();
    let (status, held) = watchdog.call("shop", "");
    assert_eq!((status, &held["error"]["type"]), (409, &json!("loop_watchdog_paused")), "{held}");
    has_exactly(&held["error"], "message type incident");
    has_exactly(&held["error"]["incident"], INCIDENT);
    let known = watchdog.get("/v1/watchdog/status/shop").1["incident"].clone();
    assert_eq!(
        (&held["error"]["incident"], &known["session_id"]),
        (&known, &json!("shop")),
        "one incident, told twice"
    );
    assert!(known["created_at"].as_str().unwrap().ends_with("000Z"), "{known}");
    let resume = "/v1/watchdog/sessions/shop/resume";
    let plan = json!({ "changed_plan": "Free the port first", "cooldown_seconds": 3600 });
    let (_, cooling) = watchdog.decide(resume, &plan);
    assert!(cooling["cooldown_until"].is_string(), "{cooling}");
    let (status, shown) = watchdog.call("shop", "x-loop-plan: Free the port first\r\n");
    assert_eq!((status, &shown["error"]["type"]), (423, &json!("loop_watchdog_cooldown")), "{shown}");
    has_exactly(&shown["error"], "message type cooldown_until");
    assert!(shown["error"]["cooldown_until"].as_str().unwrap().ends_with("000+00:00"), "{shown}");
    let (_, waiting) = watchdog.decide(resume, &json!({ "changed_plan": "Free the port first" }));
    assert_eq!((&waiting["paused"], &waiting["requires_changed_plan"]), (&json!(false), &json!(true)), "{waiting}");
    assert_eq!(waiting["required_plan_preview"], "Free the port first");
    let (status, shown) = watchdog.call("shop", "");
    assert_eq!((status, &shown["error"]["type"]), (428, &json!("loop_watchdog_plan_required")), "{shown}");
    has_exactly(&shown["error"], "message type required_plan_preview");
    assert_eq!(shown["error"]["required_plan_preview"], "Free the port first");
    assert_eq!(watchdog.model.requests().len(), before, "nothing of this reached the model");
    assert_eq!(watchdog.call("shop", "x-loop-plan: Free the port first\r\n").0, 200);
    assert_eq!(watchdog.get("/v1/watchdog/status/shop").1["requires_changed_plan"], false);
}

#[test]
fn an_agent_that_retries_a_conflict_gets_the_refusal_it_takes_as_final() {
    let watchdog = Watchdog::start(&["--set", "proxy.hold_timeout=0s"]);
    watchdog.loops("shop");
    let (status, held) = watchdog.call("shop", "user-agent: opencode/1.18.33\r\n");
    assert_eq!((status, &held["error"]["code"]), (402, &json!("belay_paused")), "{held}");
}

#[test]
fn the_guided_trial_requires_the_token() {
    let watchdog = Watchdog::start(&[]);
    let (status, refused) = watchdog.ask("POST", "/v1/watchdog/demo/guided-trial", "", "");
    assert_eq!(status, 401, "{refused}");
    assert_eq!(watchdog.ask("GET", "/v1/watchdog/sessions", "", "").1["sessions"], json!([]));
}

#[test]
fn the_user_may_do_without_the_token_and_try_it_out() {
    let watchdog = Watchdog::start(&["--set", "compat.loop_watchdog_without_token=true"]);
    let (status, trial) = watchdog.ask("POST", "/v1/watchdog/demo/guided-trial", "", "");
    assert_eq!((status, &trial["status"]["paused"]), (201, &json!(true)), "{trial}");
    let id = trial["session_id"].as_str().unwrap();
    assert!(id.starts_with("trial:"));
    assert_eq!(watchdog.post(&format!("/v1/watchdog/sessions/{id}/resume"), &json!({})).1["paused"], false);
}

#[test]
fn a_posted_event_reads_back_as_one_event_in_its_own_words() {
    let watchdog = Watchdog::start(&[]);
    let secret = ["sk", "-proj-", &"Ab1".repeat(12)].concat();
    let posted = json!({
        "session_id": "s", "kind": "patch_apply", "summary": "Rename the handler", "files": ["a.py", "b.py"],
        "metadata": { "tool": "apply_patch", "exit_code": 3, "api_key": secret, "log": "x".repeat(4000) },
    });
    assert_eq!(watchdog.post("/v1/watchdog/events", &posted).0, 202);
    let (_, read) = watchdog.get("/v1/watchdog/sessions/s/events");
    let events: Vec<&Value> =
        read["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "patch_apply").collect();
    let [event] = events[..] else { panic!("one event: {read}") };
    has_exactly(event, EVENT);
    for field in ["summary", "files"] {
        assert_eq!(event[field], posted[field], "{event}");
    }
    let metadata = &event["metadata"];
    assert_eq!((&metadata["tool"], &metadata["exit_code"]), (&json!("apply_patch"), &json!(3)), "{event}");
    assert!(metadata["log"].as_str().unwrap().len() < 4000, "an excerpt: {event}");
    assert!(!read.to_string().contains(&secret), "{read}");
}

#[test]
fn an_incident_names_the_files_and_the_events_it_rests_on() {
    let watchdog = Watchdog::start(&[]);
    let files = json!(["src/pay.py", "tests/test_pay.py"]);
    for number in 0..4 {
        let kind = ["file_edit", "test_failure"][number % 2];
        let event = json!({ "type": kind, "id": format!("e{number}"), "summary": "boom", "files": files });
        let posted = json!({ "session": { "watchdog_session_id": "s" }, "event": event });
        let (_, shown) = watchdog.post("/v1/watchdog/events", &posted);
        assert_eq!(shown["paused"], number == 3, "two rounds, not fewer: {shown}");
    }
    let incident = &watchdog.get("/v1/watchdog/status/s").1["incident"];
    assert_eq!(incident["repeated_files"], files, "{incident}");
    assert_eq!(incident["triggering_event_ids"], json!(["e0", "e1", "e2", "e3"]), "{incident}");
    assert_eq!(incident["repeated_errors"], json!(["boom"]), "{incident}");
    watchdog.loops("calls");
    let incident = &watchdog.get("/v1/watchdog/status/calls").1["incident"];
    assert!(!incident["triggering_event_ids"].as_array().unwrap().is_empty(), "{incident}");
}

#[test]
fn reported_rounds_have_a_ladder_of_their_own() {
    let watchdog = Watchdog::start(&["--set", "compat.pause_at=3"]);
    let round = |session: &str| {
        for kind in ["file_edit", "test_failure"] {
            let posted = json!({ "session_id": session, "kind": kind, "summary": "boom", "files": ["a.py"] });
            watchdog.post("/v1/watchdog/events", &posted);
        }
        watchdog.get(&format!("/v1/watchdog/status/{session}")).1["paused"].clone()
    };
    assert_eq!([round("s"), round("s"), round("s")], [json!(false), json!(false), json!(true)]);
    watchdog.decide("/v1/watchdog/sessions/s/resume", &json!({}));
    assert_eq!([round("s"), round("s"), round("s")], [json!(false), json!(false), json!(true)], "counted anew");
    // The same facts by Belay's own API are subject to the common ladder.
    for number in 0..6 {
        let kind = ["file_changed", "check_ran"][number % 2];
        let mut event = json!({ "id": format!("e{number}"), "session": { "agent": "legacy", "id": "own" },
            "at": "2026-01-31T12:00:00Z", "kind": kind });
        let more = json!({ "path": "a.py", "check": "test", "ok": false, "failing": ["test_pay"] });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, shown) = watchdog.decide("/api/v1/events", &event);
        assert_eq!(status, 200, "{shown}");
    }
    assert_eq!(watchdog.get("/v1/watchdog/status/own").1["paused"], false);
}

#[test]
fn clearing_the_history_archives_every_session_and_says_how_many() {
    let watchdog = Watchdog::start(&[]);
    for number in 0..203 {
        let posted = json!({ "session_id": format!("s{number}"), "kind": "session_note", "summary": "hello" });
        assert_eq!(watchdog.post("/v1/watchdog/events", &posted).0, 202);
    }
    let (status, cleared) = watchdog.decide("/v1/watchdog/history/clear", &json!({ "note": "spring clean" }));
    assert_eq!((status, &cleared["total_sessions"], &cleared["sessions"]), (200, &json!(0), &json!([])));
    assert_eq!(cleared["archived_sessions"], 203, "{cleared}");
    assert_eq!(cleared["message"], "Archived 203 sessions. The event log keeps them.");
    assert_eq!(watchdog.get("/v1/watchdog/dashboard").1["total_sessions"], 0, "none is left");
    let (_, again) = watchdog.decide("/v1/watchdog/history/clear", &json!({}));
    assert_eq!(again["archived_sessions"], 0, "{again}");
}

#[cfg(unix)]
#[test]
fn the_loop_test_passes() {
    let watchdog = Watchdog::start(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/loop-test.sh");
    let run = std::process::Command::new("sh")
        .arg(script)
        .arg(format!("http://{}", watchdog.serve.address()))
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{output}{}", String::from_utf8_lossy(&run.stderr));
    assert!(output.contains("loop_watchdog_paused") && output.contains("passed:"), "{output}");
    assert_eq!(watchdog.model.requests().len(), 0, "no request reached the model");
}
