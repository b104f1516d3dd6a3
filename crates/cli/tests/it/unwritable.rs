//! A store that cannot be written or read: a person's decisions apply, and one that cannot be recorded fails.

use std::process::{Command, Stdio};
use std::time::Instant;

use belay_core::SessionKey;
use belay_store::{Access, EventQuery, StoreUrl};

use crate::resident::{Serve, wait_for_events};
use crate::world::{CommandOutput, World, call, lines};

/// A project with two sessions, of which `held` is paused.
fn world() -> World {
    let world = World::alone();
    world.run_with(&["events", "post"], &lines(&[call("e1", "held", "ls"), call("e2", "free", "ls")]));
    assert_eq!(world.run(&["pause", "held", "-m", "wait for me"]).code, Some(0));
    world
}

fn payload(session: &str) -> String {
    serde_json::json!({
        "session_id": session, "hook_event_name": "PreToolUse", "cwd": "/",
        "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "t1",
    })
    .to_string()
}

fn hook(world: &World, session: &str) -> CommandOutput {
    world.run_with(&["hook", "claude-code"], payload(session).as_bytes())
}

fn assert_denied(output: &CommandOutput) {
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.out.contains("belay resume"), "{output:?}");
}

fn assert_allowed(output: &CommandOutput) {
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{output:?}");
}

fn hook_log(world: &World) -> String {
    std::fs::read_to_string(world.state().join("logs/hook.log")).unwrap()
}

#[test]
fn a_pause_applies_in_a_store_of_a_newer_belay() {
    let world = world();
    let store = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    assert_denied(&hook(&world, "held"));
    assert_allowed(&hook(&world, "free"));
    assert!(hook_log(&world).contains("newer Belay"), "{}", hook_log(&world));
}

#[test]
fn a_pause_applies_in_a_damaged_store_until_it_is_lifted() {
    let world = world();
    let damage = || std::fs::write(world.state().join("belay.db"), "not a database, but precious text").unwrap();
    let before = std::fs::read(world.state().join("belay.db")).unwrap();
    damage();
    assert_denied(&hook(&world, "held"));
    assert_allowed(&hook(&world, "free"));
    std::fs::write(world.state().join("belay.db"), before).unwrap();
    assert_eq!(world.run(&["resume", "held"]).code, Some(0));
    damage();
    assert_allowed(&hook(&world, "held"));
}

#[test]
fn a_pause_applies_after_the_store_is_deleted_until_it_is_lifted() {
    let world = world();
    for file in ["belay.db", "belay.db-wal", "belay.db-shm"] {
        let _ = std::fs::remove_file(world.state().join(file));
    }
    assert_denied(&hook(&world, "held"));
    assert_allowed(&hook(&world, "free"));
    let shown = world.run(&["incidents"]);
    assert!(shown.out.contains("taken from held.json"), "{shown:?}");
    assert_eq!(world.run(&["resume", "held"]).code, Some(0));
    // The next call: the same one gets the same answer.
    let next = payload("held").replace("t1", "t2");
    assert_allowed(&world.run_with(&["hook", "claude-code"], next.as_bytes()));
}

#[test]
fn a_pause_applies_in_a_read_only_home() {
    let probe = Command::new("unshare").args(["-rm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return; // Root ignores permissions, so there is no other way to make the disk read-only.
    }
    let world = world();
    let script = "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,ro \"$HOME\" && \
                  for session in held free; do echo \"$session:\"; printf %s \"$PAYLOAD\" | sed s/SESSION/$session/ | \
                  \"$0\" hook claude-code --home \"$HOME/.local/state/belay\"; done";
    let mut command = world.program("unshare");
    command.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_belay")]).env("PAYLOAD", payload("SESSION"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (held, free) = text.split_once("free:").unwrap_or_else(|| panic!("{text}{:?}", output.stderr));
    assert!(held.contains("belay resume"), "{text}");
    assert_eq!(free.trim(), "", "{text}");
}

#[test]
fn a_hook_does_not_wait_for_the_lock_of_another_process() {
    let world = world();
    let other = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    assert_denied(&hook(&world, "held"));
    assert_allowed(&hook(&world, "free"));
    let waited = started.elapsed();
    assert!(waited.as_secs() < 4, "{waited:?}: SQLite's own timeout was 5 s each");
    let log = hook_log(&world);
    let expected = "to be recorded later; the agent continues unless its session is held: the store is locked";
    assert!(log.contains(expected), "{log}");
}

/// How many calls of the session the store has.
fn calls(world: &World, session: &str) -> usize {
    let store = belay_store::open(&StoreUrl::local(world.paths().database()), Access::Read).unwrap();
    let session = Some(SessionKey::new("claude-code", session));
    let query = EventQuery { session, kinds: vec!["tool_called".to_owned()], ..EventQuery::default() };
    store.events(&query).unwrap().len()
}

#[test]
fn the_call_of_a_hook_that_found_the_store_locked_is_recorded_later() {
    let world = world();
    let other = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_allowed(&hook(&world, "free"));
    assert_eq!(calls(&world, "free"), 1, "the one that was posted");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.out.contains("the events of 1 hook wait to be recorded"), "{doctor:?}");
    other.execute_batch("ROLLBACK").unwrap();
    // The next hook that can write records it.
    assert_allowed(&hook(&world, "later"));
    assert_eq!((calls(&world, "free"), calls(&world, "later")), (2, 1));

    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_allowed(&hook(&world, "resident"));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(calls(&world, "resident"), 0);
    let _serve = Serve::start_with(&world, &["--no-http"]);
    wait_for_events(&world, "claude-code", "resident", &["tool_called"], 1);
    assert!(!world.run(&["doctor"]).out.contains("wait to be recorded"));
}

#[test]
fn a_saved_file_that_is_damaged_is_named() {
    let world = world();
    std::fs::create_dir(world.state().join("spool")).unwrap();
    std::fs::write(world.state().join("spool/0.json"), "half a fi").unwrap();
    assert_allowed(&hook(&world, "free"));
    let doctor = world.run(&["doctor"]);
    assert!(doctor.out.contains("spool/0.damaged"), "{doctor:?}");
}

#[test]
fn a_decision_that_cannot_be_recorded_fails() {
    let world = world();
    // The WAL of this connection stays open, so later writes are appended beyond the limit.
    let other = rusqlite::Connection::open(world.state().join("belay.db")).unwrap();
    other.execute_batch("INSERT INTO settings VALUES ('filler', hex(zeroblob(1000000)))").unwrap();
    for (command, state) in [("pause", "active"), ("kill", "active")] {
        let mut shell = world.program("/bin/sh");
        // Without the trap, the signal that comes with the limit would end it; a full disk sends none.
        let limited = "trap '' XFSZ && ulimit -S -f 128 && exec \"$0\" \"$1\" free";
        let output = shell.args(["-c", limited, env!("CARGO_BIN_EXE_belay"), command]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{command}: {text}");
        assert!(text.contains("is not recorded and has no effect"), "{command}: {text}");
        assert_eq!(world.run(&["show", "free", "--json"]).json()["session"]["state"], state);
    }
}
