//! `belay statusline`: one line for Claude Code's status bar. It never fails, because a status bar would show the error.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use belay_config::{EnvSnapshot, Paths};
use belay_core::format;
use belay_core::{SessionKey, SessionState};
use belay_store::session::SessionRow;
use belay_store::{Access, StoreUrl};
use clap::Args;
use serde_json::Value;

use super::CommandResult;
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
    print_line(value("--agent").unwrap_or(belay_agents::claude_code::ID), value("--home").map(Path::new));
    true
}

/// Reached only if clap parses the command, such as after `--set KEY=VALUE`.
pub(crate) fn run(args: &StatuslineArgs) -> CommandResult {
    print_line(&args.agent, None);
    Ok(ExitStatus::Done)
}

fn print_line(agent: &str, home: Option<&Path>) {
    let line = line(agent, home).unwrap_or_else(|| "belay".to_owned());
    // Without a reader there is nothing to show.
    let _ = writeln!(std::io::stdout(), "{}", crate::output::single_line(&line));
}

fn line(agent: &str, home: Option<&Path>) -> Option<String> {
    // On a terminal no input would ever come.
    if std::io::stdin().is_terminal() {
        return None;
    }
    let mut input = Vec::new();
    std::io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut input).ok()?;
    let input: Value = serde_json::from_slice(&input).ok()?;
    let id = input.get("session_id")?.as_str()?;
    let env = EnvSnapshot::from_process();
    let paths = Paths::resolve(&env, home).ok()?;
    let store = belay_store::open(&StoreUrl::local(paths.database()), Access::Read).ok()?;
    let row = store.session(&SessionKey::new(belay_agents::canonical_id(agent), id)).ok()??;
    let short = store.short_names(std::slice::from_ref(&row.key), 6).ok().and_then(|names| names.into_iter().next());
    Some(summary(&row, short.as_deref().unwrap_or(id)))
}

/// State, cost and interventions in one line.
fn summary(row: &SessionRow, short: &str) -> String {
    match row.state.effective() {
        SessionState::Paused { .. } => return format!("belay: PAUSED, belay resume {short}"),
        SessionState::Killed { .. } => return "belay: KILLED, start a new session".to_owned(),
        _ => {}
    }
    let counters = &row.details.counters;
    let mut parts = vec![format!("belay: {}", format::pluralize(counters.calls, "call"))];
    let tokens = row.details.spent.usage.total();
    if tokens > 0 {
        parts.push(format::tokens(tokens));
    }
    let spent = &row.details.spent;
    if spent.max_cost_micros() > 0 {
        parts.push(format::cost(spent.cost_micros, spent.unpriced_micros));
    }
    if counters.nudges > 0 {
        parts.push(format::pluralize(counters.nudges, "nudge"));
    }
    if let Some(wait) = &row.details.waiting {
        parts.push(format!("waiting for {}", crate::output::single_line(&wait.what)));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use belay_core::Timestamp;
    use belay_core::effect::Spend;
    use belay_core::event::Usage;
    use belay_core::session::ResumeCondition;
    use belay_store::SessionId;
    use belay_store::session::SessionDetails;

    use super::*;

    #[test]
    fn shows_counts_and_the_pause() {
        let mut details = SessionDetails::default();
        details.counters.calls = 34;
        details.counters.nudges = 1;
        details.spent.usage = Usage { input: 120_000, ..Usage::default() };
        let key = SessionKey::new("claude-code", "abcdef123");
        let mut row = SessionRow {
            id: SessionId(1),
            key,
            parent: None,
            version: 1,
            state: SessionState::Active,
            descendants: Spend::default(),
            details,
        };
        insta::assert_snapshot!(summary(&row, "claude-code:abcdef"), @"belay: 34 calls · 120k tokens · 1 nudge");
        row.state = SessionState::Paused {
            incident: "i".into(),
            since: Timestamp::UNKNOWN,
            until: None,
            gate: ResumeCondition::Operator,
        };
        insta::assert_snapshot!(summary(&row, "claude-code:abcdef"), @"belay: PAUSED, belay resume claude-code:abcdef");
    }
}
