//! Script files equal scripts of the builder, and errors are reported.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use super::{ErrorBody, Script};
use crate::action::Action;
use crate::answer::Usage;

const PLAY: &str = r#"
otherwise = { text = "enough" }
aside = "A title"
seed = 7

[[turn]]
shell = "cargo test"
say = "Let me look."
repeat = 5
usage = { input = 10, output = 2, cached = 1 }

[[turn]]
calls = [
  { read = "/w/a" },
  { write = { path = "/w/a", content = "x" } },
  { edit = { path = "/w/a", old = "x", new = "y" } },
  { patch = "*** Begin Patch" },
  { call = { name = "spawn", args = { n = 1 } } },
]

[[turn]]
error = { status = 429, message = "slow down", headers = { retry-after = "2" } }

[[turn]]
error = { status = 400, body = "plain words" }

[[turn]]
chant = { word = "again ", times = 1000 }
piece_delay_ms = 5
split = 1
drop_after = 10

[[turn]]
stream_error = { code = "overloaded_error", message = "busy" }
delay_ms = 20
hold_after = 0

[[branch]]
header = "x-claude-code-agent-id"
turn = [{ text = "from below" }]
"#;

fn play() -> Script {
    let mut play = Script::new()
        .seed(7)
        .otherwise("enough")
        .shell("cargo test")
        .with_text("Let me look.")
        .repeat(5)
        .usage(Usage { input: 10, output: 2, cached: 1 })
        .calls([
            Action::read("/w/a"),
            Action::write("/w/a", "x"),
            Action::edit("/w/a", "x", "y"),
            Action::Patch { patch: "*** Begin Patch".into() },
            Action::call("spawn", json!({"n": 1})),
        ])
        .error(429, "slow down")
        .header("retry-after", "2")
        .error(400, "")
        .body(ErrorBody::Text("plain words".into()))
        .repeat_text("again ", 1000)
        .piece_delay(Duration::from_millis(5))
        .split(1)
        .drop_after(10)
        .stream_error("overloaded_error", "busy")
        .delay(Duration::from_millis(20))
        .hold_after(0)
        .branch("x-claude-code-agent-id", Script::new().text("from below"));
    play.aside = "A title".into();
    play
}

#[test]
fn a_toml_script_equals_the_same_script_built_in_code() {
    assert_eq!(Script::from_toml(PLAY).expect("a script"), play());
}

#[test]
fn a_json_script_is_the_same_again() {
    let value: serde_json::Value = toml::from_str(PLAY).expect("TOML");
    assert_eq!(Script::from_json(&value.to_string()).expect("a script"), play());
}

#[test]
fn files_are_read_by_their_extension_and_faults_name_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let json = dir.path().join("play.json");
    std::fs::write(&json, r#"{"turn": [{"text": "hi"}]}"#).expect("written");
    assert_eq!(Script::load(&json).expect("a script"), Script::new().text("hi"));
    let toml = dir.path().join("play.toml");
    std::fs::write(&toml, "[[turn]]\n").expect("written");
    let error = Script::load(&toml).expect_err("an empty turn").to_string();
    assert!(error.starts_with(&toml.display().to_string()) && error.contains("turn 1: says nothing"), "{error}");
    let error = Script::load(&dir.path().join("none")).expect_err("no such file").to_string();
    assert!(error.starts_with("cannot read "), "{error}");
}

fn fault(toml: &str) -> String {
    Script::from_toml(toml).expect_err("a fault").to_string()
}

#[test]
fn mistakes_are_named() {
    let two = "[[turn]]\ntext = 'a'\n[[turn]]\nshell = 'ls'\ntext = 'b'\n";
    assert_snapshot!(fault(two), @"turn 2: has both `shell` and `text`; use `calls` for several calls in one turn");
    assert_snapshot!(fault("[[turn]]\nsay = 'a'\ntext = 'b'\n"), @"turn 1: `say` goes before a tool call or a stream_error; use `text` here");
    assert_snapshot!(fault("[[turn]]\ntext = 'b'\nsplit = 0\n"), @"turn 1: `split = 0` would never send a byte; use 1 or more");
    assert_snapshot!(fault("[[turn]]\nerror = { status = 99 }\n"), @"turn 1: `error.status = 99` is no final HTTP status; use 200 to 599");
    assert_snapshot!(fault("[[branch]]\nheader = 'x'\nturn = [{}]\n"), @r#"turn 1 of branch "x": says nothing; give it one of text, chant, shell, read, write, edit, patch, call, calls, error or stream_error"#);
    let unknown = fault("[[turn]]\nshel = 'ls'\n");
    assert!(unknown.contains("unknown field `shel`"), "{unknown}");
}
