//! Operator decisions, with and without a resident process.

use std::cell::RefCell;
use std::time::Duration;

use belay_core::SessionKey;
use belay_core::event::OperatorDecision;
use belay_engine::{Engine, EngineOptions};
use belay_ipc::{ClientError, DecideRequest, ErrorCode};
use belay_store::{Access, StoreUrl};
use rustix::process::Signal;

use crate::resident::{Serve, client};
use crate::world::{World, call, lines};

fn story(world: &World) -> String {
    let events = lines(&[call("e1", "abcdef123456", "ls"), call("e2", "abcxyz", "ls")]);
    let mut shown = vec![world.run_text_with(&["events", "post"], &events)];
    let blocked = |id: &str| world.run_text_with(&["events", "post"], &lines(&[call(id, "abcdef123456", "ls")]));
    shown.push(world.run_text(&["sessions"]));
    shown.push(world.run_text(&["pause", "abc"]));
    shown.push(world.run_text(&["pause", "abcd", "-m", "looks odd"]));
    shown.push(world.run_text(&["pause", "claude:abcd"]));
    shown.push(blocked("e3"));
    shown.push(world.run_text(&["incidents"]));
    shown.push(world.run_text(&["ack", "abcdef123456", "-m", "on it"]));
    shown.push(world.run_text(&["resume", "abcd", "--require-plan"]));
    shown.push(blocked("e4"));
    shown.push(world.run_text(&["resume", "abcd", "--plan", "read the error first"]));
    shown.push(world.run_text(&["resume", "abcd"]));
    shown.push(world.run_text(&["pause", "abcd"]));
    shown.push(world.run_text(&["resume", "abcd", "--cooldown", "2h"]));
    shown.push(world.run_text(&["reset", "abcd"]));
    shown.push(world.run_text(&["kill", "abcd", "-m", "enough"]));
    shown.push(world.run_text(&["resume", "abcd"]));
    shown.push(world.run_text(&["incidents"]));
    shown.push(blocked("e5"));
    shown.push(world.run_text(&["show", "abcd"]));
    shown.push(world.run_text(&["archive", "abcd"]));
    shown.push(world.run_text(&["sessions"]));
    shown.push(world.run_text(&["sessions", "--all", "--agent", "claude"]));
    shown.push(world.run_text(&["sessions", "--state", "paused"]));
    shown.push(world.run_text(&["events", "tail", "abcd", "-n", "4"]));
    shown.push(world.run_text(&["explain", "abcd"]));
    shown.join("\n")
}

#[test]
fn reads_give_the_same_json_with_and_without_a_resident_process() {
    let world = World::new();
    world.run_with(&["events", "post"], &lines(&[call("e1", "abcdef123456", "ls"), call("e2", "xyz", "ls")]));
    world.run(&["pause", "abcd", "-m", "looks odd"]);
    world.run(&["kill", "xyz", "-m", "enough"]);
    let read = || {
        let commands: [&[&str]; 7] = [
            &["sessions", "--json"],
            &["sessions", "--state", "killed", "--json"],
            &["show", "abcd", "--json"],
            &["incidents", "--all", "--json"],
            &["incidents", "xyz", "--json"],
            &["tombstones", "--all", "--json"],
            &["budget", "abcd", "--json"],
        ];
        commands.map(|command| world.run(command).json())
    };
    let in_process = read();
    assert_eq!(in_process[2]["notes"][0]["text"], "looks odd");
    let _serve = Serve::start(&world);
    assert_eq!(read(), in_process);
}

#[test]
fn a_decision_does_not_wait_for_a_resident_process_that_hangs() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    serve.signal(Signal::STOP);
    let output = world.run(&["pause", "abc", "-m", "wait"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.out.contains("is paused") && output.err.contains("does not respond"), "{output:?}");
    serve.signal(Signal::CONT);
    let held = world.run_with(&["events", "post", "--json"], &lines(&[call("e2", "abc", "ls")]));
    assert_eq!(held.json()["verdict"], "hold", "the resident process knows of it: {held:?}");
    let notes = world.run(&["show", "abc", "--json"]).json()["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 1, "{notes}");
}

#[test]
fn a_decision_that_arrives_twice_counts_once() {
    let world = World::new();
    let serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let mut hanging = client(&world);
    let pause = DecideRequest::new(SessionKey::new("claude-code", "abc"), OperatorDecision::Pause).note("once");
    serve.signal(Signal::STOP);
    hanging.set_timeout(Duration::from_millis(100));
    assert!(hanging.decide(&pause).unwrap_err().is_timeout());
    let store = belay_store::open(&StoreUrl::local(world.paths().database()), Access::Write).unwrap();
    let engine = RefCell::new(Engine::new(store, EngineOptions::default()));
    assert!(!belay_server::decide(&engine, &pause).unwrap().decision.duplicate);
    serve.signal(Signal::CONT);
    assert!(client(&world).decide(&pause).unwrap().decision.duplicate);
    drop(hanging);
    serve.signal(Signal::TERM);
    assert_eq!(serve.wait().0, Some(0), "it has processed what it got");
    let notes = world.run(&["show", "abc", "--json"]).json()["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 1, "{notes}");
}

#[test]
fn a_killed_session_is_not_resumed_over_the_socket() {
    let world = World::new();
    let _serve = Serve::start(&world);
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    world.run(&["kill", "abc"]);
    let resume = OperatorDecision::RESUME;
    let refused = client(&world).decide(&DecideRequest::new(SessionKey::new("claude-code", "abc"), resume));
    let Err(ClientError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.code, ErrorCode::Refused);
    assert_eq!(refusal.message, "claude-code:abc is killed and cannot be resumed");
    assert_eq!(refusal.hint.as_deref(), Some("start a new session of the agent"));
    let session = world.run(&["show", "abc", "--json"]).json()["session"].clone();
    assert_eq!((&session["state"], &session["events"]), (&"killed".into(), &2.into()), "the call and the kill");
}

#[test]
fn the_story_is_the_same_with_and_without_a_resident_process() {
    let alone = story(&World::new());
    let served = {
        let world = World::new();
        let _serve = Serve::start(&world);
        story(&world)
    };
    assert_eq!(alone, served);
    insta::assert_snapshot!(alone, @r#"
    $ belay events post
    line 1: accepted as event 1
    line 2: accepted as event 1
    -- stderr
    2 accepted.

    $ belay sessions
    SESSION  STATUS  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcxyz  working  [ago]  1  0  -  user/project  -
    claude-code:abcdef  working  [ago]  1  0  -  user/project  -

    $ belay pause abc
    -- stderr
    Error: "abc" matches several sessions: claude-code:abcdef123456, claude-code:abcxyz
    Hint: Use a longer prefix.
    -- exit 1

    $ belay pause abcd -m looks odd
    claude-code:abcdef is paused: its next call is held. Resume it with `belay resume claude-code:abcdef`.

    $ belay pause claude:abcd
    claude-code:abcdef is already paused.

    $ belay events post
    line 1: accepted as event 4; held: A person paused this session (`belay resume claude-code:abcdef123456`): looks odd.
    -- stderr
    1 accepted.

    $ belay incidents
    INCIDENT  SESSION  STATE  OPENED  WHAT HAPPENED
    inc-[id]  claude-code:abcdef  open  [ago]  A person paused this session: looks odd.
    -- stderr
    `belay explain ID` shows the reason, `belay resume SESSION` resumes the session.

    $ belay ack abcdef123456 -m on it
    Incident inc-[id] is acknowledged; claude-code:abcdef stays paused.

    $ belay resume abcd --require-plan
    claude-code:abcdef resumes when a new plan is stated: `belay resume claude-code:abcdef --plan TEXT`.

    $ belay events post
    line 1: accepted as event 7; held: Belay holds this session until a changed plan is named (start the next prompt with "plan:", or run `belay resume --plan TEXT`): looks odd.
    -- stderr
    1 accepted.

    $ belay resume abcd --plan read the error first
    claude-code:abcdef is resumed.

    $ belay resume abcd
    claude-code:abcdef was not held; it is active.

    $ belay pause abcd
    claude-code:abcdef is paused: its next call is held. Resume it with `belay resume claude-code:abcdef`.

    $ belay resume abcd --cooldown 2h
    claude-code:abcdef resumes at [time].

    $ belay reset abcd
    The evidence against claude-code:abcdef is discarded; its log is kept.

    $ belay kill abcd -m enough
    claude-code:abcdef is killed: all further calls and requests are refused.

    $ belay resume abcd
    -- stderr
    Error: claude-code:abcdef is killed and cannot be resumed
    Hint: start a new session of the agent
    -- exit 1

    $ belay incidents
    -- stderr
    No open incidents.

    $ belay events post
    line 1: accepted as event 14; stopped: A person killed this session: enough. Start a new one to continue.
    -- stderr
    1 accepted.

    $ belay show abcd
    session  claude-code:abcdef123456
    status  held, since [ago]: A person killed this session: enough.
    state  killed since [ago]; permanently
    directory  /home/user/project
    started  [time] ([ago])
    last event [time] ([ago])
    activity  4 calls, 0 errors, 0 file changes, 0 prompts
    spent  0 tokens, -
    progress  [ago]; 1 call and 0 tokens since

    Incidents
      inc-[id]  closed  [ago]  A person killed this session: enough.
      inc-[id]  closed  [ago]  A person paused this session.
      inc-[id]  closed  [ago]  A person paused this session: looks odd.

    Notes
      [ago] by ada: enough
      [ago] by ada: on it
      [ago] by ada: looks odd

    $ belay archive abcd
    claude-code:abcdef is archived; `belay sessions --all` lists it.

    $ belay sessions
    SESSION  STATUS  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcxyz  working  [ago]  1  0  -  user/project  -

    $ belay sessions --all --agent claude
    SESSION  STATUS  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcdef  archived  [ago]  4  0  -  user/project  -
    claude-code:abcxyz  working  [ago]  1  0  -  user/project  -

    $ belay sessions --state paused
    -- stderr
    No session matches.

    $ belay events tail abcd -n 4
    [time]  claude-code:abcdef  #12  operator  reset
    [time]  claude-code:abcdef  #13  operator  kill enough
    [time]  claude-code:abcdef  #14  tool_called  Bash: ls
    [time]  claude-code:abcdef  #15  operator  archive

    $ belay explain abcd
    claude-code:abcdef is held: A person killed this session: enough.

    since  [time]
    rule  hold, by decision
    "#);
}

#[test]
fn a_larger_budget_lifts_only_the_pause_of_a_budget() {
    let world = World::new();
    let answer = |id: &str| {
        serde_json::json!({
            "id": id, "session": { "agent": "claude-code", "id": "spender" }, "kind": "model_answered",
            "model": "m", "usage": { "input": 900, "output": 200 },
        })
        .to_string()
    };
    world.run_with(&["events", "post"], &lines(&[call("e1", "looper", "ls"), call("e2", "spender", "ls")]));
    world.run(&["pause", "looper", "-m", "runs in circles"]);
    let refused = world.run_text(&["budget", "looper", "10usd", "2M", "--resume"]);
    insta::assert_snapshot!(refused, @r"
    $ belay budget looper 10usd 2M --resume
    -- stderr
    Error: no budget holds claude-code:looper, so `belay budget` does not resume it
    Caused by: A person paused this session: runs in circles.
    Hint: resume it with `belay resume claude-code:looper`; nothing was changed
    Hint: to change only the budget: `belay budget claude-code:looper 10usd,2M`
    -- exit 1
    ");
    let looper = world.run(&["show", "looper", "--json"]).json()["session"].clone();
    assert_eq!(
        (looper["state"].as_str(), &looper["budget"]["cost_micros"]),
        (Some("paused"), &serde_json::Value::Null)
    );

    world.run(&["budget", "spender", "1k"]);
    world.run_with(&["events", "post"], &lines(&[answer("e3"), call("e4", "spender", "ls")]));
    let spender = || world.run(&["show", "spender", "--json"]).json()["session"]["state"].clone();
    assert_eq!(spender(), "paused");
    assert_eq!(world.run(&["budget", "spender", "10k", "--resume"]).code, Some(0));
    assert_eq!(spender(), "active");

    world.run(&["kill", "spender"]);
    let killed = world.run(&["budget", "spender", "20k", "--resume"]);
    assert!(killed.code == Some(1) && killed.err.contains("is killed and cannot be resumed"), "{killed:?}");
}

#[test]
fn a_budget_that_was_just_set_is_confirmed() {
    let world = World::new();
    world.run_with(&["events", "post"], &lines(&[call("e1", "spender", "ls"), call("e2", "other", "ls")]));
    insta::assert_snapshot!(world.run_text(&["budget", "spender", "1usd", "2M"]), @r"
    $ belay budget spender 1usd 2M
    SESSION  STATE  TOKENS  OF  COST  OF
    claude-code:spende  active  0  2.0M  -  $1.00
    -- stderr
    claude-code:spende now has a budget of $1.00 and 2.0M tokens.
    ");
    assert!(world.run(&["budget"]).err.contains("No limit is configured."), "the other one has none");
}

#[test]
fn a_decision_as_json_carries_the_session() {
    let world = World::new();
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let paused = world.run(&["pause", "abc", "--json"]).json();
    assert_eq!(paused["committed"], true);
    assert_eq!(paused["session"]["state"], "paused");
    assert_eq!(paused["session"]["held"]["resume_requires"], "person");
    assert_eq!(paused["effects"][0]["effect"], "incident_opened");
    let incidents = world.run(&["incidents", "--json"]).json();
    assert_eq!(incidents["incidents"][0]["id"], paused["session"]["held"]["incident"]);
    assert_eq!(incidents["incidents"][0]["session"], "claude-code:abc");
}

#[test]
fn flags_that_contradict_each_other_are_usage_errors() {
    let world = World::new();
    for args in [
        ["resume", "abc", "--plan", "x", "--require-plan"].as_slice(),
        &["resume", "abc", "--cooldown", "2d"],
        &["resume", "abc", "--cooldown", "soon"],
        &["pause"],
        &["nonsense"],
    ] {
        assert_eq!(world.run(args).code, Some(2), "{args:?}");
    }
}
