//! The `belay` command.
//!
//! main reads the arguments, runs one command and turns how it ended into an exit status
//! ([`exit_status`] is the one table of those). Each command is a file in [`commands`]; all of them get a
//! [`context::Context`] and give back a [`error::CommandError`] at worst.

#[cfg(unix)]
mod args;
#[cfg(unix)]
mod backend;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod context;
#[cfg(unix)]
mod error;
#[cfg(unix)]
mod exit_status;
#[cfg(unix)]
mod format;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod progress_bar;

use std::process::ExitCode;

#[cfg(unix)]
use belay_hooks::process::HookArgs;

#[cfg(unix)]
fn main() -> ExitCode {
    // An agent reads a usage error as "deny", and waits for us at every tool call: hooks come before
    // anything that could fail or take its time.
    if let Some(args) = commands::hook::arguments("hook", std::env::args_os().skip(1)) {
        belay_hooks::process::run(&HookArgs::parse(args));
        return ExitCode::SUCCESS;
    }
    // A status bar shows whatever goes wrong, so nothing does.
    if let Some(args) = commands::hook::arguments("statusline", std::env::args_os().skip(1))
        && commands::statusline::main(args)
    {
        return ExitCode::SUCCESS;
    }
    let cli = <args::Cli as clap::Parser>::parse();
    let json = cli.global.json;
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => error.report(json).into(),
    }
}

/// What is missing, and what to do instead.
#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!(
        "belay: not on this system yet: hooks and the resident process need Unix sockets.\n\
         Run Belay inside WSL, next to the agents it watches."
    );
    ExitCode::FAILURE
}
