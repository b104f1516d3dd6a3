//! Unattended runs: result files, and how programs detect a held run.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::world::{World, session_starts, within};

#[test]
fn a_headless_run_that_was_paused_fails_the_pipeline() {
    let world = World::alone().var("CI", "true");
    let cwd = world.path("home/code/app");
    session_starts(&world, "s1");
    let end = |session: &str| json!({ "session_id": session, "hook_event_name": "SessionEnd", "cwd": cwd }).to_string();
    world.run_with(&["hook", "claude-code"], end("s1").as_bytes());
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "clean");
    assert_eq!(world.run(&["result"]).code, Some(0));
    session_starts(&world, "s2");
    assert_eq!(world.run(&["pause", "s2"]).code, Some(0));
    let call = json!({ "session_id": "s2", "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Bash", "tool_input": {}, "tool_use_id": "t" });
    let held = world.run_with(&["hook", "claude-code"], call.to_string().as_bytes());
    assert_eq!(held.json()["continue"], false);
    assert_eq!(world.run(&["result"]).code, Some(4));
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "paused");
    // A person resumes it, and it ends.
    assert_eq!(world.run(&["resume", "s2"]).code, Some(0));
    world.run_with(&["hook", "claude-code"], end("s2").as_bytes());
    assert_eq!(world.run(&["result", "--json"]).json()["status"], "clean");
    assert_eq!(world.run(&["result"]).code, Some(0));
    std::fs::remove_file(cwd.join("belay-result.json")).unwrap();
    assert_eq!(world.run(&["result"]).code, Some(1), "a missing result is a failure");
}

#[test]
fn a_run_that_was_held_ends_with_a_status_of_its_own() {
    let belay = env!("CARGO_BIN_EXE_belay");
    let script = format!("'{belay}' pause \"$BELAY_SESSION\" && exit $1");
    let ends = |world: &World, status: &str| {
        let output = world.run(&["run", "--no-proxy", "--no-watch", "sh", "-c", &script, "-", status]);
        assert_eq!(world.run(&["stop"]).code, Some(0));
        // A held agent may print nothing, so the reason is the last line.
        let last = output.err.lines().last().unwrap_or_default();
        assert!(last.starts_with("Belay paused this session (`belay resume sh:"), "{}", output.err);
        output.code
    };
    assert_eq!(ends(&World::new(), "0"), Some(4), "outside CI as well");
    let world = World::new().var("CI", "true");
    assert_eq!(ends(&world, "0"), Some(4));
    assert_eq!(world.run(&["result"]).code, Some(4));
    assert_eq!(ends(&world, "7"), Some(4), "whatever the agent's own status is");
    // Neither option hides why nothing was done.
    for option in ["--quiet", "--json"] {
        let world = World::new();
        let output = world.run(&[option, "run", "--no-proxy", "--no-watch", "sh", "-c", &script, "-", "0"]);
        assert_eq!(world.run(&["stop"]).code, Some(0));
        assert_eq!(output.code, Some(4), "{option}");
        let last = output.err.lines().last().unwrap_or_default();
        assert!(last.contains("Belay paused this session (`belay resume sh:"), "{option}: {}", output.err);
        assert_eq!(last.starts_with("{\"error\":"), option == "--json", "{last}");
    }
}

/// No hook reply ends a turn in Codex's terminal UI: it would keep sending model requests.
#[test]
fn the_hook_of_a_held_codex_session_waits_until_a_person_resumes_it() {
    let world = World::alone();
    world.run_with(&["hook", "codex"], codex_payload(&world, "SessionStart", "").as_bytes());
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let mut hook = world.command(["hook", "codex"]).stdin(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(codex_payload(&world, "PreToolUse", "c1").as_bytes()).unwrap();
    // The call is recorded before the hook waits.
    let calls = || world.run(&["sessions", "--json"]).json()["sessions"][0]["calls"].clone();
    while calls() != 1 {
        assert_eq!(hook.try_wait().unwrap(), None, "the hook does not return while the session is held");
    }
    assert_eq!(hook.try_wait().unwrap(), None, "the hook does not return while the session is held");
    assert_eq!(world.run(&["resume", "s1"]).code, Some(0));
    let output = within("the end of the hook", move || hook.wait_with_output().unwrap());
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(0), String::new()));
    // Without a person to wait for, the call is denied at once.
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let world = world.var("CI", "true");
    let denied = world.run_with(&["hook", "codex"], codex_payload(&world, "PreToolUse", "c2").as_bytes());
    assert_eq!(denied.json()["hookSpecificOutput"]["permissionDecision"], "deny");
}

/// The engine holds a sub-agent by its parent's state, and the row of the sub-agent itself is active.
#[test]
fn the_hook_of_a_codex_sub_agent_waits_while_its_parent_is_held() {
    let world = World::alone();
    world.run_with(&["hook", "codex"], codex_payload(&world, "SessionStart", "").as_bytes());
    let call = |id: &str| {
        let payload = json!({
            "session_id": "s1", "agent_id": "child", "hook_event_name": "PreToolUse",
            "cwd": world.path("home/code/app"), "tool_name": "Bash", "tool_input": { "command": "ls" },
            "tool_use_id": id,
        });
        payload.to_string()
    };
    assert_eq!(world.run_with(&["hook", "codex"], call("c1").as_bytes()).out, "");
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let mut hook = world.command(["hook", "codex"]).stdin(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(call("c2").as_bytes()).unwrap();
    let calls = || world.run(&["show", "child", "--json"]).json()["session"]["calls"].clone();
    while calls() != 2 {
        assert_eq!(hook.try_wait().unwrap(), None, "the hook does not return while the parent is held");
    }
    assert_eq!(hook.try_wait().unwrap(), None, "the hook does not return while the parent is held");
    assert_eq!(world.run(&["resume", "s1"]).code, Some(0));
    let output = within("the end of the hook", move || hook.wait_with_output().unwrap());
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(0), String::new()));
}

fn codex_payload(world: &World, event: &str, call: &str) -> String {
    let payload = json!({
        "session_id": "s1", "hook_event_name": event, "cwd": world.path("home/code/app"),
        "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": call,
    });
    payload.to_string()
}

#[test]
fn a_session_is_summed_up_once_at_its_end() {
    let world = World::alone();
    session_starts(&world, "s1");
    let hook = |event: &str, call: &str| {
        let payload = json!({
            "session_id": "s1", "hook_event_name": event, "cwd": world.path("home/code/app"), "tool_name": "Bash",
            "tool_input": { "command": format!("echo {call}") }, "tool_use_id": call, "tool_response": call,
        });
        world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).out
    };
    for call in ["t1", "t2"] {
        assert_eq!((hook("PreToolUse", call), hook("PostToolUse", call)), (String::new(), String::new()));
        assert_eq!(hook("Stop", call), "", "not at the end of every turn");
    }
    let end = hook("SessionEnd", "t2");
    assert!(end.contains("Belay: 2 calls in 1 minute, no interventions."), "{end}");
}
