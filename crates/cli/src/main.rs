//! The `belay` command.
//!
//! `main` parses the arguments, runs one command and maps its result to an exit status ([`exit_status`]). Each command
//! is a file in [`commands`]. It receives a [`context::Context`] and fails with an [`error::CommandError`].

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
mod operator;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod progress_bar;

use std::process::ExitCode;

#[cfg(unix)]
use belay_hooks::process::HookArgs;

#[cfg(unix)]
fn main() -> ExitCode {
    // Agents wait for the hook at every tool call and treat a usage error as "deny", so hooks run before anything that
    // is slow or can fail.
    if let Some(args) = commands::hook::arguments("hook", std::env::args_os().skip(1)) {
        belay_hooks::process::run(&HookArgs::parse(args));
        return ExitCode::SUCCESS;
    }
    // A status bar would show an error message, so this command never fails.
    if let Some(args) = commands::hook::arguments("statusline", std::env::args_os().skip(1))
        && commands::statusline::main(args)
    {
        return ExitCode::SUCCESS;
    }
    let cli = args::Cli::from_process();
    let json = cli.global.json;
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => error.report(json).into(),
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!(
        "Error: Belay does not run on this system: hooks and the resident process need Unix sockets\n\
         Hint: run Belay inside WSL, on the same system as your agents"
    );
    ExitCode::FAILURE
}
