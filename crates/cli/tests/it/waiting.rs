//! `belay wait`, `belay tombstones`, `belay statusline`, `belay result`, `belay import`.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::world::{World, eventually};

fn alone() -> World {
    World::new().var("BELAY_AUTOSTART", "false")
}

fn start(world: &World, session: &str) {
    let cwd = world.path("home/code/app");
    let payload = json!({ "session_id": session, "hook_event_name": "SessionStart", "cwd": cwd });
    assert_eq!(world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).code, Some(0));
}

#[test]
fn a_wait_ends_when_it_comes_true_or_at_its_ceiling() {
    let world = alone();
    start(&world, "s1");
    let file = world.write("home/code/app/done", "");
    let met = world.run(&["wait", "--for-file", file.to_str().unwrap(), "--json"]);
    assert_eq!((met.code, met.json()["met"].as_bool()), (Some(0), Some(true)), "{met:?}");
    assert_eq!(met.json()["session"], "claude-code:s1", "the session that works here declared it");
    let not = world.run(&["wait", "--for-command", "false", "--at-most", "200ms", "--every", "100ms"]);
    assert_eq!(not.code, Some(1));
    assert!(not.out.contains("has not come true"), "{not:?}");
    let events = world.run(&["events", "tail", "claude-code:s1", "-n", "100", "--json"]).out;
    assert_eq!(events.matches("\"waiting\"").count(), 2, "{events}");
    assert_eq!(events.matches("\"wait_ended\"").count(), 2, "{events}");
}

#[test]
fn an_agent_that_ends_a_wait_ends_it_for_us_too() {
    let world = alone();
    start(&world, "s1");
    let mut command = world.command(["wait", "--for-file", "never", "--at-most", "1h"]);
    let mut child = command.env("CLAUDE_CODE_SESSION_ID", "s1").spawn().unwrap();
    let events = || world.run(&["events", "tail", "claude-code:s1", "-n", "100", "--json"]).out;
    eventually("the wait is declared", || events().contains("\"waiting\"").then_some(()));
    let show = world.run(&["show", "s1", "--json"]).json();
    assert_eq!(show["session"]["waiting"]["what"], "never exists", "{show}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(events().matches("\"wait_ended\"").count(), 1);
    assert_eq!(world.run(&["show", "s1", "--json"]).json()["session"]["waiting"], serde_json::Value::Null);
}

#[test]
fn a_wait_belongs_to_nobody_where_two_agents_work() {
    let world = alone();
    start(&world, "s1");
    start(&world, "s2");
    let said = world.run(&["wait", "--until", "1ms", "--json"]).json();
    assert_eq!((&said["met"], &said["session"]), (&true.into(), &serde_json::Value::Null));
    let said = world.run(&["wait", "--until", "1ms", "--session", "s2", "--json"]).json();
    assert_eq!(said["session"], "claude-code:s2");
}

#[test]
fn a_wait_for_a_process_ends_with_it() {
    let world = alone();
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let waiting = world.command(["wait", "--for-pid", &pid, "--every", "100ms"]).spawn().unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let said = waiting.wait_with_output().unwrap();
    assert!(said.status.success());
    assert!(String::from_utf8(said.stdout).unwrap().contains(&format!("process {pid} has ended. Go on.")));
}

#[test]
fn a_wait_for_nothing_is_a_mistake() {
    insta::assert_snapshot!(alone().tell(&["wait"]), @r"
    $ belay wait
    -- stderr
    Error: say what to wait for
    Hint: --until, --for-file, --for-command or --for-pid; for a plain pause: belay wait --until 5m
    -- exit 2
    ");
}

#[test]
fn the_status_line_is_one_line_whatever_happens() {
    let world = alone();
    let huge = format!("{{\"x\":\"{}", "y".repeat(2 * 1024 * 1024));
    for input in ["", "{", "null", "[1]", "{\"session_id\":7}", "{\"session_id\":\"nobody\"}", "\u{fffd}", &huge] {
        for args in [&["statusline"][..], &["statusline", "--what", "-x"], &["--home", "/dev/null/x", "statusline"]] {
            let said = world.run_with(args, input.as_bytes());
            assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "belay\n", ""), "{args:?}");
        }
    }
    assert!(world.run(&["statusline", "--help"]).out.contains("Usage"));
    start(&world, "s1");
    let said = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "belay: 0 calls\n"));
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let said = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert!(said.out.starts_with("belay: PAUSED, belay resume "), "{said:?}");
}

/// How each agent says that a session begins, and where its model reads the answer.
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
    let world = alone();
    start(&world, "s1");
    assert_eq!(world.run(&["kill", "s1", "--note", "it deleted the tests"]).code, Some(0));
    let said = world.run(&["tombstones", "--json"]).json();
    assert_eq!(said["tombstones"][0]["pattern"], "killed", "{said}");
    assert!(world.run(&["tombstones"]).out.contains("claude-code:s1"));
    let cwd = world.path("home/code/app");
    for (agent, event, payload, place) in BEGINNINGS {
        let mut payload: serde_json::Value = serde_json::from_str(payload).unwrap();
        payload["cwd"] = cwd.to_str().unwrap().into();
        let args: Vec<&str> = ["hook", agent, event].into_iter().filter(|word| !word.is_empty()).collect();
        let told = world.run_with(&args, payload.to_string().as_bytes()).json();
        let text = told.pointer(place).and_then(|text| text.as_str()).unwrap_or_else(|| panic!("{agent}: {told}"));
        assert!(text.contains("deleted the tests"), "{agent}: {text}");
    }
    // Another project is told nothing of it.
    let elsewhere = json!({ "session_id": "s3", "hook_event_name": "SessionStart", "cwd": world.path("home") });
    assert_eq!(world.run_with(&["hook", "claude-code"], elsewhere.to_string().as_bytes()).out, "");
    assert_eq!(world.run(&["tombstones", "--clear"]).code, Some(0));
    assert_eq!(world.run(&["tombstones", "--json"]).json()["tombstones"].as_array().unwrap().len(), 0);
}

#[test]
fn tombstones_are_forgotten_one_by_one_and_live_as_long_as_configured() {
    let world = alone();
    for session in ["aaa", "bbb"] {
        start(&world, session);
        assert_eq!(world.run(&["kill", session]).code, Some(0));
    }
    assert_eq!(world.run(&["tombstones", "aaa", "--clear"]).out, "Forgotten: 1.\n");
    let left = world.run(&["tombstones", "--all", "--json"]).json();
    assert_eq!(left["tombstones"][0]["session"]["id"], "bbb", "{left}");
    assert_eq!(left["tombstones"].as_array().unwrap().len(), 1);
    let days = |stone: &serde_json::Value| {
        let time = |key: &str| belay_core::Time::parse(stone[key].as_str().unwrap()).unwrap();
        time("expires_at").since(time("at")).as_secs() / 86_400
    };
    assert_eq!(days(&left["tombstones"][0]), 7);
    assert_eq!(world.run(&["config", "set", "detect.tombstone_days", "1"]).code, Some(0));
    start(&world, "ccc");
    assert_eq!(world.run(&["kill", "ccc"]).code, Some(0));
    assert_eq!(days(&world.run(&["tombstones", "ccc", "--json"]).json()["tombstones"][0]), 1);
    assert_eq!(world.run(&["config", "set", "detect.tombstone_days", "0"]).code, Some(0));
    start(&world, "ddd");
    assert_eq!(world.run(&["kill", "ddd"]).code, Some(0));
    assert_eq!(world.run(&["tombstones", "ddd", "--json"]).json()["tombstones"], json!([]));
}

#[test]
fn a_headless_run_that_was_paused_fails_the_pipeline() {
    let world = alone().var("CI", "true");
    let cwd = world.path("home/code/app");
    start(&world, "s1");
    let end = |session: &str| json!({ "session_id": session, "hook_event_name": "SessionEnd", "cwd": cwd }).to_string();
    world.run_with(&["hook", "claude-code"], end("s1").as_bytes());
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "clean");
    assert_eq!(world.run(&["result"]).code, Some(0));
    start(&world, "s2");
    assert_eq!(world.run(&["pause", "s2"]).code, Some(0));
    let call = json!({ "session_id": "s2", "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Bash", "tool_input": {}, "tool_use_id": "t" });
    let held = world.run_with(&["hook", "claude-code"], call.to_string().as_bytes());
    assert_eq!(held.json()["continue"], false);
    assert_eq!(world.run(&["result"]).code, Some(4));
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "paused");
    // A person lets it go on, and it ends.
    assert_eq!(world.run(&["resume", "s2"]).code, Some(0));
    world.run_with(&["hook", "claude-code"], end("s2").as_bytes());
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "clean");
    assert_eq!(world.run(&["result"]).code, Some(0));
    std::fs::remove_file(cwd.join("belay-result.json")).unwrap();
    assert_eq!(world.run(&["result"]).code, Some(1), "no result is no success");
}

#[test]
fn heartbeats_settings_come_along() {
    let world = alone();
    world.write(
        "home/code/app/.heartbeat.yml",
        "# team settings\nloop_threshold: 4\nstall_timeout: 300   # five minutes\nwindow_size: 30\n\
         error_threshold: 6\ncontext_pct: 75\nmax_nudges: many\ndry_run: 1\ncolour: blue\n\
         allowlist: Bash:npm test\nwebhook_url: https://hooks.example.com/x\n",
    );
    world.write(
        "home/code/app/.heartbeat/patterns/deploys.json",
        r#"{"name":"deploys","display_name":"Deploys","tools":["Bash"],"nudge":"You keep deploying {target}.","severity":"high"}"#,
    );
    let world = world.var("HEARTBEAT_MAX_NUDGES", "4");
    insta::assert_snapshot!(world.tell(&["import", "heartbeat"]));
    let list = |key: &str| world.run(&["config", "get", key]).out.trim().to_owned();
    assert_eq!((list("webhook.url").as_str(), list("webhook.format").as_str()), ("", "belay"), "not unasked");
    assert_eq!(list("detect.max_nudges"), "4", "a person's own variables become their own settings");
    assert_eq!(world.run(&["import", "heartbeat", "--webhook"]).code, Some(0));
    assert_eq!(
        (list("webhook.url").as_str(), list("webhook.format").as_str()),
        ("https://hooks.example.com/x", "heartbeat")
    );
    let file = std::fs::read_to_string(world.path("home/code/app/.belay.toml")).unwrap();
    assert!(file.contains("nudge_at = 4") && file.contains("deploys"), "{file}");
    let said = world.run(&["config", "list"]);
    assert_eq!(said.code, Some(0), "what was written is valid: {said:?}");
}
