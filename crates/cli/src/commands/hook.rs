//! `belay hook`: what agents call. It is recognised before clap sees the arguments (see `main`);
//! what stands here is for `--help`, completions and the manual.

use std::ffi::OsString;

use clap::Args;

use super::CommandResult;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// claude-code, codex, copilot, gemini, opencode, qwen or cursor (experimental); `plugin` for
    /// whichever agent has loaded Belay's plugin.
    agent: String,
    /// The event's name, for agents whose payloads do not carry it.
    event: Option<String>,
}

/// The arguments of a command that is recognised before clap; `None` when it is another one.
pub(crate) fn arguments(command: &str, args: impl Iterator<Item = OsString>) -> Option<std::vec::IntoIter<OsString>> {
    let mut before = Vec::new();
    let mut args = args;
    loop {
        let arg = args.next()?;
        match arg.to_str() {
            Some(word) if word == command => break,
            Some("--home") => {
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

/// Reached only by way of clap, which `main` does not take for hooks.
pub(crate) fn run(args: &HookArgs) -> CommandResult {
    let words = std::iter::once(&args.agent).chain(args.event.as_ref());
    belay_hooks::process::main(words.map(OsString::from));
    Ok(ExitStatus::Done)
}
