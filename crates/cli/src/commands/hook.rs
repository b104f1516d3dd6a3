//! `belay hook`, called by agents. `main` runs it before clap parses the arguments; this definition serves `--help`,
//! completions and the manual page.

use std::ffi::OsString;

use clap::Args;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Clone, Debug, Args)]
pub(crate) struct HookArgs {
    /// claude-code, codex, copilot, gemini, opencode, qwen or cursor (experimental); `plugin` for
    /// the agent that loaded Belay's plugin.
    agent: String,
    /// The event's name, for agents whose payloads do not carry it.
    event: Option<String>,
}

/// The arguments of `command`, which `main` runs before clap; `None` for other commands.
pub(crate) fn arguments(command: &str, args: impl Iterator<Item = OsString>) -> Option<std::vec::IntoIter<OsString>> {
    let mut before = Vec::new();
    let mut args = args;
    loop {
        let arg = args.next()?;
        match arg.to_str() {
            Some(name) if name == command => break,
            Some("--home" | "--user-config" | "--runtime-dir") => {
                before.push(arg);
                before.push(args.next()?);
            }
            Some(flag) if flag.starts_with('-') => before.push(arg),
            _ => return None,
        }
    }
    before.extend(args);
    Some(before.into_iter())
}

/// Reached only if clap finds the command, such as after `--set KEY=VALUE`.
pub(crate) fn run(context: &Context, args: &HookArgs) -> CommandResult {
    let HookArgs { agent, event } = args.clone();
    let paths = context.global.paths();
    belay_hooks::process::run(&belay_hooks::process::HookArgs { agent, event, paths, help: false });
    Ok(ExitStatus::Done)
}
