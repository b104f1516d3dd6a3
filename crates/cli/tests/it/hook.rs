//! The hook process: always exit status 0, and only the reply on stdout.

use std::io::Write;
use std::process::Stdio;

use belay_core::SessionKey;
use belay_store::{Access, EventQuery, StoreUrl};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::resident::{Serve, wait_for_events};
use crate::world::{CommandOutput, TEST_TIMEOUT, World, file_says, within};

/// Hooks that do not start a resident process: tests start their own.
pub(crate) fn alone() -> World {
    World::alone()
}

pub(crate) fn payload(event: &str, session: &str, call: &str, command: &str) -> Value {
    let mut payload = json!({
        "session_id": session, "hook_event_name": event, "cwd": "/",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": call,
    });
    if event == "PostToolUseFailure" {
        payload["error"] = "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.".into();
    }
    payload
}

pub(crate) fn hook(world: &World, payload: &Value) -> CommandOutput {
    world.run_with(&["hook", "claude-code"], payload.to_string().as_bytes())
}

fn events(world: &World, session: &str) -> usize {
    let store = belay_store::open(&StoreUrl::local(world.state().join("belay.db")), Access::Read).unwrap();
    let session = Some(SessionKey::new("claude-code", session));
    store.events(&EventQuery { session, limit: 10_000, ..EventQuery::default() }).unwrap().len()
}

/// Three equal calls that fail alike, and the answer to the fourth.
fn loops(world: &World) -> CommandOutput {
    for call in ["t1", "t2", "t3"] {
        for event in ["PreToolUse", "PostToolUseFailure"] {
            let output = hook(world, &payload(event, "s", call, "make"));
            assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "", ""));
        }
    }
    hook(world, &payload("PreToolUse", "s", "t4", "make"))
}

#[test]
fn it_decides_by_itself_where_nobody_serves() {
    let world = alone();
    let output = loops(&world);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert_eq!(output.json()["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(!world.state().join("belay.sock").exists());
}

#[test]
fn the_resident_process_answers_the_same() {
    let world = alone();
    let _serve = Serve::start(&world);
    let output = loops(&world);
    assert_eq!(output.json()["hookSpecificOutput"]["permissionDecision"], "deny");
    // On a busy machine it may time out occasionally, but not seven times; no other error may occur.
    let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap_or_default();
    assert!(log.lines().all(|line| line.contains("timed out")) && log.lines().count() < 7, "{log}");
}

#[test]
fn a_resident_process_that_hangs_is_not_waited_for() {
    let world = alone();
    let serve = Serve::start(&world);
    assert_eq!(hook(&world, &payload("PreToolUse", "s", "t0", "ls")).code, Some(0));
    serve.signal(Signal::STOP);
    let output = hook(&world, &payload("PreToolUse", "s", "t1", "ls -l"));
    serve.signal(Signal::CONT);
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "", ""));
    let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap();
    assert!(log.contains("decided in-process"), "{log}");
    // The requests that the hanging process had received are answered late and count once.
    wait_for_events(&world, "claude-code", "s", &[], 2);
    assert_eq!(hook(&world, &payload("PreToolUse", "s", "t2", "ls -a")).code, Some(0));
    assert_eq!(events(&world, "s"), 3);
}

#[test]
fn killing_the_resident_process_changes_nothing_for_the_agent() {
    let world = alone();
    let serve = Serve::start(&world);
    for call in ["t1", "t2", "t3"] {
        for event in ["PreToolUse", "PostToolUseFailure"] {
            hook(&world, &payload(event, "s", call, "make"));
        }
    }
    serve.kill();
    let output = hook(&world, &payload("PreToolUse", "s", "t4", "make"));
    assert_eq!(output.json()["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn odd_arguments_and_payloads_let_the_agent_go_on() {
    let world = alone();
    let huge = format!("{{\"session_id\":\"s\",\"x\":\"{}\"", "y".repeat(5 * 1024 * 1024));
    let inputs: &[&[u8]] = &[b"", b"{", b"null", b"\xff\xfe", b"[1,2]", b"{}", huge.as_bytes()];
    let commands: &[&[&str]] = &[
        &["hook"],
        &["hook", "nobody"],
        &["hook", "claude-code", "--what", "-x"],
        &["hook", "copilot", "preToolUse", "and", "more"],
        &["--home", "/dev/null/x", "hook", "codex"],
        &["hook", "gemini", "--home"],
    ];
    for args in commands {
        for input in inputs {
            let output = world.run_with(args, input);
            assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "", ""), "{args:?}");
        }
    }
}

#[test]
fn a_store_that_cannot_be_used_lets_the_agent_go_on_and_is_noted() {
    let world = alone();
    world.write("home/.local/state/belay/belay.db", "not a database, but precious text");
    let output = hook(&world, &payload("PreToolUse", "s", "t1", "ls"));
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(0), "", ""));
    let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap();
    assert!(log.contains("the agent continues"), "{log}");
    let kept = std::fs::read_to_string(world.state().join("belay.db")).unwrap();
    assert!(kept.contains("precious"), "nothing is overwritten");
}

#[test]
fn twenty_times_four_hooks_at_once_lose_nothing() {
    for served in [false, true] {
        let world = alone();
        let _serve = served.then(|| Serve::start(&world));
        for round in 0..20 {
            four_at_once(&world, round);
        }
        // A hook waits at most 200 ms for the store, which a busy machine may exceed; its events are then recorded later,
        // by the resident process or by other hooks.
        if served {
            wait_for_events(&world, "claude-code", "s", &["tool_called"], 80);
        } else {
            for n in 0..6 {
                let call = payload("PreToolUse", "later", &format!("t{n}"), "echo later");
                assert_eq!(world.run_with(&["hook", "claude-code"], call.to_string().as_bytes()).code, Some(0));
            }
        }
        let log = std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap_or_default();
        assert!(events(&world, "s") == 80 && !log.contains("not recorded"), "served: {served}\n{log}");
        let output = world.run(&["sessions", "--json"]).json();
        assert!(output["sessions"].as_array().unwrap().iter().any(|session| session["calls"] == 80), "{output}");
    }
}

/// Starts four hooks at once and waits for them; their pipes must end when they do.
fn four_at_once(world: &World, round: usize) {
    let children: Vec<_> = (0..4)
        .map(|n| {
            let call = payload("PreToolUse", "s", &format!("t{round}-{n}"), &format!("echo {round} {n}"));
            let file = world.write(&format!("in/{round}-{n}"), &call.to_string());
            let mut command = world.command(["hook", "claude-code"]);
            command.stdin(Stdio::from(std::fs::File::open(file).unwrap()));
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    }
}

/// The resident process, once it serves.
fn resident(world: &World) -> Value {
    file_says(&world.log(), |log| log.contains("serving"));
    world.run(&["status", "--json"]).json()["resident"].clone()
}

fn times_served(world: &World) -> usize {
    std::fs::read_to_string(world.log()).unwrap_or_default().matches("serving").count()
}

#[test]
fn four_hooks_at_once_start_one_resident_process_that_holds_no_pipe() {
    let world = World::new();
    four_at_once(&world, 0);
    let first = resident(&world);
    assert!(first["url"].is_null(), "it opens no HTTP unless asked: {first}");
    let pid = i32::try_from(first["pid"].as_i64().unwrap()).unwrap();
    let detached = rustix::process::getsid(Pid::from_raw(pid)).unwrap();
    assert_eq!(detached.as_raw_nonzero().get(), pid, "it has left the agent's terminal and process group");
    for n in 4..8 {
        assert_eq!(hook(&world, &payload("PreToolUse", "s", &format!("t{n}"), &format!("echo {n}"))).code, Some(0));
    }
    assert_eq!(resident(&world)["pid"], pid, "still the same one");
    assert_eq!(times_served(&world), 1);
    assert_eq!(world.run(&["stop"]).code, Some(0));
    assert_eq!(events(&world, "s"), 8);
}

#[test]
fn it_holds_none_of_the_agents_secrets() {
    let world = World::new().var("ANTHROPIC_API_KEY", "sk-precious");
    four_at_once(&world, 0);
    let pid = resident(&world)["pid"].as_u64().unwrap();
    #[cfg(target_os = "linux")]
    {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(!String::from_utf8_lossy(&environment).contains("sk-precious"));
    }
    assert!(pid > 0 && world.run(&["stop"]).code == Some(0));
}

#[test]
fn a_resident_process_that_a_hook_started_leaves_when_idle() {
    let world = World::new();
    world.write("home/.config/belay/config.toml", "[hooks]\nidle_exit = \"200ms\"\n");
    four_at_once(&world, 0);
    file_says(&world.log(), |log| log.contains("stopping") && log.contains("idle"));
    assert_eq!(events(&world, "s"), 4);
}

#[test]
fn no_resident_process_is_started_where_that_is_not_wanted() {
    let world = World::new();
    world.write("home/.config/belay/config.toml", "[hooks]\nautostart = false\n");
    four_at_once(&world, 0);
    assert_eq!(events(&world, "s"), 4);
    assert!(!world.state().join("autostart.lock").exists() && times_served(&world) == 0);
}

#[test]
fn an_agent_that_leaves_the_pipe_open_gets_its_answer() {
    let world = alone();
    for call in ["t1", "t2", "t3"] {
        for event in ["PreToolUse", "PostToolUseFailure"] {
            assert_eq!(hook(&world, &payload(event, "s", call, "make")).out, "");
        }
    }
    let mut child = world.command(["hook", "claude-code"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(payload("PreToolUse", "s", "t4", "make").to_string().as_bytes()).unwrap();
    stdin.flush().unwrap();
    let output = within("the answer", move || child.wait_with_output().unwrap());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    drop(stdin);
}

/// A line of `/proc/PID/status`, in megabytes.
#[cfg(target_os = "linux")]
fn megabytes(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':')).unwrap();
    value.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// The resident process does not rely on the hook process to shorten a payload.
#[cfg(target_os = "linux")]
#[test]
fn large_payloads_do_not_stay_in_the_memory_of_the_resident_process() {
    let world = alone();
    let serve = Serve::start(&world);
    let items: Vec<Value> = (0..115_000).map(|n| json!({ "id": n, "name": format!("item {n}"), "ok": true })).collect();
    let mut payload = payload("PostToolUse", "s", "t1", "make");
    payload["tool_response"] = json!({ "structuredContent": items });
    let payload = serde_json::value::to_raw_value(&payload).unwrap();
    assert!(payload.get().len() > 4_000_000);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (payload, world) = (payload.clone(), &world);
            scope.spawn(move || {
                let mut client = belay_ipc::Client::connect(&world.paths(), TEST_TIMEOUT).unwrap();
                let (id, agent) = (format!("hook-{number}"), "claude-code".to_owned());
                client.hook(&belay_ipc::HookRequest { id, agent, payload, ..Default::default() }).unwrap();
            });
        }
    });
    let (peak, after) = (megabytes(serve.pid(), "VmHWM"), megabytes(serve.pid(), "VmRSS"));
    assert!(peak <= 150 && after <= 64, "{peak} MB during, {after} MB after");
    assert_eq!(events(&world, "s"), 1, "the same result of the same call counts once");
}
