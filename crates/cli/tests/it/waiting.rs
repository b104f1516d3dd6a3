//! `belay wait`: declared waits.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::world::{World, session_starts, within};

#[test]
fn a_wait_ends_when_met_or_at_its_timeout() {
    let world = World::alone();
    session_starts(&world, "s1");
    let file = world.write("home/code/app/done", "");
    let met = world.run(&["wait", "--for-file", file.to_str().unwrap(), "--json"]);
    assert_eq!((met.code, met.json()["met"].as_bool()), (Some(0), Some(true)), "{met:?}");
    assert_eq!(met.json()["session"], "claude-code:s1", "the session that works here declared it");
    let not = world.run(&["wait", "--for-command", "false", "--at-most", "200ms", "--every", "100ms"]);
    assert_eq!(not.code, Some(1));
    assert!(not.out.contains("condition not met"), "{not:?}");
    let events = world.run(&["events", "tail", "claude-code:s1", "-n", "100", "--json"]).out;
    assert_eq!(events.matches("\"waiting\"").count(), 2, "{events}");
    assert_eq!(events.matches("\"wait_ended\"").count(), 2, "{events}");
}

#[test]
fn an_agent_that_ends_a_wait_ends_it_for_us_too() {
    let world = World::alone();
    session_starts(&world, "s1");
    let mut command = world.command(["wait", "--for-file", "never", "--at-most", "1h"]);
    let mut child = command.env("CLAUDE_CODE_SESSION_ID", "s1").spawn().unwrap();
    let mut follow = world.command(["events", "tail", "claude-code:s1", "--follow", "--json"]).spawn().unwrap();
    let mut events = BufReader::new(follow.stdout.take().unwrap()).lines().map_while(Result::ok);
    let declared = within("the wait is declared", move || events.any(|event| event.contains("\"waiting\"")));
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert!(declared);
    let show = world.run(&["show", "s1", "--json"]).json();
    assert_eq!(show["session"]["waiting"]["what"], "never exists", "{show}");
    let file = json!([{ "for": "file", "path": world.path("home/code/app/never") }]);
    assert_eq!(show["session"]["waiting"]["all"], file, "where the resident process can look for it: {show}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let events = world.run(&["events", "tail", "claude-code:s1", "-n", "100", "--json"]).out;
    assert_eq!(events.matches("\"wait_ended\"").count(), 1);
    assert_eq!(world.run(&["show", "s1", "--json"]).json()["session"]["waiting"], serde_json::Value::Null);
}

#[test]
fn a_wait_belongs_to_nobody_where_two_agents_work() {
    let world = World::alone();
    session_starts(&world, "s1");
    session_starts(&world, "s2");
    let output = world.run(&["wait", "--until", "1ms", "--json"]).json();
    assert_eq!((&output["met"], &output["session"]), (&true.into(), &serde_json::Value::Null));
    let output = world.run(&["wait", "--until", "1ms", "--session", "s2", "--json"]).json();
    assert_eq!(output["session"], "claude-code:s2");
}

#[test]
fn a_wait_for_a_process_ends_when_it_exits() {
    let world = World::alone();
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let waiting = world.command(["wait", "--for-pid", &pid, "--every", "100ms"]).spawn().unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains(&format!("process {pid} has exited. Continue.")));
}

#[test]
fn a_wait_without_a_condition_is_a_usage_error() {
    insta::assert_snapshot!(World::alone().run_text(&["wait"]), @r"
    $ belay wait
    -- stderr
    Error: no condition given
    Hint: use --until, --for-file, --for-command or --for-pid; for a delay: `belay wait --until 5m`
    -- exit 2
    ");
}

#[test]
fn repeated_waits_are_not_a_loop() {
    let world = World::alone();
    session_starts(&world, "s1");
    let wait = "belay wait --for-file build/done --at-most 9m";
    let hook = |event: &str, call: usize, more: serde_json::Value| {
        let mut payload = json!({
            "session_id": "s1", "hook_event_name": event, "cwd": world.path("home/code/app"), "tool_name": "Bash",
            "tool_input": { "command": wait }, "tool_use_id": format!("t{call}"),
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes()).out
    };
    for call in 0..12 {
        assert_eq!(hook("PreToolUse", call, json!({})), "", "call {call}");
        // The command of the agent, with a shorter timeout.
        let mut command = world.command(["wait", "--for-file", "build/done", "--at-most", "1ms"]);
        let output = command.env("CLAUDE_CODE_SESSION_ID", "s1").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let error = format!("Exit code 1\n{}", String::from_utf8(output.stdout).unwrap());
        assert_eq!(hook("PostToolUseFailure", call, json!({ "error": error })), "", "call {call}");
    }
    let session = world.run(&["show", "s1", "--json"]).json();
    assert_eq!((&session["session"]["calls"], &session["session"]["findings"]), (&12.into(), &0.into()), "{session}");
}
