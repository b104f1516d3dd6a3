//! `belay init` and `belay uninit`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::terminal::{Terminal, end, start};
use crate::world::World;

/// A machine with three agents. The output of `--version` does not matter here.
pub(crate) fn furnished() -> World {
    let world = World::new();
    for agent in ["claude", "codex", "copilot"] {
        let path = world.write(&format!("bin/{agent}"), "#!/bin/sh\necho 1.0.0\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.write("home/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    world.var("PATH", path).without_autostart()
}

fn settings(world: &World) -> String {
    std::fs::read_to_string(world.path("home/.claude/settings.json")).unwrap()
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let world = furnished();
    let output = world.run(&["init", "--dry-run"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in
        ["~/.claude/settings.json (changed)", "~/.codex/hooks.json (new)", "~/.copilot/hooks/belay.json (new)", "+"]
    {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!world.path("home/.codex").exists() && !world.state().exists());
    let rows = world.run(&["init", "--dry-run", "--json", "--agent", "claude"]).json();
    let change = &rows["init"][0]["changes"][0];
    assert_eq!((&rows["init"][0]["outcome"], &change["what"]), (&"planned".into(), &"changed".into()), "{rows}");
    assert!(change["diff"].as_str().unwrap().contains("+ "), "{rows}");
}

#[test]
fn without_a_terminal_nothing_is_changed_unasked() {
    let world = furnished();
    let output = world.run(&["init", "--agent", "claude"]);
    assert_eq!(output.code, Some(1));
    assert!(output.err.contains("--yes"), "{}", output.err);
    assert!(output.out.contains("+ "), "it shows what it would have done: {}", output.out);
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn in_and_out_again() {
    let world = furnished();
    let output = world.run(&["init", "--yes", "--json"]).json();
    let outcomes: Vec<_> =
        output["init"].as_array().unwrap().iter().map(|row| (&row["agent"], &row["outcome"])).collect();
    assert!(outcomes.len() == 3 && outcomes.iter().all(|(_, outcome)| **outcome == "done"), "{output}");
    assert!(settings(&world).contains("hook claude-code"));
    // The session of the self-test is archived.
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
    let output = world.run(&["init", "--yes", "--json"]);
    assert_eq!(output.code, Some(1));
    let rows = output.json();
    let outcome = |agent: &str| {
        let rows = rows["init"].as_array().unwrap();
        rows.iter().find(|row| row["agent"] == agent).unwrap()["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!((outcome("claude-code").as_str(), outcome("codex").as_str()), ("failed", "done"));
    assert!(rows["init"][0]["problem"].as_str().unwrap().contains("settings.json cannot be edited: line 1"), "{rows}");
    assert_eq!(settings(&world), "{ \"hooks\": [ oops");
}

#[test]
fn an_agent_without_hooks_is_named() {
    let world = furnished();
    insta::assert_snapshot!(world.run_text(&["init", "--agent", "aider"]), @r"
    $ belay init --agent aider
    -- stderr
    Error: no hooks are available for aider
    Hint: agents with hooks: claude-code, codex, copilot, gemini, opencode, qwen, cursor
    -- exit 1
    ");
}

/// Answers what is typed at a terminal. `script` gives the program one.
fn at_a_terminal(world: &World, args: &[&str], typed: &str) -> String {
    let belay = env!("CARGO_BIN_EXE_belay");
    let command = world.command(args);
    let mut script = std::process::Command::new("script");
    if cfg!(target_os = "macos") {
        script.args(["-q", "/dev/null", belay]).args(args);
    } else {
        script.args(["-qec", &format!("'{belay}' {}", args.join(" ")), "/dev/null"]);
    }
    let vars: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    script.env_clear().envs(vars).current_dir(command.get_current_dir().unwrap());
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn the_user_is_asked_for_confirmation() {
    let world = furnished();
    let output = at_a_terminal(&world, &["init", "--agent", "claude"], "n\n");
    assert!(output.contains("Install the hooks of Claude Code? [Y/n]") && output.contains("not changed"), "{output}");
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    let output = at_a_terminal(&world, &["init", "--agent", "claude"], "y\n");
    assert!(output.contains("ok  Claude Code: done"), "{output}");
    assert!(settings(&world).contains("hook claude-code"));
}

#[test]
fn user_edits_survive_and_are_reported() {
    let world = furnished();
    assert_eq!(world.run(&["init", "--yes", "--agent", "claude"]).code, Some(0));
    world.write("home/.claude/settings.json", &settings(&world).replace("opus", "sonnet"));
    let output = world.run(&["uninit", "--yes"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.out.contains("~/.claude/settings.json was edited since `belay init`: only Belay's entries were removed"),
        "{}",
        output.out
    );
    assert_eq!(settings(&world), "{\n  \"model\": \"sonnet\"\n}\n");
    let again = world.run(&["uninit", "--yes"]);
    assert_eq!((again.code, again.err.as_str()), (Some(0), "No hooks are installed.\n"));
}

#[test]
fn where_a_link_leads_is_shown() {
    let world = furnished();
    let path = world.path("home/.claude/settings.json");
    std::fs::rename(&path, world.path("home/mine.json")).unwrap();
    std::os::unix::fs::symlink("../mine.json", &path).unwrap();
    let output = world.run(&["init", "--yes", "--agent", "claude"]).out;
    let real = world.plain(&output);
    assert!(real.contains("~/.claude/settings.json -> ~/mine.json (changed)"), "{real}");
    assert!(path.is_symlink() && settings(&world).contains("hook claude-code"));
}

#[test]
fn a_read_only_file_is_not_changed() {
    let world = furnished();
    let path = world.path("home/.claude/settings.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    insta::assert_snapshot!(world.run_text(&["init", "--yes", "--agent", "claude"]).split_once("-- stderr\n").unwrap().1, @r"
    Error: /home/.claude/settings.json is read-only
    Hint: nothing was changed; make it writable (chmod u+w) and try again
    -- exit 1
    ");
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    assert_eq!(world.run(&["uninit", "--yes"]).err, "No hooks are installed.\n");
}

#[test]
fn the_hooks_call_belay_by_the_name_that_stays() {
    let world = furnished();
    let link = world.path("bin/belay");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_belay"), &link).unwrap();
    assert_eq!(world.run(&["init", "--yes", "--agent", "claude"]).code, Some(0));
    assert!(settings(&world).contains(&format!("{} hook claude-code", link.display())), "{}", settings(&world));
}

#[test]
fn a_project_has_its_own_hooks() {
    let world = furnished();
    let bin = world.path("bin/belay");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_belay"), bin).unwrap();
    std::fs::create_dir(world.path("home/code/app/.git")).unwrap();
    let output = world.run(&["init", "--project", "--yes", "--json"]).json();
    assert!(output["init"].as_array().unwrap().iter().all(|row| row["outcome"] == "done"), "{output}");
    let text = std::fs::read_to_string(world.path("home/code/app/.claude/settings.json")).unwrap();
    assert!(text.contains("command -v belay") && !text.contains("/bin/belay"), "others have it elsewhere: {text}");
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n", "the user's own are untouched");
    let output = world.run(&["uninit", "--yes"]);
    assert!(
        output.err.contains("codex also has hooks in ~/code/app; remove them with `belay uninit --project` there"),
        "{output:?}"
    );
    assert_eq!(world.run(&["uninit", "--project", "--yes"]).code, Some(0));
    assert_eq!(std::fs::read_dir(world.path("home/code/app")).unwrap().count(), 1, "only .git is left");
}

#[test]
fn the_status_line_comes_along_if_wanted() {
    let world = furnished();
    assert_eq!(world.run(&["init", "--yes", "--agent", "claude", "--status-line"]).code, Some(0));
    let text: serde_json::Value = serde_json::from_str(&settings(&world)).unwrap();
    let command = text["statusLine"]["command"].as_str().unwrap();
    assert!(command.contains("/belay statusline --home "), "{command}");
    assert_eq!(world.run(&["uninit", "--yes"]).code, Some(0));
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn a_failed_self_test_takes_the_change_back() {
    let world = furnished();
    // The hook runs, but its event is lost: the store is damaged.
    let store = world.write("home/.local/state/belay/belay.db", "no database at all, and long enough to be looked at");
    let output = world.run(&["init", "--yes"]);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.out.matches("not installed, because the test hook failed").count(), 3, "{output:?}");
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!world.path("home/.codex").exists() && !world.path("home/.copilot").exists());
    std::fs::remove_file(store).unwrap();
    assert_eq!(world.run(&["init", "--yes"]).code, Some(0));
    // Hooks that were there already stay, with the record that removes them.
    world.write("home/.local/state/belay/belay.db", "no database at all, and long enough to be looked at");
    let with_status_line = world.run(&["init", "--yes", "--agent", "claude", "--status-line"]);
    assert_eq!(with_status_line.code, Some(1), "{with_status_line:?}");
    assert!(settings(&world).contains("hook claude-code") && !settings(&world).contains("statusLine"));
    assert_eq!(world.run(&["uninit", "--yes"]).code, Some(0));
    assert_eq!(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn hooks_and_plugin_at_once_are_mentioned() {
    let world = furnished();
    world.write("home/.claude/settings.json", "{\"enabledPlugins\": {\"belay@belay\": true}}");
    world.write("home/.copilot/settings.json", "{\"enabledPlugins\": {\"belay@belay\": true}}");
    world.write("home/.codex/config.toml", "[plugins.\"belay@belay\"]\nenabled = true\n");
    let output = world.run(&["init", "--yes"]).out;
    for agent in ["claude plugin uninstall", "copilot plugin uninstall"] {
        assert!(
            output.contains(&format!("the Belay plugin is installed too; keep one: {agent} belay@belay")),
            "{output}"
        );
    }
    assert!(output.contains("remove it: codex plugin remove belay@belay"), "{output}");
    let rows = world.run(&["doctor", "--json"]).json()["rows"].clone();
    let warned = rows.as_array().unwrap().iter().filter(|row| row["check"] == "hooks" && row["health"] == "warning");
    assert_eq!(warned.count(), 3, "{rows}");
}

#[test]
fn hooks_that_are_switched_off_are_mentioned() {
    let world = furnished();
    world.write("home/.claude/settings.json", "{\n  \"disableAllHooks\": true\n}\n");
    let output = world.run(&["init", "--yes", "--agent", "claude"]);
    assert!(output.out.contains("sets disableAllHooks; no hook runs until it is removed"), "{output:?}");
}

#[test]
fn an_installation_that_the_user_declines_is_not_a_success() {
    let world = World::alone();
    world.write("home/.claude/settings.json", "{}");
    let (mut terminal, line) = Terminal::new(40, 120);
    let child = start(world.command(["init", "--agent", "claude-code"]), line, None);
    terminal.shows("[Y/n] ");
    terminal.types("n\n");
    let shown = terminal.shows("Nothing was changed.");
    assert!(!shown.contains("supervised"), "{shown}");
    assert_eq!(end(child).code(), Some(1));
    assert_eq!(std::fs::read_to_string(world.path("home/.claude/settings.json")).unwrap(), "{}");
}
