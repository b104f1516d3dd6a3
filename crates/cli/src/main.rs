//! The `belay` command.
//!
//! main reads the arguments, runs one command and turns how it ended into an exit status
//! ([`exit`] is the one table of those). Each command is a file in [`commands`]; all of them get a
//! [`context::Context`] and give back a [`error::CommandError`] at worst.

mod args;
mod backend;
mod bar;
mod commands;
mod context;
mod error;
mod exit;
mod output;
mod people;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // An agent reads a usage error as "deny", and waits for us at every tool call: hooks come before
    // anything that could fail or take its time.
    if let Some(args) = commands::hook::arguments("hook", std::env::args_os().skip(1)) {
        belay_hooks::thin::main(args);
        return ExitCode::SUCCESS;
    }
    // A status bar shows whatever goes wrong, so nothing does.
    if let Some(args) = commands::hook::arguments("statusline", std::env::args_os().skip(1))
        && commands::statusline::main(args)
    {
        return ExitCode::SUCCESS;
    }
    let cli = args::Cli::parse();
    let json = cli.global.json;
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => error.report(json).into(),
    }
}
