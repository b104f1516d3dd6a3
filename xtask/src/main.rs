//! Development commands of the project: `cargo xtask <command>`.
//!
//! Plain std without dependencies, so that the first `cargo xtask` on a fresh machine starts within seconds. A command
//! that needs the product runs its binary.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]

mod agents;
mod bench;
mod browser;
mod fuzz;
mod install;
mod label;
mod links;
mod nextest;
mod prices;
mod record;
mod repository;
mod score;
mod shell;
mod soak;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
Development commands of the project.

Usage: cargo xtask <command> [options]

  test [SUITE...]      install what the tests need, run them, end with `N passed, M failed`
                       suites: fmt lint unit integration browser agents fuzz (default: all)
  fuzz [TARGET...]     fuzz every parser  [--seconds N, default 180]
  soak [NAME...]       run the long proofs: kill flood repeat reviews fuzz (default: all)
  score PATH           replay labelled sessions and print precision, recall and delay
                       --status: the status of sessions at labelled moments
                       --sensitivity PATH: every threshold one step looser and stricter, per source
                       --histories PATH: healthy sessions that would be interrupted, with the sentences
  label show FILE      print all turns of a session; see docs/dev/labels.md
                       add LABELS SESSION LABEL FIRST LAST NOTE: record a span
                       score LABELS DIR: which labelled spans the detectors find
  record moments [AGENT [SCENARIO]]
                       record labelled moments from the real CLIs, for `score --status`; needs tmux
  prices DATE FILE...  update the price table; see docs/dev/prices.md
  screenshots          take the pictures of docs/images with the browser of the tests
  bench [NAME...]      print tables of speed and memory; see bench/README.md
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let result = match command.as_str() {
        "test" => test::run(&rest),
        "fuzz" => fuzz::run(&rest),
        "soak" => soak::run(&rest),
        "bench" => bench::run(&rest),
        "score" => score::run(&rest),
        "label" => label::run(&rest),
        "record" => record::run(&rest),
        "prices" => prices::run(&rest),
        "screenshots" => browser::screenshots(),
        "" | "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(true)
        }
        other => Err(format!("unknown command `{other}`; `cargo xtask help` lists the commands")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
