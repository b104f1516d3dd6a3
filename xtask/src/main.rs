//! Chores of the project: `cargo xtask <chore>`.
//!
//! Everything here is std and a little JSON, so that the first `cargo xtask` on a fresh machine
//! starts within seconds. What needs the product runs the product.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what chores do")]

mod agents;
mod bench;
mod fuzz;
mod install;
mod score;
mod shell;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
Chores of the project.

Usage: cargo xtask <chore> [options]

  test [SUITE...]      install what the tests need, run them, end with `N passed, M failed`
                       suites: fmt lint unit integration agents fuzz (all of them by default)
  fuzz [TARGET...]     fuzz every parser  [--seconds N, default 180]
  score PATH           replay labelled sessions and print precision, recall and delay
  bench [NAME...]      print tables of speed and memory; see bench/README.md
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let result = match chore.as_str() {
        "test" => test::run(&rest),
        "fuzz" => fuzz::run(&rest),
        "bench" => bench::run(&rest),
        "score" => score::run(&rest),
        "" | "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(true)
        }
        other => Err(format!("there is no chore `{other}`; `cargo xtask help` lists them")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}
