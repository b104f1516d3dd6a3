//! A hook that waits gets its answer also if the resident process is killed: the hook starts the next one and asks it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use belay_ipc::Client;
use belay_ipc::views::PendingApproval;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::hook::payload;
use crate::resident::Serve;
use crate::world::{TEST_TIMEOUT, World, within};

/// Hooks may start a resident process, and approvals are on for each.
fn world() -> World {
    let world = World::new().var("BELAY_HOOK_TIMEOUT", "5s");
    world.write("home/.config/belay/config.toml", "[approvals]\nenabled = true\nwait = \"5m\"\n");
    world
}

fn asks(world: &World) -> Child {
    let mut asks = payload("PermissionRequest", "s", "t1", "make");
    asks.as_object_mut().unwrap().remove("tool_use_id");
    let mut hook = world.command(["hook", "claude-code"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(asks.to_string().as_bytes()).unwrap();
    hook
}

/// The prompt that a resident process offers, other than `known`.
fn prompt(world: &World, known: &str) -> PendingApproval {
    let (paths, known) = (world.paths(), known.to_owned());
    within("a prompt", move || {
        loop {
            // There may be no resident process yet.
            let pending = Client::connect(&paths, TEST_TIMEOUT).and_then(|mut client| client.approvals());
            if let Some(found) = pending.unwrap_or_default().into_iter().find(|prompt| prompt.id != known) {
                return found;
            }
            std::thread::yield_now();
        }
    })
}

fn stdout_of(hook: Child) -> String {
    let output = within("the hook", move || hook.wait_with_output().unwrap());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Allows the prompt that the next resident process offers, and expects that the hook says so.
fn is_allowed(world: &World, hook: Child, known: &str) {
    let prompt = prompt(world, known);
    assert_eq!((prompt.text.as_str(), prompt.session.as_str()), ("make", "claude-code:s"));
    world.run_text(&["approve", &prompt.id]);
    let reply: Value = serde_json::from_str(&stdout_of(hook)).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], "allow");
    let log = world.run(&["events", "tail", "claude-code:s", "--json"]).out;
    assert_eq!(log.matches("permission_asked").count(), 1, "the repeated call counts once: {log}");
    assert_eq!(world.run(&["stop"]).code, Some(0));
}

/// Plays a resident process that reads as many requests as it has answers, and one more, and then is gone.
fn short_lived(world: &World, answers: &[&str]) -> std::thread::JoinHandle<()> {
    let paths = world.paths();
    paths.create().unwrap();
    let socket = UnixListener::bind(paths.socket()).unwrap();
    let answers: Vec<String> = answers.iter().map(|answer| format!("{answer}\n")).collect();
    std::thread::spawn(move || {
        for answer in answers.iter().map(Some).chain([None]) {
            let (mut stream, _) = socket.accept().unwrap();
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            assert!(request.contains(if answers.is_empty() || answer.is_some() { "hook" } else { "await_answer" }));
            if let Some(answer) = answer {
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    })
}

#[test]
fn while_it_waits() {
    let world = world();
    let serve = Serve::start(&world);
    let hook = asks(&world);
    let first = prompt(&world, "");
    serve.kill();
    is_allowed(&world, hook, &first.id);
}

#[test]
fn again_and_again() {
    let world = world();
    let serve = Serve::start(&world);
    let hook = asks(&world);
    let first = prompt(&world, "");
    serve.kill();
    let second = prompt(&world, &first.id);
    let next = world.run(&["status", "--json"]).json()["resident"]["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(next).unwrap()).unwrap(), Signal::KILL).unwrap();
    is_allowed(&world, hook, &second.id);
}

#[test]
fn before_it_has_a_ticket() {
    let world = world();
    let resident = short_lived(&world, &[]);
    let hook = asks(&world);
    resident.join().unwrap();
    is_allowed(&world, hook, "");
}

/// Decided but not written: the hook has no answer, so the next resident process asks for one.
#[test]
fn before_the_answer_is_written() {
    let world = world();
    let ticket = r#"{"ok":{"approval":{"id":"apr-0","wait_ms":60000,"repeat":true}}}"#;
    let resident = short_lived(&world, &[ticket]);
    let hook = asks(&world);
    resident.join().unwrap();
    is_allowed(&world, hook, "apr-0");
}

#[test]
fn after_the_answer_is_written() {
    let world = world();
    let serve = Serve::start(&world);
    let hook = asks(&world);
    let prompt = prompt(&world, "");
    let waiting = Pid::from_child(&hook);
    kill_process(waiting, Signal::STOP).unwrap();
    world.run_text(&["deny", &prompt.id]);
    // The answer is on its way: the process has no tickets left that it could release.
    assert_eq!(world.run(&["stop"]).code, Some(0));
    drop(serve);
    kill_process(waiting, Signal::CONT).unwrap();
    assert!(stdout_of(hook).contains("deny"), "it reads what was written");
    assert_eq!(world.run(&["status", "--json"]).json()["resident"], Value::Null, "and starts nothing");
}

#[test]
fn an_earlier_resident_process_is_not_asked_again() {
    let world = world();
    let ticket = r#"{"ok":{"approval":{"id":"apr-0","wait_ms":60000}}}"#;
    let resident = short_lived(&world, &[ticket]);
    let hook = asks(&world);
    resident.join().unwrap();
    assert_eq!(stdout_of(hook), "", "the terminal asks");
    assert_eq!(world.run(&["status", "--json"]).json()["resident"], Value::Null);
}

#[test]
fn an_orderly_end_releases_the_hook() {
    let world = world();
    let serve = Serve::start(&world);
    let hook = asks(&world);
    prompt(&world, "");
    assert_eq!(world.run(&["stop"]).code, Some(0));
    assert_eq!(stdout_of(hook), "", "the terminal asks");
    assert_eq!(serve.wait().0, Some(0));
    assert_eq!(world.run(&["status", "--json"]).json()["resident"], Value::Null, "it is not started again");
}

#[test]
fn a_call_that_ends_every_resident_process_is_given_up() {
    let world = world().without_autostart().var("BELAY_HOOK_TIMEOUT", "5s");
    let paths = world.paths();
    paths.create().unwrap();
    let socket = UnixListener::bind(paths.socket()).unwrap();
    let (count, counted) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let mut stream = stream.unwrap();
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            if !request.contains("await_answer") {
                count.send(()).unwrap();
                let ticket = r#"{"ok":{"approval":{"id":"apr-0","wait_ms":60000,"repeat":true}}}"#;
                stream.write_all(format!("{ticket}\n").as_bytes()).unwrap();
            }
        }
    });
    assert_eq!(stdout_of(asks(&world)), "", "the terminal asks");
    assert_eq!(counted.try_iter().count(), 7, "once, and repeated");
}
