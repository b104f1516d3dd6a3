//! `belay explain`: the reason for an intervention, with the calls it is based on.

use belay_core::Finding;
use belay_core::effect::InterventionLevel;
use belay_core::format;
use belay_ipc::views::FindingView;
use belay_ipc::{FindingRequest, FindingsRequest, IncidentsRequest};
use clap::Args;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::local_time;
use crate::output::single_line;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Finding, incident, or session (for its newest finding).
    id: String,
}

pub(crate) fn run(context: &Context, args: &ExplainArgs) -> CommandResult {
    let row = finding(&mut Backend::open(context)?, &args.id)?;
    if context.out.json {
        context.out.json(&row)?;
        return Ok(ExitStatus::Done);
    }
    let done = match (row.intervention.level, row.intervention.dry_run) {
        (_, true) => "recorded only (dry run)",
        (InterventionLevel::Notice, _) => "recorded",
        (InterventionLevel::Nudge, _) => "the agent was nudged",
        (InterventionLevel::Pause, _) => "the session was paused",
        (InterventionLevel::Kill, _) => "the session was killed",
    };
    for line in lines(&row.intervention.finding, &row.session.to_string(), done) {
        context.out.line(line)?;
    }
    context.out.info(format!(
        "If this is acceptable, run `belay allow {}`: it no longer counts.",
        row.intervention.finding.id
    ));
    Ok(ExitStatus::Done)
}

/// The finding with this id, of the incident with this id, or the newest of the session with this name.
pub(super) fn finding(backend: &mut Backend<'_>, id: &str) -> Result<FindingView, CommandError> {
    if let Some(found) = backend.read(&FindingRequest { id: id.to_owned() })? {
        return Ok(found);
    }
    let incident = IncidentsRequest { id: Some(id.to_owned()), ..IncidentsRequest::default() };
    if let Some(incident) = backend.read(&incident)?.pop() {
        let finding = match &incident.finding {
            Some(finding) => backend.read(&FindingRequest { id: finding.id.clone() })?,
            None => None,
        };
        return finding.ok_or_else(|| {
            CommandError::new(format!(
                "incident {id} has no finding; it was an operator's decision: {}",
                incident.sentence
            ))
        });
    }
    let session = backend.resolve(id).map_err(|error| {
        error.hint("`belay incidents --all` lists incidents, `belay show SESSION` the findings of a session")
    })?;
    let newest = backend.read(&FindingsRequest { session: session.clone(), limit: 1 })?.pop();
    newest.ok_or_else(|| CommandError::new(format!("session {session} has no findings")))
}

fn lines(finding: &Finding, session: &str, done: &str) -> Vec<String> {
    let mut lines = vec![single_line(&finding.sentence).into_owned(), String::new()];
    let mut fact = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            lines.push(format!("{name:<14}{}", single_line(value)));
        }
    };
    fact("session", session);
    let denied = if finding.denied > 0 { format!(", {} of them denied", finding.denied) } else { String::new() };
    fact("pattern", &format!("{}, occurrence {}{denied}", finding.pattern, finding.count));
    fact("done", done);
    fact("unchanged", &finding.unchanged);
    fact("progress", &finding.progress_would_be);
    let spent = &finding.spent;
    let cost = format!(
        "{}, {}, {}",
        format::pluralize(spent.calls, "call"),
        format::tokens(spent.usage.total()),
        format::cost(spent.cost_micros, spent.unpriced_micros)
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
