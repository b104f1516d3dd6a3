//! Help, schemas, completions, the manual.

use crate::world::World;

/// Names and summaries of the commands in `belay --help`.
fn commands(help: &str) -> Vec<(&str, &str)> {
    let groups = help.split("Supervise agents:\n").nth(1).unwrap().split("Options:\n").next().unwrap();
    groups.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' ')).collect()
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = World::new().run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for (name, summary) in commands(&help.out) {
        assert!(!summary.is_empty(), "{name} has no summary");
    }
    insta::assert_snapshot!(help.out.split("Exit status:").nth(1).unwrap(), @r"
    0  success; also `serve` if it already runs, and `stop` if nothing runs
    1  failure; the message names the cause and what to do
    2  usage error
    3  partial success: some of the input was refused (`events post`)
    4  a session was paused or killed (`run`, `exec`, `result`)
    5  needs attention: a login, a permission, a usage limit (`exec`), a decision (`review`)
    6  cancelled (`exec`, `review`)
    `run` exits with the status of the program, or with 4 if its session is held
    ");
    assert_eq!(World::new().run(&[]).code, Some(2), "help without a command is a usage error");
}

#[test]
fn the_json_reference_lists_every_command() {
    let reference = include_str!("../../../../docs/reference/json.md");
    let help = World::new().run(&["--help"]).out;
    for (name, _) in commands(&help) {
        let only_text = ["help", "completions", "man"].contains(&name);
        assert!(only_text || reference.contains(&format!("`{name}")), "{name} is missing in docs/reference/json.md");
    }
}

#[test]
fn every_schema_is_json_schema() {
    let world = World::new();
    for shape in ["event", "decision", "config", "session", "incident", "finding", "alert"] {
        let schema = world.run(&["schema", shape]).json();
        assert!(schema["$schema"].as_str().is_some_and(|text| text.contains("json-schema.org")), "{shape}");
        assert!(schema.get("properties").is_some() || schema.get("oneOf").is_some(), "{shape}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(world.run(&["completions", shell]).out.contains("belay"), "{shell}");
    }
    assert!(world.run(&["man"]).out.contains(".TH belay 1"));
    let dir = world.path("man");
    world.run(&["man", "--out", dir.to_str().unwrap()]);
    assert!(dir.join("belay-resume.1").exists());
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let world = World::new();
    let mut child = world.command(["schema", "event"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn everything_moves_with_home() {
    let world = World::new();
    let home = world.path("elsewhere");
    let home = home.to_str().unwrap();
    let event = crate::world::lines(&[crate::world::call("e1", "abc", "ls")]);
    world.run_with(&["--home", home, "events", "post"], &event);
    world.run(&["--home", home, "config", "set", "log.level", "debug"]);
    assert!(world.path("elsewhere/belay.db").exists());
    assert!(world.path("elsewhere/config.toml").exists());
    assert!(!world.state().exists());
    let world = world.var("BELAY_HOME", home);
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().len(), 1);
}
