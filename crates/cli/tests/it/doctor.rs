//! `belay doctor`: what is wrong and how to mend it.

use crate::resident::Serve;
use crate::world::{World, call, lines};

#[test]
fn a_fresh_home_is_well() {
    insta::assert_snapshot!(World::new().tell(&["doctor"]), @r"
    $ belay doctor
    --  state folder  /home/.local/state/belay is not there yet; it is made when needed
    ok  configuration  built-in; /home/.config/belay/config.toml does not exist
    --  store  there is none yet; the first event makes it
    --  resident  does not run; hooks and commands work without it
                       mend: start it with `belay serve`
    --  agents  none of the agents Belay knows is on the PATH
    -- stderr

    All is well.
    ");
}

#[cfg(unix)]
#[test]
fn every_fault_comes_with_its_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().var("BELAY_LISTN", "x");
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let open = |path: &str, mode| {
        std::fs::set_permissions(world.state().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open("", 0o755);
    open("belay.db", 0o644);
    world.write("home/.config/belay/config.toml", "[log]\nlevel = \"loud\"\n");
    world.write("home/code/app/.belay.toml", "[webhook]\nurl = \"https://evil.example\"\n");
    world.write("home/.local/state/belay/belay.sock", "");
    insta::assert_snapshot!(world.tell(&["doctor"]), @r"
    $ belay doctor
    !!  state folder  /home/.local/state/belay is open to others (mode 755)
                       mend: chmod 700 /home/.local/state/belay
    XX  configuration  /home/.config/belay/config.toml:2:1: `log.level`: unknown variant `loud`, expected one of `error`, `warn`, `info`, `debug`, `trace`
                       mend: edit /home/.config/belay/config.toml
    ok  project file  /home/code/app/.belay.toml: not trusted; it may only tighten detection
    !!  project file  /home/code/app/.belay.toml:2:1: `webhook.url` is ignored: a project file cannot set it
                       mend: set it in your own configuration with `belay config set`
    !!  store  /home/.local/state/belay/belay.db can be read by others (mode 644)
                       mend: chmod 600 /home/.local/state/belay/belay.db
    --  resident  does not run; a socket of one that ended abruptly is left
                       mend: nothing to do: the next `belay serve` replaces it
    --  agents  none of the agents Belay knows is on the PATH
    -- stderr

    1 to mend.
    -- exit 1
    ");
}

#[test]
fn a_damaged_and_a_foreign_store_are_left_alone() {
    let world = World::new();
    let file =
        world.write("home/.local/state/belay/belay.db", "this is no database, and it is long enough to be looked at");
    let told = [world.tell(&["doctor"]), world.tell(&["sessions"]), world.tell(&["pause", "abc"])];
    insta::assert_snapshot!(told.join("\n"), @r"
    $ belay doctor
    !!  state folder  /home/.local/state/belay is open to others (mode 755)
                       mend: chmod 700 /home/.local/state/belay
    ok  configuration  built-in; /home/.config/belay/config.toml does not exist
    XX  store  /home/.local/state/belay/belay.db is damaged: file is not a database
                       mend: The file was not touched. Move it aside (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) and start again with an empty store, or save what can be read: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    --  resident  does not run; hooks and commands work without it
                       mend: start it with `belay serve`
    --  agents  none of the agents Belay knows is on the PATH
    -- stderr

    1 to mend.
    -- exit 1

    $ belay sessions
    -- stderr
    Error: /home/.local/state/belay/belay.db is damaged: file is not a database
    Hint: The file was not touched. Move it aside (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) and start again with an empty store, or save what can be read: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    -- exit 1

    $ belay pause abc
    -- stderr
    Error: /home/.local/state/belay/belay.db is damaged: file is not a database
    Hint: The file was not touched. Move it aside (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) and start again with an empty store, or save what can be read: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    -- exit 1
    ");
    assert!(std::fs::read_to_string(file).unwrap().starts_with("this is no database"));
}

#[test]
fn agents_are_found_with_their_versions() {
    let world = World::new();
    let bin = world.path("bin");
    let fake = |name: &str, script: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = world.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    fake("claude", "echo '2.1.325 (Claude Code)'");
    fake("codex", "echo 'codex-cli 0.166.0'");
    fake("gemini", "exit 3");
    let world = world.var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let hook = r#"{"id":"h1","session":{"agent":"codex","id":"s"},"source":"hook","kind":"note","text":"x"}"#;
    world.run_with(&["events", "post"], hook.as_bytes());
    let told = world.tell(&["doctor"]);
    let agents: Vec<&str> = told.lines().skip_while(|line| !line.contains("agent ")).collect();
    insta::assert_snapshot!(agents.join("\n"), @r"
    --  agent  Claude Code 2.1.325 (/bin/claude); not heard from yet
                       mend: let its hooks call `belay hook claude-code`
    ok  agent  Codex 0.166.0 (/bin/codex); last heard [ago]
    --  agent  Gemini CLI version unknown (/bin/gemini); not heard from yet
                       mend: let its hooks call `belay hook gemini`
    -- stderr

    All is well.
    ");
}

#[test]
fn a_running_resident_process_is_seen() {
    let world = World::new();
    let _serve = Serve::start(&world);
    let rows = world.run(&["doctor", "--json"]).json();
    assert_eq!(rows["ok"], true);
    let resident = rows["rows"].as_array().unwrap().iter().find(|row| row["check"] == "resident").unwrap();
    assert_eq!(resident["health"], "good", "{resident}");
}
