//! `belay explain`: the reason for an intervention, with the calls it is based on, and for the status of a session.

use belay_core::effect::InterventionLevel;
use belay_core::format;
use belay_core::status::StatusSource;
use belay_core::{Finding, SessionKey};
use belay_ipc::views::{FindingView, SessionView};
use belay_ipc::{FindingRequest, FindingsRequest, IncidentsRequest};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::local_time;
use crate::output::single_line;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Finding, incident, or session (for its status and its newest finding).
    id: String,
}

pub(crate) fn run(context: &Context, args: &ExplainArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    if let Some(row) = by_id(&mut backend, &args.id)? {
        if context.out.json {
            context.out.json(&row)?;
            return Ok(ExitStatus::Done);
        }
        return print_finding(context, &row);
    }
    let session = resolve(&mut backend, &args.id)?;
    let view = backend.session(&session)?;
    let newest = backend.read(&FindingsRequest { session, limit: 1 })?.pop();
    if context.out.json {
        context.out.json(&json!({ "session": view.session, "status": view.status, "finding": newest }))?;
        return Ok(ExitStatus::Done);
    }
    for line in status_lines(&view) {
        context.out.line(line)?;
    }
    match newest {
        Some(row) => {
            context.out.line("\nnewest finding")?;
            print_finding(context, &row)
        }
        None => Ok(ExitStatus::Done),
    }
}

/// Which event or rule led to the status of a session.
fn status_lines(view: &SessionView) -> Vec<String> {
    let status = &view.status;
    let mut lines = vec![format!("{} is {}: {}", view.short, status.phrase(), single_line(&status.why)), String::new()];
    let source = match status.source {
        StatusSource::Decision => "decision",
        StatusSource::Hook => "hook",
        StatusSource::Proxy => "proxy",
        StatusSource::Transcript => "transcript",
        StatusSource::Process => "process table",
        StatusSource::Event => "another sensor",
    };
    lines.push(format!("{:<14}{}", "since", local_time(status.since)));
    lines.extend(status.until.map(|until| format!("{:<14}{}", "until", local_time(until))));
    let name = if status.is_by_rule() { "rule" } else { "event" };
    lines.push(format!("{name:<14}{}, by {source}", status.evidence));
    lines
}

fn print_finding(context: &Context, row: &FindingView) -> CommandResult {
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
    if let Some(found) = by_id(backend, id)? {
        return Ok(found);
    }
    let session = resolve(backend, id)?;
    let newest = backend.read(&FindingsRequest { session: session.clone(), limit: 1 })?.pop();
    newest.ok_or_else(|| CommandError::new(format!("session {session} has no findings")))
}

/// The finding with this id, or of the incident with this id.
fn by_id(backend: &mut Backend<'_>, id: &str) -> Result<Option<FindingView>, CommandError> {
    if let Some(found) = backend.read(&FindingRequest { id: id.to_owned() })? {
        return Ok(Some(found));
    }
    let incident = IncidentsRequest { id: Some(id.to_owned()), ..IncidentsRequest::default() };
    let Some(incident) = backend.read(&incident)?.pop() else { return Ok(None) };
    let finding = match &incident.finding {
        Some(finding) => backend.read(&FindingRequest { id: finding.id.clone() })?,
        None => None,
    };
    finding.map(Some).ok_or_else(|| {
        let why = format!("incident {id} has no finding; it was an operator's decision: {}", incident.sentence);
        CommandError::new(why)
    })
}

fn resolve(backend: &mut Backend<'_>, id: &str) -> Result<SessionKey, CommandError> {
    backend.resolve(id).map_err(|error| {
        error.hint("`belay incidents --all` lists incidents, `belay show SESSION` the findings of a session")
    })
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
