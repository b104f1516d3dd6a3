//! Messages to agents through real hooks: each is read once, whatever dies meanwhile.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use belay_core::{SessionKey, Subject, Timestamp};
use belay_tasks::mailbox::{MailState, Mailbox, Message, MessageId, Way, When};
use serde_json::{Value, json};

use crate::hook::{alone, payload};
use crate::resident::{Serve, client};
use crate::world::{World, within};

/// Hooks that have time to reach the resident process.
fn world() -> World {
    alone().var("BELAY_HOOK_TIMEOUT", "5s")
}

fn journal(world: &World) -> std::path::PathBuf {
    world.paths().create().unwrap();
    world.state().join("mailbox.jsonl")
}

fn now() -> Timestamp {
    belay_clock::now()
}

/// Sends a message while no process serves.
fn send(world: &World, id: &str, session: &str, when: When) {
    let message = Message {
        id: MessageId::try_from(id.to_owned()).unwrap(),
        to: SessionKey::new("claude-code", session),
        from: Some(Subject::review("r-1")),
        text: "Run the tests.".to_owned(),
        when,
        expires: now() + std::time::Duration::from_secs(3600),
    };
    let mailbox = Mailbox::open(&journal(world), now()).unwrap();
    assert_eq!(mailbox.send(message, now()).unwrap(), MailState::Queued);
}

fn records(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(journal(world)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until the journal has this record last.
fn until(world: &World, last: &str) {
    let (path, last) = (journal(world), last.to_owned());
    within(&format!("the record `{last}`"), move || {
        let wanted = format!("\"record\":\"{last}\"");
        while !std::fs::read_to_string(&path).unwrap().lines().last().is_some_and(|line| line.contains(&wanted)) {
            std::thread::yield_now();
        }
    });
}

fn spawn(world: &World, event: &str, session: &str) -> Child {
    let mut payload = payload(event, session, "t1", "ls");
    payload["tool_response"] = json!({ "stdout": "a", "stderr": "" });
    let mut hook = world.command(["hook", "claude-code"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    hook
}

fn reply_of(hook: Child) -> Value {
    let output = within("the hook", move || hook.wait_with_output().unwrap());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() }
}

fn hook(world: &World, event: &str, session: &str) -> Value {
    reply_of(spawn(world, event, session))
}

const TEXT: &str = "[Belay message m-1] Run the tests.";

#[test]
fn a_message_comes_with_the_result_of_a_tool_and_the_next_call_proves_it() {
    let world = world();
    send(&world, "m-1", "s", When::NextTool);
    let _serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    assert_eq!(hook(&world, "PostToolUse", "other"), Value::Null, "it is for another session");
    let reply = hook(&world, "PostToolUse", "s");
    assert_eq!(reply["hookSpecificOutput"]["additionalContext"], TEXT, "{reply}");
    until(&world, "written");
    let mut next = payload("PreToolUse", "s", "t2", "make test");
    next["tool_use_id"] = "t2".into();
    assert_eq!(crate::hook::hook(&world, &next).out, "");
    until(&world, "proven");
    assert_eq!(hook(&world, "Stop", "s"), Value::Null, "never again after proof");
    assert_eq!(records(&world), ["queued", "offered", "written", "proven"]);
}

#[test]
fn a_message_continues_a_turn_and_its_prompt_is_no_persons() {
    let world = world();
    send(&world, "m-1", "s", When::TurnEnd);
    let _serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    assert_eq!(hook(&world, "PostToolUse", "s"), Value::Null, "it waits for the end of the turn");
    assert_eq!(hook(&world, "Stop", "s"), json!({ "decision": "block", "reason": TEXT }));
    until(&world, "written");
    let prompt = json!({ "session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/", "prompt": TEXT });
    assert_eq!(crate::hook::hook(&world, &prompt).out, "");
    until(&world, "proven");
    client(&world).status(false).unwrap();
    let log = world.run(&["events", "tail", "claude-code:s", "--json"]).out;
    let prompt = log.lines().find(|line| line.contains("\"kind\":\"prompt\"")).expect("the prompt");
    assert!(prompt.contains("\"by\":\"continuation\""), "{prompt}");
}

#[test]
fn a_held_session_reads_nothing() {
    let world = world();
    send(&world, "m-1", "s", When::NextTool);
    let _serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    world.run_text(&["pause", "claude-code:s"]);
    assert_eq!(hook(&world, "PostToolUse", "s"), Value::Null);
    assert_eq!(records(&world), ["queued"]);
    world.run_text(&["resume", "claude-code:s"]);
    assert_eq!(hook(&world, "PostToolUse", "s")["hookSpecificOutput"]["additionalContext"], TEXT);
}

#[test]
fn two_hooks_of_a_session_at_once_share_one_message() {
    let world = world();
    send(&world, "m-1", "s", When::NextTool);
    let _serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    let hooks: Vec<Child> = (0..6).map(|_| spawn(&world, "PostToolUse", "s")).collect();
    let replies: Vec<Value> = hooks.into_iter().map(reply_of).collect();
    assert_eq!(replies.iter().filter(|reply| !reply.is_null()).count(), 1, "{replies:?}");
    until(&world, "written");
    assert_eq!(records(&world), ["queued", "offered", "written"]);
}

/// A hook that was killed after it had its ticket: the next one gets the message.
#[test]
fn a_hook_that_dies_while_it_waits_leaves_the_message() {
    let world = world();
    send(&world, "m-1", "s", When::NextTool);
    let _serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    let request = json!({ "id": "h-dead", "agent": "claude-code", "at": now(),
        "payload": { "session_id": "s", "hook_event_name": "PostToolUse", "cwd": "/", "tool_name": "Bash",
            "tool_input": { "command": "ls" }, "tool_response": { "stdout": "a" }, "tool_use_id": "t1" } });
    let hook_request: belay_ipc::HookRequest = serde_json::from_str(&request.to_string()).unwrap();
    let ticket = client(&world).hook(&hook_request).unwrap().ticket.expect("a ticket");
    until(&world, "offered");
    // The same hook repeats its call, as after a crash of the resident process.
    let again = client(&world).hook(&hook_request).unwrap().ticket.expect("a ticket");
    assert_ne!(ticket.id, again.id, "the first one is lost");
    let answer = client(&world).await_answer(&again.id).unwrap();
    assert!(answer.stdout.contains(TEXT), "{answer:?}");
    until(&world, "written");
}

/// The resident process dies after it has journalled that a hook gets the message, before it has answered.
#[test]
fn each_record_survives_the_death_of_the_resident_process() {
    for (kept, way) in [("queued", Way::AfterTool), ("offered", Way::TurnEnd), ("written", Way::TurnEnd)] {
        let world = world();
        send(&world, "m-1", "s", When::NextTool);
        let serve = Serve::start(&world);
        assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
        let waiting = (kept != "queued").then(|| spawn(&world, "PostToolUse", "s"));
        if let Some(waiting) = waiting {
            assert_eq!(reply_of(waiting)["hookSpecificOutput"]["additionalContext"], TEXT);
            until(&world, "written");
        }
        serve.kill();
        // The journal ends at the record.
        let text = std::fs::read_to_string(journal(&world)).unwrap();
        let end = text.find(&format!("\"record\":\"{kept}\"")).unwrap();
        let end = end + text[end..].find('\n').unwrap() + 1;
        std::fs::write(journal(&world), &text[..end]).unwrap();
        let _serve = Serve::start(&world);
        let next = match way {
            Way::AfterTool => hook(&world, "PostToolUse", "s")["hookSpecificOutput"]["additionalContext"].clone(),
            // It may have arrived, and nothing has shown yet that it has not.
            Way::TurnEnd => hook(&world, "Stop", "s"),
        };
        assert_eq!(next, if kept == "queued" { json!(TEXT) } else { Value::Null }, "{kept}");
    }
}

/// The proof came while no resident process followed the log.
#[test]
fn a_proof_that_was_missed_is_found() {
    let world = world();
    send(&world, "m-1", "s", When::NextTool);
    let serve = Serve::start(&world);
    assert_eq!(hook(&world, "PreToolUse", "s"), Value::Null);
    assert_eq!(hook(&world, "PostToolUse", "s")["hookSpecificOutput"]["additionalContext"], TEXT);
    until(&world, "written");
    serve.kill();
    assert_eq!(crate::hook::hook(&world, &payload("PreToolUse", "s", "t2", "make test")).out, "");
    let _serve = Serve::start(&world);
    until(&world, "proven");
}

/// The resident process dies with the call at the end of a turn. The next one has the message.
#[test]
fn the_end_of_a_turn_gets_its_message_from_the_next_resident_process() {
    let world = World::new().var("BELAY_HOOK_TIMEOUT", "5s");
    send(&world, "m-1", "s", When::TurnEnd);
    let socket = UnixListener::bind(world.paths().socket()).unwrap();
    let stop = spawn(&world, "Stop", "s");
    let call = within("the call", move || socket.accept().unwrap().0);
    let mut request = String::new();
    BufReader::new(&call).read_line(&mut request).unwrap();
    assert!(request.contains("Stop"), "{request}");
    drop(call);
    assert_eq!(reply_of(stop), json!({ "decision": "block", "reason": TEXT }));
    until(&world, "written");
    assert_eq!(world.run(&["stop"]).code, Some(0));
}
