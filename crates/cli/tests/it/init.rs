//! `belay init` and `belay uninit` as their users meet them.

use std::os::unix::fs::PermissionsExt;

use crate::world::World;

/// A machine with three agents on it. What `--version` says does not matter here.
fn furnished() -> World {
    let world = World::new();
    for agent in ["claude", "codex", "copilot"] {
        let path = world.write(&format!("bin/{agent}"), "#!/bin/sh\necho 1.0.0\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.write("home/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    world.var("PATH", path).var("BELAY_AUTOSTART", "false")
}

fn settings(world: &World) -> String {
    std::fs::read_to_string(world.path("home/.claude/settings.json")).unwrap()
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let world = furnished();
    let said = world.run(&["init", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in
        ["~/.claude/settings.json (changed)", "~/.codex/hooks.json (new)", "~/.copilot/hooks/belay.json (new)", "+"]
    {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!world.path("home/.codex").exists());
}

#[test]
fn without_a_terminal_nothing_is_changed_unasked() {
    let world = furnished();
    let said = world.run(&["init", "--agent", "claude"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("--yes"), "{}", said.err);
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn in_and_out_again() {
    let world = furnished();
    let said = world.run(&["init", "--yes", "--json"]).json();
    let outcomes: Vec<_> =
        said["init"].as_array().unwrap().iter().map(|row| (&row["agent"], &row["outcome"])).collect();
    assert!(outcomes.len() == 3 && outcomes.iter().all(|(_, outcome)| **outcome == "done"), "{said}");
    assert!(settings(&world).contains("hook claude-code"));
    // The session of the self-test is out of sight.
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().len(), 0);
    let again = world.run(&["init", "--yes", "--json"]).json();
    assert!(again["init"].as_array().unwrap().iter().all(|row| row["outcome"] == "already"), "{again}");
    let out = world.run(&["uninit", "--yes", "--json"]).json();
    assert!(out["uninit"].as_array().unwrap().iter().all(|row| row["outcome"] == "done"), "{out}");
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!world.path("home/.codex").exists() && !world.path("home/.copilot").exists());
}

#[test]
fn one_agents_odd_settings_do_not_keep_the_others_off_the_rope() {
    let world = furnished();
    world.write("home/.claude/settings.json", "{ \"hooks\": [ oops");
    let said = world.run(&["init", "--yes", "--json"]);
    assert_eq!(said.code, Some(1));
    let rows = said.json();
    let outcome = |agent: &str| {
        let rows = rows["init"].as_array().unwrap();
        rows.iter().find(|row| row["agent"] == agent).unwrap()["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!((outcome("claude-code").as_str(), outcome("codex").as_str()), ("failed", "done"));
    assert_eq!(settings(&world), "{ \"hooks\": [ oops");
}

#[test]
fn an_agent_without_hooks_is_named() {
    let world = furnished();
    insta::assert_snapshot!(world.tell(&["init", "--agent", "aider"]), @r"
    $ belay init --agent aider
    -- stderr
    Error: aider has no hooks Belay could use
    Hint: there are: claude-code, codex, copilot, gemini, opencode, qwen, cursor
    -- exit 1
    ");
}
