//! `belay run` before the program starts: dry runs and errors.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::run::{Leaves, with_program};
use crate::world::World;

#[test]
fn a_dry_run_shows_everything_but_secrets_and_starts_nothing() {
    let (world, program) = with_program("claude", "echo started >> ran.txt");
    let world = world.var("ANTHROPIC_BASE_URL", "https://llm.corp/anthropic");
    let shown =
        world.run(&["run", "--dry-run", "--json", "claude", "-p", "Use sk-ant-api03-AbCdEf0123456789AbCdEf0123456789"]);
    let plan = shown.json();
    assert_eq!(plan["program"], program.display().to_string());
    assert_eq!(plan["upstreams"][0]["url"], "https://llm.corp/anthropic");
    assert!(plan["env"]["ANTHROPIC_BASE_URL"].as_str().unwrap().contains("/s/claude-code:"), "{plan}");
    assert!(!shown.out.contains("AbCdEf0123456789AbCdEf"), "{}", shown.out);
    let plain = world.run(&["run", "--dry-run", "--no-hooks", "--no-proxy", "claude"]);
    assert!(!plain.out.contains("--settings") && !plain.out.contains("ANTHROPIC_BASE_URL"), "{}", plain.out);
    assert_eq!(world.run(&["status", "--json"]).json()["running"], false);
    assert!(!world.path("home/code/app/ran.txt").exists());
}

#[test]
fn what_is_not_there_is_said_before_anything_is_started() {
    let (world, _) = with_program("thing", "true");
    let missing = world.run(&["run", "codex"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("codex is not in PATH") && missing.err.contains("install Codex,"), "{missing:?}");
    assert_eq!(world.run(&["status", "--json"]).json()["running"], false);
    let bad = world.run(&["run", "--budget", "lots", "thing"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let (world, _) = with_program("thing", "true");
    let world = world.var("ANTHROPIC_BASE_URL", "https://ada:hunter22@llm.corp/anthropic");
    let args = ["thing", "--api-key", "s3same-open", "--password=0pen-sesame"];
    for format in ["--json", "--quiet"] {
        let shown = world.run(&[&["run", "--dry-run", format], &args[..]].concat());
        for secret in ["hunter22", "s3same-open", "0pen-sesame"] {
            assert!(!shown.out.contains(secret), "{shown:?}");
        }
        assert!(shown.out.contains("--api-key") && shown.out.contains("[redacted:secret]"), "{shown:?}");
    }
}

#[test]
fn what_a_dry_run_shows_is_a_command_for_the_shell() {
    let (world, _) = with_program("thing", r#"printf '%s|' "$OPENAI_BASE_URL" "$@""#);
    let shown = world.run(&["run", "--dry-run", "thing", "two words", "", "it's", "--", "$HOME"]);
    let pasted = world.program("sh").args(["-c", &shown.out]).output().unwrap();
    let out = String::from_utf8(pasted.stdout).unwrap();
    assert!(out.starts_with("http://127.0.0.1:") && out.ends_with("|two words||it's|--|$HOME|"), "{out}");
}

#[test]
fn an_option_we_do_not_know_is_no_command() {
    let (world, _) = with_program("thing", "true");
    let unknown = world.run(&["run", "--bugdet", "5usd", "thing"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("'--bugdet'") && unknown.err.contains("'--budget'"), "{unknown:?}");
    let empty = world.run(&["run", ""]);
    assert!(empty.code == Some(2) && empty.err.contains("name a command to run"), "{empty:?}");
}

#[test]
fn what_cannot_be_run_is_told_for_what_it_is() {
    let world = World::new();
    let file = world.write("notes.txt", "text");
    for (command, why) in [
        (file.to_str().unwrap(), "is not executable"),
        (world.path("home").to_str().unwrap(), "is a directory"),
        ("./nothing", "./nothing does not exist"),
        ("nothing", "nothing is not in PATH"),
    ] {
        let refused = world.run(&["run", command]);
        assert!(refused.code == Some(1) && refused.err.contains(why), "{refused:?}");
    }
    let gone = world.path("home/code/gone");
    std::fs::create_dir(&gone).unwrap();
    let mut shell = world.program("sh");
    shell.args(["-c", "rmdir ../gone && exec \"$0\" run true", env!("CARGO_BIN_EXE_belay")]).current_dir(&gone);
    let refused = String::from_utf8(shell.output().unwrap().stderr).unwrap();
    assert!(refused.contains("the current directory") && refused.contains("change to another"), "{refused}");
    assert_eq!(world.run(&["status", "--json"]).json()["running"], false);
}

#[test]
fn a_program_that_could_not_be_started_leaves_no_session_behind() {
    let (world, program) = with_program("thing", "#!/nowhere/interpreter");
    let _leaves = Leaves(&world);
    let failed = world.run(&["run", "thing"]);
    assert_eq!(failed.code, Some(1));
    let what = format!("cannot start {}", program.display());
    assert!(failed.err.contains(&what) && failed.err.contains("its first line"), "{failed:?}");
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"][0]["state"], "ended", "{sessions}");
    std::fs::write(&program, "echo hello\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(world.run(&["run", "thing"]).err.contains("#!/bin/sh"), "how to fix a script without an interpreter");
}

#[test]
fn a_home_that_cannot_be_written_to_is_named() {
    let (world, _) = with_program("thing", "true");
    let _leaves = Leaves(&world);
    let file = world.write("file", "no directory").display().to_string();
    let refused = world.run(&["run", "--home", &file, "thing"]);
    assert!(refused.err.contains(&format!("cannot use {file}: it is not a directory")), "{refused:?}");
    assert!(refused.err.contains("--home"), "{refused:?}");
    world.write("home/.local/state/belay/runs", "in the way");
    let refused = world.run(&["run", "thing"]);
    assert!(refused.code == Some(1) && refused.err.contains("/belay/runs/"), "{refused:?}");
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(0), "nothing has begun: {sessions}");
}

#[test]
fn an_invalid_configuration_is_reported_and_does_not_prevent_a_run() {
    let (world, _) = with_program("thing", "true");
    world.write("home/.config/belay/config.toml", "[serve]\nlisten = 12\n");
    let _leaves = Leaves(&world);
    let ran = world.run(&["run", "thing"]);
    assert!(ran.code == Some(0) && ran.err.contains("config.toml:2"), "{ran:?}");
    world.write("home/.config/belay/config.toml", "");
    world.write("home/code/app/.belay.toml", "[serve]\nlisten = 12\n");
    let ran = world.run(&["run", "thing"]);
    assert!(
        ran.code == Some(0) && ran.err.contains(".belay.toml"),
        "an invalid project file does not prevent the start: {ran:?}"
    );
}

#[test]
fn a_home_of_its_own_is_that_of_the_agents_hooks_too() {
    let (world, _) = with_program("thing", r#"cd / && "$BELAY" status --json"#);
    let world = world.var("BELAY", env!("CARGO_BIN_EXE_belay"));
    let by_flag = world.run(&["run", "--quiet", "--home", "elsewhere", "thing"]);
    let elsewhere = world.path("home/code/app/elsewhere").canonicalize().unwrap();
    assert_eq!(by_flag.json()["state"], elsewhere.to_str().unwrap(), "{by_flag:?}");
    let world = world.var("BELAY_HOME", "elsewhere");
    let _leaves = Leaves(&world);
    let by_variable = world.run(&["run", "--quiet", "thing"]);
    assert_eq!(by_variable.json()["resident"]["pid"], by_flag.json()["resident"]["pid"]);
    world.run(&["stop"]);
    assert_eq!(world.run(&["run", "--quiet", "thing"]).json()["running"], true);
}

#[test]
fn a_setting_that_does_not_apply_to_one_run_is_refused() {
    let (world, _) = with_program("thing", "true");
    let refused = world.run(&["run", "--set", "serve.idle_exit=1h", "thing"]);
    assert!(refused.code == Some(2) && refused.err.contains("belay config set KEY VALUE"), "{refused:?}");
    let refused = world.run(&["run", "--set", "detect.no_such_key=1", "thing"]);
    assert!(refused.code == Some(1) && refused.err.contains("detect.no_such_key"), "{refused:?}");
}

#[test]
fn programs_are_found_without_a_path() {
    let world = World::new().var("BELAY_LISTEN", "127.0.0.1:0");
    let _leaves = Leaves(&world);
    let ran = world.command(["run", "--quiet", "true"]).env_remove("PATH").status().unwrap();
    assert!(ran.success());
}

#[test]
fn nothing_is_said_to_somebody_who_has_read_enough() {
    let (world, _) = with_program("thing", "true");
    let mut command = world.command(["run", "--dry-run", "thing"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}
