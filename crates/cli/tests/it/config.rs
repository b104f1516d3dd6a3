//! `belay config` and `belay trust`.

use crate::world::World;

#[test]
fn values_are_shown_with_where_they_come_from() {
    let world = World::new().var("BELAY_LOG", "debug");
    world.write("home/.config/belay/config.toml", "# mine\n[serve]\nlisten = \"127.0.0.1:1234\" # here\n");
    let shown: Vec<String> = [
        ["config", "get", "serve.listen"].as_slice(),
        &["config", "get", "serve.listen", "--json"],
        &["config", "list", "serve"],
        &["config", "list", "log", "--json"],
        &["config", "explain", "log.level"],
        &["config", "explain", "detect.max_nudges"],
        &["config", "explain", "serve"],
        &["config", "get", "serve.lisen"],
        &["config", "path"],
        &["--set", "serve.http=maybe", "config", "get", "serve.http"],
        &["--set", "serve.http", "config", "get", "serve.http"],
    ]
    .iter()
    .map(|args| world.run_text(args))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    $ belay config get serve.listen
    127.0.0.1:[port]

    $ belay config get serve.listen --json
    {"key":"serve.listen","layer":"user","line":3,"origin":"/home/.config/belay/config.toml","value":"127.0.0.1:[port]"}

    $ belay config list serve
    KEY  VALUE  FROM
    serve.http  true  built-in
    serve.idle_exit  "never"  built-in
    serve.listen  "127.0.0.1:[port]"  /home/.config/belay/config.toml:3
    serve.tick  "15s"  built-in
    serve.tls.cert  ""  built-in
    serve.tls.key  ""  built-in
    serve.tls.self_signed  false  built-in

    $ belay config list log --json
    {"values":[{"key":"log.level","layer":"environment","line":null,"origin":"BELAY_LOG","value":"debug"},{"key":"log.max_bytes","layer":"built-in","line":null,"origin":"built-in","value":"8MiB"},{"key":"log.max_files","layer":"built-in","line":null,"origin":"built-in","value":4}]}

    $ belay config explain log.level
    log.level
      Verbosity.
      One of: error, warn, info, debug, trace.

      built-in  "info"  (built-in)
      environment  "debug"  (BELAY_LOG)  <- effective

      BELAY_LOG overrides it.
      A project file cannot set it.

    $ belay config explain detect.max_nudges
    detect.max_nudges
      Number of nudges for one finding before it leads to a pause.

      built-in  2  (built-in)  <- effective

      A project file may lower it; to raise it there, trust the project.

    $ belay config explain serve
    serve
      The resident process.

      serve.http
      serve.idle_exit
      serve.listen
      serve.tick
      serve.tls

    $ belay config get serve.lisen
    -- stderr
    Error: unknown key `serve.lisen`
    Hint: did you mean `serve.listen`?
    -- exit 1

    $ belay config path
    user  /home/.config/belay/config.toml
    project  none in this directory or its parents
    state  /home/.local/state/belay
    store  /home/.local/state/belay/belay.db
    socket  /home/.local/state/belay/belay.sock
    logs  /home/.local/state/belay/logs

    $ belay --set serve.http=maybe config get serve.http
    -- stderr
    Error: --set serve.http: `serve.http`: `maybe` is not true or false
    -- exit 1

    $ belay --set serve.http config get serve.http
    -- stderr
    Error: --set serve.http: the value is missing
    Hint: use --set KEY=VALUE
    -- exit 2
    "#);
}

#[test]
fn set_and_unset_change_one_value() {
    let world = World::new().var("BELAY_HTTP", "true");
    let file = world.write("home/.config/belay/config.toml", "# mine\n[serve]\nlisten = \"127.0.0.1:1234\" # here\n");
    let shown: Vec<String> = [
        ["config", "set", "serve.listen", "localhost:4321"].as_slice(),
        &["config", "set", "serve.http", "false"],
        &["config", "set", "detect.max_nudges", "1", "--json"],
        &["config", "set", "detect.max_nudges", "lots"],
        &["config", "set", "serve.listen", "everywhere:80"],
        &["config", "set", "serve.lisen", "x"],
        &["config", "unset", "detect.max_nudges"],
        &["config", "unset", "detect.max_nudges"],
    ]
    .iter()
    .map(|args| world.run_text(args))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    $ belay config set serve.listen localhost:4321
    Set `serve.listen` in /home/.config/belay/config.toml.

    $ belay config set serve.http false
    Set `serve.http` in /home/.config/belay/config.toml.
    -- stderr
    Warning: the value has no effect here: BELAY_HTTP overrides it with true

    $ belay config set detect.max_nudges 1 --json
    {"file":"/home/.config/belay/config.toml","now":{"key":"detect.max_nudges","layer":"user","line":7,"origin":"/home/.config/belay/config.toml","value":1}}

    $ belay config set detect.max_nudges lots
    -- stderr
    Error: `detect.max_nudges`: `lots` is not an integer
    -- exit 1

    $ belay config set serve.listen everywhere:80
    -- stderr
    Error: `serve.listen`: invalid address `everywhere:80`; use for example 127.0.0.1:[port]
    -- exit 1

    $ belay config set serve.lisen x
    -- stderr
    Error: unknown key `serve.lisen`
    Hint: did you mean `serve.listen`?
    -- exit 1

    $ belay config unset detect.max_nudges
    Removed `detect.max_nudges` from /home/.config/belay/config.toml.

    $ belay config unset detect.max_nudges
    -- stderr
    Error: `detect.max_nudges` is not set in /home/.config/belay/config.toml
    -- exit 1
    "#);
    insta::assert_snapshot!(std::fs::read_to_string(file).unwrap(), @r#"
    # mine
    [serve]
    listen = "localhost:4321" # here
    http = false
    "#);
}

#[test]
fn a_wrong_file_stops_config_but_not_a_persons_decision() {
    let world = World::new();
    world.write("home/.config/belay/config.toml", "[serve]\nlisen = 1\n");
    let event = crate::world::lines(&[crate::world::call("e1", "abc", "ls")]);
    let shown = [
        world.run_text(&["config", "list"]),
        world.run_text_with(&["events", "post"], &event),
        world.run_text(&["pause", "abc"]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    $ belay config list
    -- stderr
    Error: /home/.config/belay/config.toml:2:1: unknown key `serve.lisen`
    Hint: did you mean `serve.listen`?
    -- exit 1

    $ belay events post
    line 1: accepted as event 1
    -- stderr
    Warning: /home/.config/belay/config.toml:2:1: unknown key `serve.lisen`
    Hint: did you mean `serve.listen`?
    1 accepted.

    $ belay pause abc
    claude-code:abc is paused: its next call is held. Resume it with `belay resume claude-code:abc`.
    -- stderr
    Warning: /home/.config/belay/config.toml:2:1: unknown key `serve.lisen`
    Hint: did you mean `serve.listen`?
    ");
}

#[test]
fn a_project_is_trusted_by_content() {
    let world = World::new();
    world.write("home/code/app/.belay.toml", "[detect]\nmax_nudges = 9\n");
    let mut shown = vec![
        world.run_text(&["config", "get", "detect.max_nudges"]),
        world.run_text(&["trust"]),
        world.run_text(&["trust", "--yes"]),
        world.run_text(&["trust", "--list"]),
        world.run_text(&["config", "get", "detect.max_nudges"]),
    ];
    world.write("home/code/app/.belay.toml", "[detect]\nmax_nudges = 99\n");
    shown.push(world.run_text(&["config", "get", "detect.max_nudges"]));
    shown.push(world.run_text(&["trust", "--list"]));
    shown.push(world.run_text(&["trust", "--revoke"]));
    shown.push(world.run_text(&["trust", "--revoke"]));
    insta::assert_snapshot!(shown.join("\n"), @r"
    $ belay config get detect.max_nudges
    2
    -- stderr
    Warning: /home/code/app/.belay.toml:2:1: `detect.max_nudges` is ignored: it loosens detection, and the file is not trusted
    Hint: read the file, then run `belay trust` in its directory

    $ belay trust
    -- stderr
    Error: trusting a project needs confirmation, but stdin is not a terminal
    Hint: read the file, then run `belay trust --yes`
    -- exit 1

    $ belay trust --yes
    /home/code/app/.belay.toml is trusted; a changed file must be trusted again.

    $ belay trust --list
    FILE  SINCE  STANDING
    /home/code/app/.belay.toml  [ago]  trusted

    $ belay config get detect.max_nudges
    9

    $ belay config get detect.max_nudges
    2
    -- stderr
    Warning: /home/code/app/.belay.toml:2:1: `detect.max_nudges` is ignored: it loosens detection, and the file has changed since you trusted it
    Hint: read the file again, then run `belay trust` in its directory

    $ belay trust --list
    FILE  SINCE  STANDING
    /home/code/app/.belay.toml  [ago]  changed since
    -- stderr
    Warning: /home/code/app/.belay.toml:2:1: `detect.max_nudges` is ignored: it loosens detection, and the file has changed since you trusted it
    Hint: read the file again, then run `belay trust` in its directory

    $ belay trust --revoke
    /home/code/app/.belay.toml is no longer trusted.

    $ belay trust --revoke
    -- stderr
    Error: /home/code/app/.belay.toml is not trusted
    Hint: run `belay trust --list`
    -- exit 1
    ");
}
