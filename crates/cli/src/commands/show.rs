//! `belay show`: shows one session in detail.

use belay_clock::now;
use belay_core::Timestamp;
use belay_core::format;
use belay_core::session::ResumeRequires;
use belay_ipc::views::SessionView;
use belay_ipc::{FindingsRequest, IncidentsRequest, NotesRequest};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::{local_time, relative_future, relative_past};
use crate::output::single_line;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Session: any unique prefix of `agent:id` or of the agent's own id.
    id: String,
}

/// Maximum number of rows per list.
const MAX_ROWS: usize = 10;

pub(crate) fn run(context: &Context, args: &ShowArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(&args.id)?;
    let view = backend.session(&session)?;
    let incidents = IncidentsRequest { session: Some(session.clone()), closed: true, limit: MAX_ROWS, id: None };
    let incidents = backend.read(&incidents)?;
    let findings = backend.read(&FindingsRequest { session: session.clone(), limit: MAX_ROWS })?;
    let notes = backend.read(&NotesRequest { session, limit: MAX_ROWS })?;
    if context.out.json {
        context.out.json(&json!({ "session": view, "incidents": incidents, "findings": findings, "notes": notes }))?;
        return Ok(ExitStatus::Done);
    }
    let now = now();
    for (name, value) in facts(&view, now) {
        context.out.line(format!("{name:<11}{}", single_line(&value)))?;
    }
    section(
        context,
        "Incidents",
        incidents.iter().map(|incident| {
            format!(
                "{}  {}  {}  {}",
                incident.id,
                incident.state,
                relative_past(incident.opened_at, now),
                incident.sentence
            )
        }),
    )?;
    section(
        context,
        "Findings",
        findings.iter().map(|row| {
            let finding = &row.intervention.finding;
            format!("{}  {}  {}  {}", finding.id, finding.pattern, relative_past(finding.at, now), finding.sentence)
        }),
    )?;
    section(
        context,
        "Notes",
        notes.iter().map(|note| {
            let by = note.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("{}{by}: {}", relative_past(note.at, now), note.text)
        }),
    )?;
    Ok(ExitStatus::Done)
}

fn facts(view: &SessionView, now: Timestamp) -> Vec<(&'static str, String)> {
    let mut facts = vec![("session", view.session.clone()), ("status", status(view, now)), ("state", state(view, now))];
    let optional = [
        ("parent", &view.parent),
        ("project", &view.project),
        ("directory", &view.cwd),
        ("branch", &view.branch),
        ("task", &view.task),
        ("model", &view.model),
        ("version", &view.agent_version),
        ("transcript", &view.transcript),
    ];
    facts.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    facts.push(("started", format!("{} ({})", local_time(view.started_at), relative_past(view.started_at, now))));
    facts.push(("last event", format!("{} ({})", local_time(view.last_at), relative_past(view.last_at, now))));
    let (calls, errors) = (format::pluralize(view.calls, "call"), format::pluralize(view.errors, "error"));
    let (edits, turns) = (format::pluralize(view.edits, "file change"), format::pluralize(view.human_turns, "prompt"));
    facts.push(("activity", format!("{calls}, {errors}, {edits}, {turns}")));
    let cost = format::cost(view.cost_micros, view.unpriced_micros);
    let unpriced = view.unpriced_model.as_ref().map_or_else(String::new, |model| format!(" ({model} has no price)"));
    facts.push(("spent", format!("{}, {cost}{unpriced}", format::tokens(view.tokens))));
    let budget = [view.budget.tokens.map(format::tokens), view.budget.cost_micros.map(format::dollars_or_dash)];
    let budget: Vec<String> = budget.into_iter().flatten().collect();
    if !budget.is_empty() {
        facts.push(("budget", budget.join(", ")));
    }
    if view.sub_agents.tokens + view.sub_agents.calls > 0 {
        let sub = &view.sub_agents;
        let text = format!(
            "{}, {}, {}",
            format::pluralize(sub.calls, "call"),
            format::tokens(sub.tokens),
            format::cost(sub.cost_micros, sub.unpriced_micros)
        );
        facts.push(("sub-agents", text));
    }
    let since = &view.since_progress;
    let (calls, tokens) = (format::pluralize(since.sum.calls, "call"), format::tokens(since.sum.tokens));
    facts.push(("progress", format!("{}; {calls} and {tokens} since", relative_past(since.at, now))));
    if let Some(wait) = &view.waiting {
        facts.push(("waiting", format!("for {} since {}", wait.what, relative_past(wait.since, now))));
    }
    facts
}

fn status(view: &SessionView, now: Timestamp) -> String {
    let status = &view.status;
    let until = status.until.map_or_else(String::new, |until| format!(" until {}", local_time(until)));
    format!("{}{until}, since {}: {}", status.label(), relative_past(status.since, now), status.why)
}

fn state(view: &SessionView, now: Timestamp) -> String {
    let Some(held) = &view.held else { return view.state.to_string() };
    let how = match (held.until, held.resume_requires) {
        (Some(until), _) => format!("resumes {}", relative_future(until, now)),
        (None, ResumeRequires::Plan) => "needs a new plan".to_owned(),
        (None, ResumeRequires::Person) => format!("resume with `belay resume {}`", view.short),
        (None, ResumeRequires::Never) => "permanently".to_owned(),
    };
    format!("{} since {}; {how}", view.state, relative_past(held.since, now))
}

fn section(context: &Context, title: &str, lines: impl Iterator<Item = String>) -> std::io::Result<()> {
    for (index, line) in lines.enumerate() {
        if index == 0 {
            context.out.line(format!("\n{title}"))?;
        }
        context.out.line(format!("  {}", single_line(&line)))?;
    }
    Ok(())
}
