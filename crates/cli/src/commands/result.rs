//! `belay result`: shows how headless runs in a directory ended, for scripts.

use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use belay_hooks::session_summary::{self, MAX_RESULT_BYTES, RESULT_FILE};
use clap::Args;
use serde_json::Value;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
#[command(after_help = "If CI=true, hooks write belay-result.json into the agent's working directory.\n\
    Exit status 4: a session was paused or killed and is still held; 1: no result exists.\n\n\
    Examples:\n  belay result\n  belay result --json .")]
pub(crate) struct ResultArgs {
    /// Working directory of the agent.
    #[arg(default_value = ".")]
    dir: PathBuf,
}

pub(crate) fn run(context: &Context, args: &ResultArgs) -> CommandResult {
    let file = args.dir.join(RESULT_FILE);
    let text = belay_fs::read_regular_text(&file, belay_fs::Links::Refuse, MAX_RESULT_BYTES).map_err(|error| {
        CommandError::new(format!("cannot read {}", file.display()))
            .cause(error)
            .hint("hooks write it if CI=true, when a session is held or ends; install them with `belay init`")
    })?;
    let result: Value = serde_json::from_str(&text)
        .map_err(|error| CommandError::new(format!("invalid result file {}", file.display())).cause(error))?;
    let status = result["status"].as_str().unwrap_or("unknown");
    if context.out.json {
        context.out.json(&result)?;
    } else {
        for session in result["sessions"].as_array().into_iter().flatten() {
            let text = |key: &str| session[key].as_str().unwrap_or("-").to_owned();
            let line = format!("{}  {}  {} calls", text("status"), text("session"), session["calls"]);
            context.out.line(crate::output::single_line(&line))?;
        }
    }
    Ok(if matches!(status, "paused" | "killed") { ExitStatus::Held } else { ExitStatus::Done })
}

/// The status of `belay run`. A held agent has not done its work, and many show nothing and exit with 0: prints the reason
/// and returns [`ExitStatus::Held`]. In CI, also writes the result for every kind of sensor.
pub(super) fn of_run(context: &Context, session: Option<&SessionKey>, dir: &Path, exit: ExitStatus) -> ExitStatus {
    let Some(store) = context.store().ok().flatten() else { return exit };
    let row = session.and_then(|key| store.session(key).ok()?);
    let Some(row) = row else { return exit };
    if context.env.is_ci()
        && let Err(error) = session_summary::write_result(dir, &row)
    {
        context.out.warn(&format!("cannot write {RESULT_FILE}: {error}"), None);
    }
    let state = match row.state.effective() {
        state if state.is_killed() => "killed",
        state if state.is_paused() => "paused",
        _ => return exit,
    };
    let incident = row.details.incident.as_deref().and_then(|id| store.incident(id).ok()?);
    let reason = incident.map_or_else(String::new, |incident| format!(" {}", incident.sentence));
    let next = if state == "paused" { "belay resume" } else { "belay explain" };
    let reason = format!("Belay {state} this session (`{next} {}`).{reason}", row.key);
    match context.out.json {
        true => drop(CommandError::new(reason).report(true)),
        false => context.out.notice(&reason),
    }
    ExitStatus::Held
}
