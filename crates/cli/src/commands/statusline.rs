//! `belay statusline`: one line for Claude Code's status bar. It never fails, because a status bar would show the error.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use belay_config::{EnvSnapshot, PathArgs, Paths};
use belay_core::session::ResumeRequires;
use belay_core::status::{StatusValue, WaitingFor};
use belay_core::{SessionKey, format};
use belay_ipc::views::SessionView;
use belay_store::{Access, StoreUrl};
use clap::Args;
use serde_json::Value;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct StatuslineArgs {
    /// Agent of the session.
    #[arg(long, default_value = belay_agents::claude_code::ID)]
    agent: String,
}

/// Maximum size of the input; Claude Code writes less.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;

/// Prints the line for any arguments. Returns `false` for `--help`, which clap handles.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.iter().any(|arg| matches!(arg.as_str(), "-h" | "--help")) {
        return false;
    }
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
        let joined = args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
        at.map(String::as_str).or(joined)
    };
    let path = |name: &str| value(name).map(PathBuf::from);
    let paths =
        PathArgs { home: path("--home"), user_config: path("--user-config"), runtime_dir: path("--runtime-dir") };
    print_line(value("--agent").unwrap_or(belay_agents::claude_code::ID), &paths);
    true
}

/// Reached only if clap parses the command, such as after `--set KEY=VALUE`.
pub(crate) fn run(context: &Context, args: &StatuslineArgs) -> CommandResult {
    print_line(&args.agent, &context.global.paths());
    Ok(ExitStatus::Done)
}

fn print_line(agent: &str, paths: &PathArgs) {
    let line = line(agent, paths).unwrap_or_else(|| "belay".to_owned());
    // Without a reader there is nothing to show.
    let _ = writeln!(std::io::stdout(), "{}", crate::output::single_line(&line));
}

fn line(agent: &str, paths: &PathArgs) -> Option<String> {
    // On a terminal no input would ever come.
    if std::io::stdin().is_terminal() {
        return None;
    }
    let mut input = Vec::new();
    std::io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut input).ok()?;
    let input: Value = serde_json::from_slice(&input).ok()?;
    let id = input.get("session_id")?.as_str()?;
    // The environment belongs to the agent, as that of a hook.
    let (mut env, _) = EnvSnapshot::for_hook();
    if paths.home.is_none() {
        env = env.with_home_of_user();
    }
    let paths = Paths::resolve_with(&env, paths).ok()?;
    let store = belay_store::open(&StoreUrl::local(paths.database()), Access::Read).ok()?;
    let key = SessionKey::new(belay_agents::canonical_id(agent), id);
    Some(summary(&belay_server::views::session_view(&*store, &key).ok()??))
}

/// Status, cost and interventions in one line. The status is the one that every list and page shows.
fn summary(view: &SessionView) -> String {
    let status = match (view.status.value, &view.held) {
        (StatusValue::Held, Some(held)) if held.resume_requires == ResumeRequires::Never => {
            return "belay: KILLED, start a new session".to_owned();
        }
        (StatusValue::Held, _) => return format!("belay: PAUSED, belay resume {}", view.short),
        _ => match (view.status.waiting_for, &view.waiting) {
            (Some(WaitingFor::Declared), Some(wait)) if !wait.what.is_empty() => format!("waiting for {}", wait.what),
            _ => view.status.label().to_owned(),
        },
    };
    let mut parts = vec![format!("belay: {status}"), format::pluralize(view.calls, "call")];
    if view.tokens > 0 {
        parts.push(format::tokens(view.tokens));
    }
    if view.cost_micros > 0 || view.unpriced_micros > 0 {
        parts.push(format::cost(view.cost_micros, view.unpriced_micros));
    }
    if view.nudges > 0 {
        parts.push(format::pluralize(view.nudges, "nudge"));
    }
    parts.join(" · ")
}
