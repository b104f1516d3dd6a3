//! A person's decisions, with a resident process and without one: the story is the same.

use crate::resident::Serve;
use crate::world::{World, call, lines};

fn story(world: &World) -> String {
    let events = lines(&[call("e1", "abcdef123456", "ls"), call("e2", "abcxyz", "ls")]);
    let mut told = vec![world.tell_with(&["events", "post"], &events)];
    let blocked = |id: &str| world.tell_with(&["events", "post"], &lines(&[call(id, "abcdef123456", "ls")]));
    told.push(world.tell(&["sessions"]));
    told.push(world.tell(&["pause", "abc"]));
    told.push(world.tell(&["pause", "abcd", "-m", "looks odd"]));
    told.push(world.tell(&["pause", "claude:abcd"]));
    told.push(blocked("e3"));
    told.push(world.tell(&["incidents"]));
    told.push(world.tell(&["ack", "abcdef123456", "-m", "on it"]));
    told.push(world.tell(&["resume", "abcd", "--require-plan"]));
    told.push(blocked("e4"));
    told.push(world.tell(&["resume", "abcd", "--plan", "read the error first"]));
    told.push(world.tell(&["resume", "abcd"]));
    told.push(world.tell(&["pause", "abcd"]));
    told.push(world.tell(&["resume", "abcd", "--cooldown", "2h"]));
    told.push(world.tell(&["reset", "abcd"]));
    told.push(world.tell(&["kill", "abcd", "-m", "enough"]));
    told.push(world.tell(&["resume", "abcd"]));
    told.push(blocked("e5"));
    told.push(world.tell(&["show", "abcd"]));
    told.push(world.tell(&["archive", "abcd"]));
    told.push(world.tell(&["sessions"]));
    told.push(world.tell(&["sessions", "--all", "--agent", "claude"]));
    told.push(world.tell(&["sessions", "--state", "paused"]));
    told.push(world.tell(&["events", "tail", "abcd", "-n", "4"]));
    told.push(world.tell(&["explain", "abcd"]));
    told.join("\n")
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
    line 1: taken as number 1
    line 2: taken as number 1
    -- stderr
    2 taken.

    $ belay sessions
    SESSION  STATE  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcxyz  active  [ago]  1  0  -  user/project  -
    claude-code:abcdef  active  [ago]  1  0  -  user/project  -

    $ belay pause abc
    -- stderr
    Error: "abc" could be any of claude-code:abcdef123456, claude-code:abcxyz
    Hint: Give a longer prefix.
    -- exit 1

    $ belay pause abcd -m looks odd
    claude-code:abcdef is paused: its next call is held. `belay resume claude-code:abcdef` lets it go on.

    $ belay pause claude:abcd
    claude-code:abcdef was paused already.

    $ belay events post
    line 1: taken as number 4; held: A person paused this session: looks odd. Belay paused this session; a person can lift it with `belay resume claude-code:abcdef123456`.
    -- stderr
    1 taken.

    $ belay incidents
    INCIDENT  SESSION  STATE  OPENED  WHAT HAPPENED
    inc-[id]  claude-code:abcdef  open  [ago]  A person paused this session: looks odd.
    -- stderr
    `belay explain ID` tells why, `belay resume SESSION` lets it go on.

    $ belay ack abcdef123456 -m on it
    Incident inc-[id] of claude-code:abcdef is acknowledged; it stays paused.

    $ belay resume abcd --require-plan
    claude-code:abcdef goes on once a changed plan is named: `belay resume claude-code:abcdef --plan TEXT`.

    $ belay events post
    line 1: taken as number 7; held: A person paused this session: looks odd. Belay holds this session until a changed plan is named: start the next prompt with "plan:", or run `belay resume --plan TEXT`.
    -- stderr
    1 taken.

    $ belay resume abcd --plan read the error first
    claude-code:abcdef goes on.

    $ belay resume abcd
    claude-code:abcdef was not held; it is active.

    $ belay pause abcd
    claude-code:abcdef is paused: its next call is held. `belay resume claude-code:abcdef` lets it go on.

    $ belay resume abcd --cooldown 2h
    claude-code:abcdef goes on at [time].

    $ belay reset abcd
    The evidence against claude-code:abcdef is forgotten; its log is kept.

    $ belay kill abcd -m enough
    claude-code:abcdef is killed: nothing it asks for is let through any more.

    $ belay resume abcd
    claude-code:abcdef was killed and stays so. Start a new session to go on.

    $ belay events post
    line 1: taken as number 15; stopped: A person killed this session: enough. A person stopped this session for good. Start a new one to go on.
    -- stderr
    1 taken.

    $ belay show abcd
    session  claude-code:abcdef123456
    state  killed since [ago]; for good
    folder  /home/user/project
    started  [time] ([ago])
    last event [time] ([ago])
    activity  4 calls, 0 errors, 0 file changes, 0 prompts by a person
    spent  0 tokens, -
    progress  [ago]; 1 call and 0 tokens since

    Incidents
      inc-[id]  open  [ago]  A person killed this session: enough.
      inc-[id]  closed  [ago]  A person paused this session.
      inc-[id]  closed  [ago]  A person paused this session: looks odd.

    Notes
      [ago] by ada: enough
      [ago] by ada: on it
      [ago] by ada: looks odd

    $ belay archive abcd
    claude-code:abcdef is archived; `belay sessions --all` still lists it.

    $ belay sessions
    SESSION  STATE  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcxyz  active  [ago]  1  0  -  user/project  -

    $ belay sessions --all --agent claude
    SESSION  STATE  LAST  CALLS  TOKENS  COST  PROJECT  MODEL
    claude-code:abcdef  archived  [ago]  4  0  -  user/project  -
    claude-code:abcxyz  active  [ago]  1  0  -  user/project  -

    $ belay sessions --state paused
    -- stderr
    No session matches.

    $ belay events tail abcd -n 4
    [time]  claude-code:abcdef  #13  operator  kill enough
    [time]  claude-code:abcdef  #14  operator  resume
    [time]  claude-code:abcdef  #15  tool_called  Bash: ls
    [time]  claude-code:abcdef  #16  operator  archive

    $ belay explain abcd
    -- stderr
    Error: nothing has been found about claude-code:abcdef123456
    -- exit 1
    "#);
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
