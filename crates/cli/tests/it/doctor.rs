//! `belay doctor`: what is wrong and how to fix it.

use crate::resident::Serve;
use crate::world::{World, call, lines};

/// A machine with a desktop session.
fn here() -> World {
    let world = World::new();
    for name in ["notify-send", "osascript"] {
        program(&world, name, "exit 0");
    }
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.var("PATH", path).var("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus")
}

fn program(world: &World, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = world.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The output, independent of the system.
fn run_text(world: &World, args: &[&str]) -> String {
    world.run_text(args).replace("osascript", "notify-send")
}

#[test]
fn a_store_above_its_limit_is_reported() {
    let world = here();
    world.run_with(&["events", "post"], &lines(&[call("e1", "abc", "ls")]));
    assert!(!world.run(&["doctor"]).out.contains("store.max_bytes"));
    world.write("home/.config/belay/config.toml", "[store]\nmax_bytes = \"1KiB\"\n");
    let output = world.run(&["doctor"]);
    assert!(output.out.contains("!!  store") && output.out.contains("store.max_bytes is 1 MiB"), "{output:?}");
    assert!(output.out.contains("claude-code:abc has 1 event and is not deleted"), "{output:?}");
}

#[test]
fn a_log_that_was_changed_is_reported() {
    let story = |change: &str| {
        let world = here();
        let calls: Vec<String> = (1..=4).map(|n| call(&format!("e{n}"), "abc", &format!("make {n}"))).collect();
        world.run_with(&["events", "post"], &lines(&calls));
        world.run_with(&["events", "post"], &lines(&[call("e9", "other", "ls")]));
        rusqlite::Connection::open(world.state().join("belay.db")).unwrap().execute_batch(change).unwrap();
        let output = world.run(&["doctor", "--full"]);
        output.out.lines().find(|line| line.contains("history")).unwrap().to_owned()
    };
    let changes = [
        "UPDATE events SET json = replace(json, 'make 2', 'make 7')",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events WHERE seq = 4; UPDATE sessions SET version = 3 WHERE native_id = 'abc'",
        "UPDATE events SET seq = 9 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3; \
         UPDATE events SET seq = 3 WHERE seq = 9",
    ];
    let shown: Vec<String> = changes.map(story).into();
    let expected = ["event 2 was changed", "event 2 is missing", "its last event was replaced", "event 2 was changed"];
    for (line, expected) in shown.iter().zip(expected) {
        assert!(line.starts_with("XX") && line.ends_with(&format!("claude-code:abc: {expected}")), "{line}");
    }
    assert!(story("SELECT 1").ends_with("the log of 2 sessions is as Belay has written it"));
}

#[test]
fn a_fresh_home_is_well() {
    insta::assert_snapshot!(run_text(&here(), &["doctor"]), @r"
    $ belay doctor
    --  state  /home/.local/state/belay does not exist yet; it is created when needed
    ok  configuration  defaults; /home/.config/belay/config.toml does not exist
    --  store  does not exist yet; the first event creates it
    --  resident  not running; hooks and commands work without it
                       fix: start it with `belay serve`
    --  agents  no supported agent is in PATH
    ok  alerts  desktop: /bin/notify-send
    -- stderr

    No problems found.
    ");
}

#[test]
fn doctor_reports_that_no_channel_reaches_a_person() {
    let alerts = |world: &World| {
        let output = run_text(world, &["doctor"]);
        let rows =
            output.lines().skip_while(|line| !line.contains("  alerts  ")).take_while(|line| *line != "-- stderr");
        rows.collect::<Vec<_>>().join("\n")
    };
    let headless = World::new().var("PATH", "/nonexistent");
    insta::assert_snapshot!(alerts(&headless), @r"
    --  alerts  desktop: cannot deliver: notify-send is not on the PATH
                       fix: install it (Debian: libnotify-bin), or set a webhook: belay config set webhook.url URL
    !!  alerts  no channel can deliver alerts: if a session is paused, you are not notified
                       fix: belay config set webhook.url URL
    ");
    program(&headless, "notify-send", "exit 1");
    program(&headless, "osascript", "exit 1");
    let path = headless.path("bin").display().to_string();
    let world = headless.var("PATH", path).var("BELAY_WEBHOOK_URL", "ftp://x/");
    world.write("home/.config/belay/config.toml", "[notify]\ndesktop = false\n");
    insta::assert_snapshot!(alerts(&world), @r"
    XX  alerts  webhook: cannot deliver: webhook.url: the URL must start with https:// or http://
                       fix: `belay config explain webhook` lists the settings, `belay notify` tests them
    !!  alerts  no channel can deliver alerts: if a session is paused, you are not notified
                       fix: belay config set notify.desktop true, or belay config set webhook.url URL
    ");
}

#[test]
fn a_home_that_cannot_be_written_is_a_failure() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let world = here();
    let mut command = world.command(["doctor"]);
    // Root may write everywhere, so the command runs as an ordinary user.
    if rustix::process::geteuid().is_root() {
        std::fs::set_permissions(world.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(65_534).gid(65_534);
    }
    std::fs::set_permissions(world.path("home"), std::fs::Permissions::from_mode(0o555)).unwrap();
    let output = command.output().unwrap();
    std::fs::set_permissions(world.path("home"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let row = "XX  state          ";
    assert!(output.status.code() == Some(1) && text.contains(row) && text.contains("is not writable"), "{output:?}");
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
    insta::assert_snapshot!(run_text(&world, &["doctor"]), @r"
    $ belay doctor
    !!  state  /home/.local/state/belay is accessible to other users (mode 755)
                       fix: chmod 700 /home/.local/state/belay
    XX  configuration  /home/.config/belay/config.toml:2:1: `log.level`: unknown variant `loud`, expected one of `error`, `warn`, `info`, `debug`, `trace`
                       fix: edit /home/.config/belay/config.toml
    !!  configuration  Belay ignores these values and uses the others
    ok  project file  /home/code/app/.belay.toml: not trusted; it can only tighten detection
    !!  project file  /home/code/app/.belay.toml:2:1: `webhook.url` is ignored: a project file cannot set it
                       fix: set it in your own configuration with `belay config set`
    !!  store  /home/.local/state/belay/belay.db is readable by other users (mode 644)
                       fix: chmod 600 /home/.local/state/belay/belay.db
    --  resident  not running; a stale socket remains from a crash
                       fix: nothing to do; the next `belay serve` replaces it
    --  agents  no supported agent is in PATH
    ok  alerts  desktop: /bin/notify-send
    -- stderr

    1 problem to fix.
    -- exit 1
    ");
}

#[test]
fn a_damaged_and_a_foreign_store_are_left_alone() {
    let world = here();
    let file = world.write("home/.local/state/belay/belay.db", "not a database, and long enough to be checked");
    let shown = [run_text(&world, &["doctor"]), world.run_text(&["sessions"]), world.run_text(&["pause", "abc"])];
    insta::assert_snapshot!(shown.join("\n"), @r"
    $ belay doctor
    !!  state  /home/.local/state/belay is accessible to other users (mode 755)
                       fix: chmod 700 /home/.local/state/belay
    ok  configuration  defaults; /home/.config/belay/config.toml does not exist
    XX  store  /home/.local/state/belay/belay.db is damaged: file is not a database
                       fix: The file was not touched. Rename it (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) to start with an empty store, or recover what is readable: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    --  resident  not running; hooks and commands work without it
                       fix: start it with `belay serve`
    --  agents  no supported agent is in PATH
    ok  alerts  desktop: /bin/notify-send
    -- stderr

    1 problem to fix.
    -- exit 1

    $ belay sessions
    -- stderr
    Error: /home/.local/state/belay/belay.db is damaged: file is not a database
    Hint: The file was not touched. Rename it (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) to start with an empty store, or recover what is readable: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    -- exit 1

    $ belay pause abc
    -- stderr
    Error: /home/.local/state/belay/belay.db is damaged: file is not a database
    Hint: The file was not touched. Rename it (mv /home/.local/state/belay/belay.db /home/.local/state/belay/belay.db.damaged) to start with an empty store, or recover what is readable: sqlite3 /home/.local/state/belay/belay.db .recover | sqlite3 /home/.local/state/belay/belay.db.recovered
    -- exit 1
    ");
    assert!(std::fs::read_to_string(file).unwrap().starts_with("not a database"));
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
    let shown = run_text(&world, &["doctor"]);
    let agents: Vec<&str> = shown.lines().skip_while(|line| !line.contains("agent ")).collect();
    insta::assert_snapshot!(agents.join("\n"), @r"
    --  agent  Claude Code 2.1.325 (/bin/claude); no events yet
                       fix: belay init --agent claude-code
    ok  agent  Codex 0.166.0 (/bin/codex); last event [ago]
    --  agent  Gemini CLI version unknown (/bin/gemini); no events yet
                       fix: belay init --agent gemini
    --  agent  aider 0.86.2 (/bin/aider); has no hooks; `belay audit` reads its history
    ok  alerts  desktop: /bin/notify-send
    -- stderr

    No problems found.
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
fn installed_hooks_that_are_never_called_are_reported() {
    let world = here().without_autostart();
    program(&world, "claude", "echo 2.1.325");
    let row = || {
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "hooks").cloned().unwrap();
        (row["health"].as_str().unwrap().to_owned(), row["finding"].as_str().unwrap().to_owned(), row["fix"].clone())
    };
    assert_eq!(world.run(&["init", "--yes"]).code, Some(0));
    assert_eq!(row().1, "Claude Code: installed; the agent was not used since");
    let hook = || {
        let payload = br#"{"session_id":"s1","hook_event_name":"SessionStart","cwd":"/home/user"}"#;
        assert_eq!(world.run_with(&["hook", "claude-code"], payload).code, Some(0));
    };
    hook();
    assert_eq!((row().0.as_str(), row().1.as_str()), ("ok", "Claude Code: installed, last event just now"));
    // The agent works an hour later, and no hook reports it.
    let transcript = world.write("home/.claude/projects/-home-user/s1.jsonl", "{}\n");
    let transcript = std::fs::File::options().write(true).open(transcript).unwrap();
    let written = transcript.metadata().unwrap().modified().unwrap();
    transcript.set_modified(written + std::time::Duration::from_secs(3600)).unwrap();
    let (health, finding, fix) = row();
    assert_eq!(health, "warning");
    assert!(finding.starts_with("Claude Code: installed but not called; the agent was used"), "{finding}");
    assert!(fix.as_str().unwrap().contains("/hooks"), "{fix}");
    // The user removes the hooks.
    world.write("home/.claude/settings.json", "{}");
    let (health, finding, fix) = row();
    assert_eq!((health.as_str(), &fix), ("warning", &"belay init --agent claude-code".into()));
    assert!(finding.contains("were changed"), "{finding}");
}

#[test]
fn a_permission_hook_that_ends_before_an_answer_is_reported_with_approvals_on() {
    let world = here().without_autostart();
    program(&world, "claude", "echo 2.1.325");
    assert_eq!(world.run(&["init", "--yes", "--agent", "claude-code"]).code, Some(0));
    let row = || {
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "hooks").unwrap().clone();
        (row["finding"].as_str().unwrap().to_owned(), row["fix"].clone())
    };
    assert!(row().0.contains("installed"), "{:?}", row());
    // As an earlier version installed it.
    let path = world.path("home/.claude/settings.json");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, settings.replace("600", "10")).unwrap();
    assert!(row().0.contains("were changed"), "{:?}", row());
    assert_eq!(world.run(&["config", "set", "approvals.enabled", "true"]).code, Some(0));
    let (finding, fix) = row();
    assert_eq!(finding, "approvals wait 1 min for an answer, but Claude Code ends its permission hook after 10 s");
    assert_eq!(fix, "belay init --agent claude-code");
    assert_eq!(world.run(&["init", "--yes", "--agent", "claude-code"]).code, Some(0));
    assert!(row().0.contains("installed"), "{:?}", row());
}

#[test]
fn a_hook_that_the_agent_ends_too_early_is_reported_at_every_point() {
    for (agent, program_name, file, (timeout, short), finding) in [
        (
            "claude-code",
            "claude",
            ".claude/settings.json",
            ("150", "10"),
            "Claude Code ends its Stop hook after 10 s, but Belay may need 2 min",
        ),
        (
            "codex",
            "codex",
            ".codex/hooks.json",
            ("86400", "60"),
            "Codex ends its PreToolUse hook after 1 min, but Belay may need 1 day",
        ),
        (
            "copilot",
            "copilot",
            ".copilot/hooks/belay.json",
            ("150", "10"),
            "Copilot CLI ends its agentStop hook after 10 s, but Belay may need 2 min",
        ),
        (
            "gemini",
            "gemini",
            ".gemini/settings.json",
            ("150000", "10000"),
            "Gemini CLI ends its AfterAgent hook after 10 s, but Belay may need 2 min",
        ),
    ] {
        let world = here().without_autostart();
        program(&world, program_name, "echo 2.1.325");
        assert_eq!(world.run(&["init", "--yes", "--agent", agent]).code, Some(0));
        let path = world.path(&format!("home/{file}"));
        let settings = std::fs::read_to_string(&path).unwrap();
        assert!(settings.contains(timeout), "{settings}");
        std::fs::write(&path, settings.replace(timeout, short)).unwrap();
        let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "hooks").unwrap().clone();
        assert_eq!(
            (row["finding"].as_str(), row["fix"].as_str()),
            (Some(finding), Some(&*format!("belay init --agent {agent}")))
        );
    }
}

#[test]
fn a_webhook_that_cannot_work_is_found() {
    let rows = |vars: &[(&str, &str)]| {
        let world = vars.iter().fold(here(), |world, (name, value)| world.var(name, value));
        let output = run_text(&world, &["doctor"]);
        output.lines().skip_while(|line| !line.contains("  webhook")).take(1).collect::<String>()
    };
    let url = ("BELAY_WEBHOOK_URL", "https://hooks.example.com/T0/very-secret");
    let shown = [
        rows(&[url]),
        rows(&[url, ("BELAY_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]),
        rows(&[url, ("BELAY_WEBHOOK_SECRET", "hunter2")]),
        rows(&[("BELAY_WEBHOOK_URL", "http://93.184.216.34/")]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    ok  alerts  webhook: https://hooks.example.com:443/.., unsigned
    ok  alerts  webhook: https://hooks.example.com:443/.., signed
    XX  alerts  webhook: cannot deliver: the signing secret must be `whsec_` and the base64 of 24 to 64 bytes
    XX  alerts  webhook: cannot deliver: webhook.url: plain http is limited to this machine and private networks; use https
    ");
}
