//! `belay allow`: "this is fine".

use belay_core::event::OperatorDecision;
use belay_ipc::DecideRequest;
use clap::Args;
use serde_json::json;

use super::{CommandResult, decide, explain};
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// A finding, an incident, or a session (then its newest finding).
    id: String,
    /// Why, in your words.
    #[arg(long, short = 'm', default_value = "", value_name = "TEXT")]
    note: String,
}

pub(crate) fn run(context: &Context, args: &AllowArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let row = explain::finding(&mut backend, &args.id)?;
    let finding = row.intervention.finding;
    let ask = DecideRequest {
        session: row.session,
        decision: OperatorDecision::Allow { finding: finding.id.clone() },
        note: args.note.clone(),
        by: decide::user(context),
    };
    let taken = backend.decide(&ask)?;
    if context.out.json {
        context.out.json(&json!({
            "committed": taken.committed, "finding": finding.id, "session": ask.session.to_string(),
        }))?;
    } else {
        context
            .out
            .line(format!("{} in {} does not count any more: {}", finding.pattern, ask.session, finding.sentence))?;
    }
    Ok(ExitStatus::Done)
}
