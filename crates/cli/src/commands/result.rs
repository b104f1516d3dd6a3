//! `belay result`: how headless runs in this folder ended, for scripts.

use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use belay_hooks::session_summary::{self, RESULT_FILE};
use clap::Args;
use serde_json::Value;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
#[command(after_help = "With CI=true hooks write belay-result.json into the folder the agent works in.\n\
    Exit status 4 tells that a session was paused or killed and is still held; 1, that there is no result.")]
pub(crate) struct ResultArgs {
    /// The folder the agent worked in.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

pub(crate) fn run(context: &Context, args: &ResultArgs) -> CommandResult {
    let file = args.folder.join(RESULT_FILE);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        CommandError::new(format!("{} cannot be read", file.display())).cause(error).hint(
            "hooks write it with CI=true only, when a session is held or ends; are they installed (`belay init`)?",
        )
    })?;
    let result: Value = serde_json::from_str(&text)
        .map_err(|error| CommandError::new(format!("{} is no result", file.display())).cause(error))?;
    let status = result["status"].as_str().unwrap_or("unknown");
    if context.out.json {
        context.out.json(&result)?;
    } else {
        for session in result["sessions"].as_array().into_iter().flatten() {
            let word = |key: &str| session[key].as_str().unwrap_or("-").to_owned();
            let line = format!("{}  {}  {} calls", word("status"), word("session"), session["calls"]);
            context.out.line(crate::output::single_line(&line))?;
        }
    }
    Ok(if matches!(status, "paused" | "killed") { ExitStatus::Held } else { ExitStatus::Done })
}

/// How `belay run` ends in CI: the result is written, whatever sensors there were, and an agent that
/// ends well though it was held has not done its work.
pub(super) fn of_run(context: &Context, session: Option<&SessionKey>, folder: &Path, exit: ExitStatus) -> ExitStatus {
    if !belay_hooks::process::is_ci(&context.env) {
        return exit;
    }
    let row = session.and_then(|key| context.store().ok()??.session(key).ok()?);
    let Some(row) = row else { return exit };
    if let Err(error) = session_summary::write_result(folder, &row) {
        context.out.warn(&format!("{RESULT_FILE} could not be written: {error}"), None);
    }
    let held = row.state.is_paused() || row.state.is_killed();
    if !held || exit.code() != 0 {
        return exit;
    }
    context.out.info(format!("{} is held; `belay explain {0}` tells why.", row.key));
    ExitStatus::Held
}
