//! `cargo xtask record moments`: records labelled moments from the real CLIs.

use std::path::PathBuf;
use std::process::Command;

use crate::shell;

const USAGE: &str =
    "usage: cargo xtask record moments [AGENT [SCENARIO]]; install the CLIs with `cargo xtask test agents`";

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let [what, chosen @ ..] = args else { return Err(USAGE.to_owned()) };
    if what != "moments" || chosen.len() > 2 {
        return Err(USAGE.to_owned());
    }
    if !shell::run(&mut shell::cargo(&["build", "--quiet", "-p", "belayer", "-p", "belay-agent-tests"]))? {
        return Err("cannot build belay and its recorder".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let programs = target.join("debug");
    let mut recorder = Command::new(programs.join("record-moments"));
    recorder.arg(shell::root().join("crates/core/tests/moments")).args(chosen);
    shell::run(recorder.env("BELAY_BIN", programs.join("belay")))
}
