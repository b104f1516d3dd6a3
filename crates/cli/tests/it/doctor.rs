//! `belay doctor`: what is wrong and how to fix it.

use crate::resident::Serve;
use crate::world::{World, call, lines};

/// A machine with a desktop on it.
fn here() -> World {
    let world = World::new();
    for name in ["notify-send", "osascript"] {
        program(&world, name, "exit 0");
    }
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.var("PATH", path)
}

fn program(world: &World, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = world.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What is said, on either system.
fn tell(world: &World, args: &[&str]) -> String {
    world.tell(args).replace("osascript", "notify-send")
}

#[test]
fn a_fresh_home_is_well() {
    insta::assert_snapshot!(tell(&here(), &["doctor"]), @r"
    $ belay doctor
    --  state folder  /home/.local/state/belay is not there yet; it is made when needed
    ok  configuration  built-in; /home/.config/belay/config.toml does not exist
    --  store  there is none yet; the first event makes it
    --  resident  does not run; hooks and commands work without it
                       fix: start it with `belay serve`
    --  agents  none of the agents Belay knows is on the PATH
    ok  notifications  on the desktop, by /bin/notify-send
    -- stderr

    All is well.
    ");
}

#[test]
fn every_fault_comes_with_its_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let world = here().var("BELAY_LISTN", "x");
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    let open = |path: &str, mode| {
        std::fs::set_permissions(world.state().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open("", 0o755);
    open("belay.db", 0o644);
    world.write("home/.config/belay/config.toml", "[log]\nlevel = \"loud\"\n");
    world.write("home/code/app/.belay.toml", "[webhook]\nurl = \"https://evil.example\"\n");
    world.write("home/.local/state/belay/belay.sock", "");
    insta::assert_snapshot!(tell(&world, &["doctor"]), @r"
    $ belay doctor
    !!  state folder  /home/.local/state/belay is open to others (mode 755)
                       fix: chmod 700 /home/.local/state/belay
    XX  configuration  /home/.config/belay/config.toml:2:1: `log.level`: unknown variant `loud`, expected one of `error`, `warn`, `info`, `debug`, `trace`
                       fix: edit /home/.config/belay/config.toml
    ok  project file  /home/code/app/.belay.toml: not trusted; it may only tighten detection
    !!  project file  /home/code/app/.belay.toml:2:1: `webhook.url` is ignored: a project file cannot set it
                       fix: set it in your own configuration with `belay config set`
    !!  store  /home/.local/state/belay/belay.db can be read by others (mode 644)
                       fix: chmod 600 /home/.local/state/belay/belay.db
    --  resident  does not run; a socket of one that ended abruptly is left
                       fix: nothing to do: the next `belay serve` replaces it
    --  agents  none of the agents Belay knows is on the PATH
    ok  notifications  on the desktop, by /bin/notify-send
    -- stderr

    1 to fix.
    -- exit 1
    ");
}

#[test]
fn a_damaged_and_a_foreign_store_are_left_alone() {
    let world = here();
    let file =
        world.write("home/.local/state/belay/belay.db", "this is no database, and it is long enough to be looked at");
    let told = [tell(&world, &["doctor"]), world.tell(&["sessions"]), world.tell(&["pause", "abc"])];
    insta::assert_snapshot!(told.join("\n"), @r"
    $ belay doctor
    !!  state folder  /home/.local/state/belay is open to others (mode 755)
                       fix: chmod 700 /home/.local/state/belay
    ok  configuration  built-in; /home/.config/belay/config.toml does not exist
    XX  store  /home/.local/state/belay/belay.db is damaged: file is not a database
                       fix: The file was not touched. Move it aside (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) and start again with an empty store, or save what can be read: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    --  resident  does not run; hooks and commands work without it
                       fix: start it with `belay serve`
    --  agents  none of the agents Belay knows is on the PATH
    ok  notifications  on the desktop, by /bin/notify-send
    -- stderr

    1 to fix.
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
    let world = here();
    program(&world, "claude", "echo '2.1.325 (Claude Code)'");
    program(&world, "codex", "echo 'codex-cli 0.166.0'");
    program(&world, "gemini", "exit 3");
    program(&world, "aider", "echo 'aider 0.86.2'");
    let hook = r#"{"id":"h1","session":{"agent":"codex","id":"s"},"source":"hook","kind":"note","text":"x"}"#;
    world.run_with(&["events", "post"], hook.as_bytes());
    let told = tell(&world, &["doctor"]);
    let agents: Vec<&str> = told.lines().skip_while(|line| !line.contains("agent ")).collect();
    insta::assert_snapshot!(agents.join("\n"), @r"
    --  agent  Claude Code 2.1.325 (/bin/claude); not heard from yet
                       fix: put it on the rope with `belay init --agent claude-code`
    ok  agent  Codex 0.166.0 (/bin/codex); last heard [ago]
    --  agent  Gemini CLI version unknown (/bin/gemini); not heard from yet
                       fix: put it on the rope with `belay init --agent gemini`
    --  agent  aider 0.86.2 (/bin/aider); it has no hooks, `belay audit` reads its history
    ok  notifications  on the desktop, by /bin/notify-send
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
    assert_eq!(resident["health"], "ok", "{resident}");
}

#[test]
fn hooks_that_are_installed_and_say_nothing_are_found() {
    let world = here().var("BELAY_AUTOSTART", "false");
    program(&world, "claude", "echo 2.1.325");
    let row = || {
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "hooks").cloned().unwrap();
        (row["health"].as_str().unwrap().to_owned(), row["finding"].as_str().unwrap().to_owned(), row["fix"].clone())
    };
    assert_eq!(world.run(&["init", "--yes"]).code, Some(0));
    assert_eq!(row().1, "Claude Code: in place; it was not used since");
    let hook = || {
        let payload = br#"{"session_id":"s1","hook_event_name":"SessionStart","cwd":"/home/user"}"#;
        assert_eq!(world.run_with(&["hook", "claude-code"], payload).code, Some(0));
    };
    hook();
    assert_eq!((row().0.as_str(), row().1.as_str()), ("ok", "Claude Code: in place, last heard just now"));
    // It goes on working, an hour from now, and we hear nothing of it.
    let transcript = world.write("home/.claude/projects/-home-user/s1.jsonl", "{}\n");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(transcript).unwrap().set_modified(later).unwrap();
    let (health, finding, fix) = row();
    assert_eq!(health, "warning");
    assert!(finding.starts_with("Claude Code: in place but silent; it was used"), "{finding}");
    assert!(fix.as_str().unwrap().contains("/hooks"), "{fix}");
    // Somebody takes them out.
    world.write("home/.claude/settings.json", "{}");
    let (health, finding, fix) = row();
    assert_eq!((health.as_str(), &fix), ("warning", &"belay init --agent claude-code".into()));
    assert!(finding.contains("are not as they were put in"), "{finding}");
}

#[test]
fn a_webhook_that_cannot_work_is_found() {
    let rows = |vars: &[(&str, &str)]| {
        let world = vars.iter().fold(here(), |world, (name, value)| world.var(name, value));
        let said = tell(&world, &["doctor"]);
        said.lines().skip_while(|line| !line.contains("  webhook")).take(1).collect::<String>()
    };
    let url = ("BELAY_WEBHOOK_URL", "https://hooks.example.com/T0/very-secret");
    let told = [
        rows(&[url]),
        rows(&[url, ("BELAY_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]),
        rows(&[url, ("BELAY_WEBHOOK_SECRET", "hunter2")]),
        rows(&[("BELAY_WEBHOOK_URL", "http://93.184.216.34/")]),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    ok  webhook  posts to https://hooks.example.com:443/.., unsigned
    ok  webhook  posts to https://hooks.example.com:443/.., signed
    XX  webhook  nothing is posted: the signing secret must be `whsec_` and base64, 24 to 64 bytes of it
    XX  webhook  nothing is posted: webhook.url: plain http is limited to this machine and private networks; use https
    ");
}
