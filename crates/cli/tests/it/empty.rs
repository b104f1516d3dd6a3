//! The output of commands before the first event. Read commands create no files.

use crate::world::World;

#[test]
fn every_list_says_what_to_do_next() {
    let world = World::new();
    let shown: Vec<String> = [
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
    .map(|args| world.run_text(args))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    $ belay sessions
    -- stderr
    No sessions yet.
    Install hooks with `belay init`, or read the existing history with `belay audit`.

    $ belay incidents
    -- stderr
    No open incidents.

    $ belay events tail
    -- stderr
    No events yet.

    $ belay status
    Belay is not running.
    state  /home/.local/state/belay
    -- stderr
    Start it with `belay serve`. Commands and hooks also work without it.

    $ belay stop
    Belay is not running.

    $ belay show abc
    -- stderr
    Error: no session matches "abc"
    Hint: Run `belay sessions --all` to list sessions.
    -- exit 1

    $ belay pause abc
    -- stderr
    Error: no session matches "abc"
    Hint: Run `belay sessions --all` to list sessions.
    -- exit 1

    $ belay explain abc
    -- stderr
    Error: no session matches "abc"
    Hint: Run `belay sessions --all` to list sessions.
    Hint: `belay incidents --all` lists incidents, `belay show SESSION` the findings of a session
    -- exit 1

    $ belay trust --list
    -- stderr
    No trusted projects.

    $ belay trust
    -- stderr
    Error: no .belay.toml in /home/code/app or its parent directories
    Hint: a project needs one only to override your configuration
    -- exit 1
    "#);
    assert!(!world.state().exists(), "reading creates no files");
}

#[test]
fn the_same_as_json() {
    let world = World::new();
    let shown: Vec<String> = [
        ["sessions", "--json"].as_slice(),
        &["incidents", "--json"],
        &["events", "tail", "--json"],
        &["status", "--json"],
        &["stop", "--json"],
        &["show", "abc", "--json"],
    ]
    .iter()
    .map(|args| world.run_text(args))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    $ belay sessions --json
    {"config_problems":[],"more":false,"sessions":[]}

    $ belay incidents --json
    {"incidents":[]}

    $ belay events tail --json

    $ belay status --json
    {"config_problems":[],"proxy_token":null,"resident":null,"running":false,"state":"/home/.local/state/belay","token":null,"totals":null}

    $ belay stop --json
    {"stopped":false}

    $ belay show abc --json
    -- stderr
    {"error":{"causes":[],"hints":["Run `belay sessions --all` to list sessions."],"message":"no session matches \"abc\""}}
    -- exit 1
    "#);
}
