//! The dashboard's pages and API, by a real resident process with sessions made by real hooks.

use serde_json::{Value, json};

use crate::hook::{alone, hook, payload};
use crate::http::{body, status};
use crate::login::{Browser, link};
use crate::resident::Serve;
use crate::world::{World, call, lines};

/// Equal calls that fail alike until Belay pauses the session.
fn loops_until_paused(world: &World, session: &str) {
    for n in 0..12 {
        let call = format!("t{n}");
        let output = hook(world, &payload("PreToolUse", session, &call, "make"));
        if output.out.contains("paused") {
            return;
        }
        hook(world, &payload("PostToolUseFailure", session, &call, "make"));
    }
    panic!("the loop was not paused");
}

fn is_denied(world: &World, session: &str, call: &str) -> bool {
    let output = hook(world, &payload("PreToolUse", session, call, "ls"));
    output.out.contains("deny")
}

fn get(serve: &Serve, path: &str) -> Value {
    body(&serve.get(path))
}

/// Posts a form as the script of a page does.
fn submit(browser: &Browser<'_>, path: &str, fields: &str) -> String {
    let fields = format!("form_token={}&{fields}", browser.form_token());
    let headers = "content-type: application/x-www-form-urlencoded\r\naccept: application/json\r\n";
    browser.request("POST", path, headers, &fields)
}

#[test]
fn without_a_session_the_page_tells_how_to_begin() {
    let world = World::new();
    let serve = Serve::start(&world);
    let page = serve.get("/");
    assert_eq!(status(&page), "200");
    for text in ["belay init", "belay run"] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
}

#[test]
fn texts_of_agents_stay_texts() {
    let world = World::new();
    let serve = Serve::start(&world);
    let hostile = json!({
        "id": "e1", "session": { "agent": "codex", "id": "<b>x</b>" }, "cwd": "/<script>alert(1)</script>",
        "kind": "tool_called", "call": "c1", "tool": { "kind": "shell", "name": "Bash" },
        "input": { "command": "<img src=x onerror=alert(2)>" },
    });
    world.run_with(&["events", "post"], hostile.to_string().as_bytes());
    for path in ["/", "/sessions/codex:%3Cb%3Ex%3C%2Fb%3E", "/incidents", "/spend"] {
        let page = serve.get(path);
        assert_eq!(status(&page), "200", "{page}");
        for tag in ["<b>x", "<script>alert", "<img"] {
            assert!(!page.contains(tag), "{tag} in {path}: {page}");
        }
        assert!(page.to_lowercase().contains("content-security-policy: default-src 'none'"), "{page}");
    }
}

#[test]
fn a_held_session_needs_a_person_who_can_resume_it_from_the_page() {
    let world = alone();
    let serve = Serve::start(&world);
    loops_until_paused(&world, "s");
    let need = &get(&serve, "/api/v1/overview")["needs"][0];
    assert_eq!((&need["kind"], &need["session"]["session"]), (&json!("loop"), &json!("claude-code:s")), "{need}");
    let (reason, _) = need["reason"].as_str().unwrap().split_once("`make`").unwrap();
    assert!(need["calls"].as_array().unwrap().len() >= 5, "{need}");
    let page = serve.get("/");
    assert!(page.contains(&format!("{reason}<code>make</code>")), "{page}");
    assert!(page.contains("1 needs you"), "{page}");

    let browser = Browser::logged_in(&serve, link(&serve));
    assert!(is_denied(&world, "s", "u1"));
    let without_token = browser.request(
        "POST",
        "/sessions/claude-code:s/decisions",
        "content-type: application/x-www-form-urlencoded\r\n",
        "decision=resume",
    );
    assert_eq!(status(&without_token), "403", "{without_token}");
    assert!(is_denied(&world, "s", "u2"));
    let done = submit(&browser, "/sessions/claude-code:s/decisions", "decision=resume&note=Write+the+rule+first");
    assert_eq!((status(&done), &body(&done)["message"]), ("200", &json!("Resumed.")), "{done}");
    let output = hook(&world, &payload("PreToolUse", "s", "u3", "ls"));
    assert!(output.out.contains("A person resumed this session and says: Write the rule first"), "{}", output.out);
    assert!(!is_denied(&world, "s", "u4"), "the note is read once");
    assert_eq!(get(&serve, "/api/v1/overview")["needs"], json!([]));
    let notes = get(&serve, "/api/v1/sessions/s/notes");
    assert_eq!(notes["notes"][0]["text"], "Write the rule first", "{notes}");
    assert!(serve.get("/incidents?state=closed").contains("Write the rule first"));
}

#[test]
fn a_larger_budget_does_not_resume_a_loop() {
    let world = alone();
    let serve = Serve::start(&world);
    loops_until_paused(&world, "s");
    let browser = Browser::logged_in(&serve, link(&serve));
    let raised = submit(&browser, "/sessions/claude-code:s/decisions", "decision=budget&dollars=5&resume=true");
    assert_eq!((status(&raised), &body(&raised)["message"]), ("200", &json!("The budget is $5.00. It is still held.")));
    assert!(is_denied(&world, "s", "u1"));
}

#[test]
fn the_page_of_a_session_shows_the_loop_as_rounds() {
    let world = alone();
    let serve = Serve::start(&world);
    hook(&world, &payload("PreToolUse", "s", "first", "ls"));
    loops_until_paused(&world, "s");
    let page = get(&serve, "/api/v1/sessions/s/page");
    let picture = &page["picture"];
    assert_eq!(picture["calls"][0]["what"], "ls", "{picture}");
    let row = &picture["rows"][0];
    assert_eq!((&row["what"], &row["in_finding"]), (&json!("make"), &json!(true)), "{picture}");
    let rounds = picture["rounds"].as_array().unwrap();
    assert_eq!(rounds[0]["first"], 2, "{picture}");
    assert_eq!(rounds.len(), usize::try_from(row["count"].as_u64().unwrap()).unwrap(), "{picture}");
    let kinds: Vec<&str> = picture["flags"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"pause"), "{kinds:?}");
    let strip = picture["strip"].as_array().unwrap();
    assert_eq!(strip.iter().map(|bucket| bucket["calls"].as_u64().unwrap()).sum::<u64>(), picture["total"]);
    // An older window ends before the call that the request names.
    let older = get(&serve, "/api/v1/sessions/s/page?before=3&calls=2");
    let numbers: Vec<u64> =
        older["picture"]["calls"].as_array().unwrap().iter().map(|call| call["call"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(status(&serve.get("/sessions/none")), "404");
    assert!(serve.get("/sessions/none").contains("Not found"));
}

#[test]
fn opening_a_finished_session_marks_it_as_seen() {
    let world = alone();
    let serve = Serve::start(&world);
    hook(&world, &payload("PreToolUse", "s", "t1", "ls"));
    let stop = json!({ "session_id": "s", "hook_event_name": "Stop", "cwd": "/", "last_assistant_message": "Done." });
    hook(&world, &stop);
    assert_eq!(get(&serve, "/api/v1/overview")["needs"][0]["kind"], "finished");
    // What a page fetches for itself is not a look.
    serve.get("/sessions/s?fragment=head");
    assert_eq!(get(&serve, "/api/v1/sessions/s")["status"]["value"], "finished");
    // Nor is what another program fetches, an agent's `curl` for example.
    assert_eq!(status(&serve.get("/sessions/s")), "200");
    assert_eq!(get(&serve, "/api/v1/sessions/s")["status"]["value"], "finished");
    let browser = Browser::logged_in(&serve, link(&serve));
    let navigation = "sec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n";
    assert_eq!(status(&browser.get("/sessions/s", navigation)), "200");
    assert_eq!(get(&serve, "/api/v1/sessions/s")["status"]["value"], "idle");
    assert_eq!(get(&serve, "/api/v1/overview")["needs"], json!([]));
}

#[test]
fn sessions_are_searched_sorted_and_decided_in_bulk() {
    let world = World::new();
    let serve = Serve::start(&world);
    let calls = |session: &str, count: usize| -> Vec<String> {
        (0..count).map(|n| call(&format!("{session}{n}"), session, &format!("ls {n}"))).collect()
    };
    world.run_with(&["events", "post"], &lines(&[calls("many", 3), calls("few", 1)].concat()));
    let names = |path: &str| -> Vec<String> {
        let sessions = get(&serve, path)["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/api/v1/sessions?sort=calls"), ["many", "few"]);
    let first = get(&serve, "/api/v1/sessions?sort=calls&limit=1");
    let next = first["next"].as_str().unwrap();
    assert_eq!(names(&format!("/api/v1/sessions?sort=calls&limit=1&after={next}")), ["few"]);
    assert_eq!(names("/api/v1/sessions?q=FEW"), ["few"]);
    assert_eq!(names("/api/v1/sessions?q=claude-code:m"), ["many"]);
    assert_eq!(status(&serve.get("/api/v1/sessions?sort=colour")), "400");

    let token = world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let headers = format!("content-type: application/json\r\nauthorization: Bearer {token}\r\n");
    let request = r#"{"sessions":["many","few","none"],"decision":"pause"}"#;
    let results = body(&serve.http(&crate::http::post("/api/v1/decisions", &headers, request)));
    assert_eq!(results["results"][0]["session"]["state"], "paused", "{results}");
    assert_eq!(results["results"][1]["session"]["state"], "paused", "{results}");
    assert_eq!(results["results"][2]["error"]["code"], "not_found", "{results}");
    let anonymous = crate::http::post("/api/v1/decisions", "content-type: application/json\r\n", request);
    assert_eq!(status(&serve.http(&anonymous)), "401");
}

#[test]
fn settings_are_read_with_their_origin_and_written_like_by_the_command() {
    let world = World::new();
    let serve = Serve::start(&world);
    let value = |key: &str| {
        let config = get(&serve, "/api/v1/config");
        config["values"].as_array().unwrap().iter().find(|value| value["key"] == key).cloned().unwrap()
    };
    assert_eq!(value("detect.max_nudges")["layer"], "built-in");
    let browser = Browser::logged_in(&serve, link(&serve));
    let saved = submit(&browser, "/settings", "key=detect.max_nudges&value=2");
    assert_eq!(status(&saved), "200", "{saved}");
    assert_eq!(
        (&value("detect.max_nudges")["value"], &value("detect.max_nudges")["layer"]),
        (&json!(2), &json!("user"))
    );
    assert_eq!(world.run(&["config", "get", "detect.max_nudges"]).out.trim(), "2");
    let refused = submit(&browser, "/settings", "key=detect.max_nudges&value=many");
    assert_eq!(status(&refused), "400", "{refused}");
    assert!(body(&refused)["error"]["message"].as_str().unwrap().contains("detect.max_nudges"), "{refused}");
    assert_eq!(status(&submit(&browser, "/settings", "key=detect.max_nudges&unset=true")), "200");
    assert_eq!(value("detect.max_nudges")["layer"], "built-in");
    assert!(browser.get("/settings", "").contains("detect.max_nudges"));
}

#[test]
fn spend_adds_up_by_agent_and_model() {
    let world = World::new();
    let serve = Serve::start(&world);
    let answer = |id: &str, model: &str| {
        json!({
            "id": id, "session": { "agent": "claude-code", "id": "s" }, "kind": "model_answered", "response": id,
            "model": model, "usage": { "input": 1_000_000, "output": 0 },
        })
        .to_string()
    };
    world.run_with(&["events", "post"], &lines(&[answer("r1", "claude-sonnet-4-5"), answer("r2", "claude-haiku-4-5")]));
    let spend = get(&serve, "/api/v1/spend?days=2");
    let session = get(&serve, "/api/v1/sessions/s");
    assert_eq!(spend["total"]["cost_micros"], session["cost_micros"], "{spend}");
    assert!(session["cost_micros"].as_u64().unwrap() > 0);
    assert_eq!(spend["by_model"].as_array().unwrap().len(), 2, "{spend}");
    assert_eq!(spend["by_agent"][0]["name"], "claude-code");
    assert_eq!(spend["by_day"].as_array().unwrap().len(), 2, "{spend}");
    assert_eq!(get(&serve, "/api/v1/overview")["today"]["spent"]["cost_micros"], session["cost_micros"]);
    assert!(serve.get("/spend").contains("claude-haiku-4-5"));
}

#[test]
fn files_of_pages_can_be_kept_forever() {
    let world = World::new();
    let serve = Serve::start(&world);
    let page = serve.get("/");
    let start = page.find("/assets/").unwrap();
    let path = page[start..].split('"').next().unwrap();
    let asset = serve.get(path);
    assert_eq!(status(&asset), "200", "{path}");
    assert!(asset.contains("cache-control: public, max-age=31536000, immutable"), "{asset}");
    assert_eq!(status(&serve.get("/assets/0/belay.css")), "404");
    for traversal in ["/assets/../../etc/passwd", "/assets/0/..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/belay.css"] {
        assert!(matches!(status(&serve.get(traversal)), "400" | "404"), "{traversal}");
    }
}
