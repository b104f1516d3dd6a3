//! What a newcomer sees before anything has happened. Looking makes no files.

use crate::world::World;

#[test]
fn every_list_says_what_to_do_next() {
    let world = World::new();
    let told: Vec<String> = [
        ["sessions"].as_slice(),
        &["incidents"],
        &["events", "tail"],
        &["status"],
        &["stop"],
        &["show", "abc"],
        &["pause", "abc"],
        &["explain", "abc"],
        &["trust", "--list"],
        &["trust"],
    ]
    .iter()
    .map(|args| world.tell(args))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    $ belay sessions
    -- stderr
    No session has been seen yet.
    Put your agents on the rope with `belay init`, or see what they did so far with `belay audit`.

    $ belay incidents
    -- stderr
    There is no open incident.

    $ belay events tail
    -- stderr
    No event has been seen yet.

    $ belay status
    Belay does not run.
    state  /home/.local/state/belay
    -- stderr
    Start it with `belay serve`. Commands and hooks work without it, too.

    $ belay stop
    Belay does not run.

    $ belay show abc
    -- stderr
    Error: no session is called "abc"
    Hint: `belay sessions --all` lists them.
    -- exit 1

    $ belay pause abc
    -- stderr
    Error: no session is called "abc"
    Hint: `belay sessions --all` lists them.
    -- exit 1

    $ belay explain abc
    -- stderr
    Error: no session is called "abc"
    Hint: `belay sessions --all` lists them.
    Hint: `belay incidents --all` lists incidents, `belay show SESSION` the findings of a session
    -- exit 1

    $ belay trust --list
    -- stderr
    No project is trusted.

    $ belay trust
    -- stderr
    Error: there is no .belay.toml in /home/code/app or above
    Hint: a project needs one only to differ from your own configuration
    -- exit 1
    "#);
    assert!(!world.state().exists(), "looking makes no files");
}

#[test]
fn the_same_as_json() {
    let world = World::new();
    let told: Vec<String> = [
        ["sessions", "--json"].as_slice(),
        &["incidents", "--json"],
        &["events", "tail", "--json"],
        &["status", "--json"],
        &["stop", "--json"],
        &["show", "abc", "--json"],
    ]
    .iter()
    .map(|args| world.tell(args))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    $ belay sessions --json
    {"more":false,"sessions":[]}

    $ belay incidents --json
    {"incidents":[]}

    $ belay events tail --json

    $ belay status --json
    {"resident":null,"running":false,"state":"/home/.local/state/belay","token":null,"totals":null}

    $ belay stop --json
    {"stopped":false}

    $ belay show abc --json
    -- stderr
    {"error":{"causes":[],"hints":["`belay sessions --all` lists them."],"message":"no session is called \"abc\""}}
    -- exit 1
    "#);
}
