//! `belay show`: everything about one session.

use belay_core::Time;
use belay_server::view::{IncidentView, SessionView};
use belay_store::{IncidentQuery, Store, StoreError};
use clap::Args;
use serde_json::json;

use super::Ended;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::one_line;
use crate::people::{ago, ahead, clock, money, now, several};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The session: any unique beginning of `agent:id` or of the agent's own id.
    id: String,
}

/// Rows of each list shown.
const SHOWN: usize = 10;

pub(crate) fn run(context: &Context, args: &ShowArgs) -> Ended {
    let (store, key) = context.session(&args.id)?;
    let view = SessionView::one(&store, &key)?.ok_or_else(|| StoreError::NotFound(args.id.clone()))?;
    let incidents = store.incidents(&IncidentQuery { session: Some(key.clone()), closed: true, limit: SHOWN })?;
    let incidents: Vec<IncidentView> = incidents.into_iter().map(IncidentView::from).collect();
    let findings = store.findings(&key, SHOWN)?;
    let notes = store.notes(&key, SHOWN)?;
    if context.out.json {
        context.out.json(&json!({ "session": view, "incidents": incidents, "findings": findings, "notes": notes }))?;
        return Ok(Exit::Done);
    }
    let now = now();
    for (name, value) in facts(&view, now) {
        context.out.line(format!("{name:<11}{}", one_line(&value)))?;
    }
    section(
        context,
        "Incidents",
        incidents.iter().map(|incident| {
            format!("{}  {}  {}  {}", incident.id, incident.state, ago(incident.opened_at, now), incident.sentence)
        }),
    )?;
    section(
        context,
        "Findings",
        findings.iter().map(|row| {
            let finding = &row.intervention.finding;
            format!("{}  {}  {}  {}", finding.id, finding.pattern, ago(finding.at, now), finding.sentence)
        }),
    )?;
    section(
        context,
        "Notes",
        notes.iter().map(|note| {
            let by = note.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("{}{by}: {}", ago(note.at, now), note.text)
        }),
    )?;
    Ok(Exit::Done)
}

fn facts(view: &SessionView, now: Time) -> Vec<(&'static str, String)> {
    let mut facts = vec![("session", view.session.clone()), ("state", state(view, now))];
    let optional = [
        ("parent", &view.parent),
        ("project", &view.project),
        ("folder", &view.cwd),
        ("branch", &view.branch),
        ("task", &view.task),
        ("model", &view.model),
        ("version", &view.agent_version),
        ("transcript", &view.transcript),
    ];
    facts.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    facts.push(("started", format!("{} ({})", clock(view.started_at), ago(view.started_at, now))));
    facts.push(("last event", format!("{} ({})", clock(view.last_at), ago(view.last_at, now))));
    let (calls, errors) = (several(view.calls, "call"), several(view.errors, "error"));
    let (edits, turns) = (several(view.edits, "file change"), several(view.human_turns, "prompt"));
    facts.push(("activity", format!("{calls}, {errors}, {edits}, {turns} by a person")));
    facts.push(("spent", format!("{}, {}", several(view.tokens, "token"), money(view.cost_micros))));
    let budget = [view.budget.tokens.map(|tokens| several(tokens, "token")), view.budget.cost_micros.map(money)];
    let budget: Vec<String> = budget.into_iter().flatten().collect();
    if !budget.is_empty() {
        facts.push(("budget", budget.join(", ")));
    }
    if view.sub_agents.tokens + view.sub_agents.calls > 0 {
        let sub = &view.sub_agents;
        let text =
            format!("{}, {}, {}", several(sub.calls, "call"), several(sub.tokens, "token"), money(sub.cost_micros));
        facts.push(("sub-agents", text));
    }
    let since = &view.since_progress;
    let (calls, tokens) = (several(since.sum.calls, "call"), several(since.sum.tokens, "token"));
    facts.push(("progress", format!("{}; {calls} and {tokens} since", ago(since.at, now))));
    if let Some(wait) = &view.waiting {
        facts.push(("waits", format!("for {} since {}", wait.what, ago(wait.since, now))));
    }
    facts
}

fn state(view: &SessionView, now: Time) -> String {
    let Some(held) = &view.held else { return view.state.to_owned() };
    let how = match (held.until, held.lifted_by) {
        (Some(until), _) => format!("lifts {}", ahead(until, now)),
        (None, "plan") => "waits for a changed plan".to_owned(),
        (None, "person") => format!("`belay resume {}` lifts it", view.short),
        (None, _) => "for good".to_owned(),
    };
    format!("{} since {}; {how}", view.state, ago(held.since, now))
}

fn section(context: &Context, title: &str, lines: impl Iterator<Item = String>) -> std::io::Result<()> {
    for (index, line) in lines.enumerate() {
        if index == 0 {
            context.out.line(format!("\n{title}"))?;
        }
        context.out.line(format!("  {}", one_line(&line)))?;
    }
    Ok(())
}
