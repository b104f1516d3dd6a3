//! `belay explain`: why Belay stepped in, with the calls it rests on.

use belay_core::Finding;
use belay_core::effect::InterventionLevel;
use belay_store::{FindingRow, Store, StoreError};
use clap::Args;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::{local_time, money, pluralize};
use crate::output::single_line;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A finding, an incident, or a session (then its newest finding).
    id: String,
}

pub(crate) fn run(context: &Context, args: &ExplainArgs) -> CommandResult {
    let (_, row) = finding(context, &args.id)?;
    if context.out.json {
        context.out.json(&row)?;
        return Ok(ExitStatus::Done);
    }
    let done = match (row.intervention.rung, row.intervention.dry_run) {
        (_, true) => "recorded only (dry run)",
        (InterventionLevel::Notice, _) => "recorded",
        (InterventionLevel::Nudge, _) => "the agent was told",
        (InterventionLevel::Pause, _) => "the session was paused",
        (InterventionLevel::Kill, _) => "the session was killed",
    };
    for line in lines(&row.intervention.finding, &row.session.to_string(), done) {
        context.out.line(line)?;
    }
    context
        .out
        .info(format!("Is this fine? `belay allow {}` makes it never count again.", row.intervention.finding.id));
    Ok(ExitStatus::Done)
}

/// The finding meant by an id of its own, of an incident, or of a session.
pub(super) fn finding(context: &Context, id: &str) -> Result<(Box<dyn Store>, FindingRow), CommandError> {
    let Some(store) = context.store()? else { return Err(StoreError::NotFound(id.to_owned()).into()) };
    if let Some(row) = store.finding(id)? {
        return Ok((store, row));
    }
    if let Some(incident) = store.incident(id)? {
        let row = match &incident.finding {
            Some(finding) => store.finding(&finding.id)?,
            None => None,
        };
        return match row {
            Some(row) => Ok((store, row)),
            None => Err(CommandError::new(format!("incident {id} was a person's own decision: {}", incident.sentence))),
        };
    }
    let (store, key) = context.session(id).map_err(|error| {
        error.hint("`belay incidents --all` lists incidents, `belay show SESSION` the findings of a session")
    })?;
    match store.findings(&key, 1)?.pop() {
        Some(row) => Ok((store, row)),
        None => Err(CommandError::new(format!("nothing has been found about {key}"))),
    }
}

fn lines(finding: &Finding, session: &str, done: &str) -> Vec<String> {
    let mut lines = vec![single_line(&finding.sentence), String::new()];
    let mut fact = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            lines.push(format!("{name:<14}{}", single_line(value)));
        }
    };
    fact("session", session);
    fact("pattern", &format!("{}, occurrence {}", finding.pattern, finding.count));
    fact("done", done);
    fact("unchanged", &finding.unchanged);
    fact("progress", &finding.progress_would_be);
    let spent = &finding.spent;
    let cost = format!(
        "{}, {}, {}",
        pluralize(spent.calls, "call"),
        pluralize(spent.usage.total(), "token"),
        money(spent.cost_micros)
    );
    fact("cost so far", &cost);
    if !finding.evidence.is_empty() {
        lines.push(String::new());
    }
    for call in &finding.evidence {
        let what = single_line(&call.what);
        lines.push(format!("{}  call {:<5} {what}", local_time(call.at), call.call));
        if !call.outcome.trim().is_empty() {
            lines.push(format!("{:33}-> {}", "", single_line(&call.outcome)));
        }
    }
    lines
}
