//! `belay result`: how headless runs in this folder ended, for scripts.

use belay_hooks::summary::RESULT_FILE;
use clap::Args;
use serde_json::Value;

use super::Ended;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "With CI=true hooks write belay-result.json into the folder the agent works in.\n\
    Exit status 1 tells that a session was paused or killed.")]
pub(crate) struct ResultArgs {}

pub(crate) fn run(context: &Context, _args: &ResultArgs) -> Ended {
    let text = std::fs::read_to_string(RESULT_FILE).map_err(|error| {
        CommandError::new(format!("{RESULT_FILE} cannot be read")).cause(error).hint("it is written with CI=true only")
    })?;
    let result: Value = serde_json::from_str(&text)
        .map_err(|error| CommandError::new(format!("{RESULT_FILE} is no result")).cause(error))?;
    let status = result["status"].as_str().unwrap_or("unknown");
    if context.out.json {
        context.out.json(&result)?;
    } else {
        for session in result["sessions"].as_array().into_iter().flatten() {
            let word = |key: &str| session[key].as_str().unwrap_or("-").to_owned();
            let line = format!("{}  {}  {} calls", word("status"), word("session"), session["calls"]);
            context.out.line(crate::output::one_line(&line))?;
        }
    }
    Ok(if matches!(status, "paused" | "killed") { Exit::Failed } else { Exit::Done })
}
