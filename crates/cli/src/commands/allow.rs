//! `belay allow`: marks a finding as acceptable.

use belay_core::event::OperatorDecision;
use belay_ipc::DecideRequest;
use clap::Args;
use serde_json::json;

use super::{CommandResult, decide, explain};
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// Finding, incident, or session (for its newest finding).
    id: String,
    /// Reason; stored with the session.
    #[arg(long, short = 'm', default_value = "", value_name = "TEXT")]
    note: String,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &AllowArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let row = explain::finding(&mut backend, &args.id)?;
    let finding = row.intervention.finding;
    let caller = require_operator(context, args.operator, "allow", Some(&row.session))?;
    let decision = OperatorDecision::Allow { finding: finding.id.clone() };
    let request =
        DecideRequest::new(row.session, decision).note(&args.note).by(decide::user(context)).caller(Some(caller));
    let outcome = backend.decide(&request)?;
    if context.out.json {
        context.out.json(&json!({
            "committed": outcome.committed, "finding": finding.id, "session": request.session.to_string(),
        }))?;
    } else {
        context
            .out
            .line(format!("{} no longer counts in {}: {}", finding.pattern, request.session, finding.sentence))?;
    }
    Ok(ExitStatus::Done)
}
