//! Sessions and incidents in Loop Watchdog's format.

use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::ResumeCondition;
use belay_core::{Body, Incident, InterventionLevel, SessionKey, SessionState, Timestamp};
use belay_store::{EventQuery, Order, Result, SessionQuery, SessionRow, Store};
use serde_json::{Value, json};

use super::{AGENT_ID, KILL_SCORE, PAUSE_SCORE, cause, format_time, recent_events};

/// How many sessions are listed.
const MAX_SESSIONS: usize = 200;
/// How many of a session's last decisions are read.
const DECISION_LOOKBACK: usize = 16;
/// The length of a plan's preview.
const PLAN_PREVIEW_CHARS: usize = 180;
/// Precedes the plan in the note of a resume.
const PLAN_PREFIX: &str = "changed plan: ";

/// The bare id for Loop Watchdog's sessions, the full name for others.
pub(super) fn session_name(key: &SessionKey) -> String {
    if *key.agent == *AGENT_ID { key.id.to_string() } else { key.to_string() }
}

/// A note that contains the required plan.
pub(super) fn note_with_plan(note: &str, plan: &str) -> String {
    let gap = if note.is_empty() { "" } else { "; " };
    format!("{note}{gap}{PLAN_PREFIX}{}", plan.trim())
}

/// All sessions that are not archived.
pub(super) fn session_keys(store: &dyn Store) -> Result<Vec<SessionKey>> {
    let mut query = SessionQuery { limit: MAX_SESSIONS, ..SessionQuery::default() };
    let mut keys = Vec::new();
    loop {
        let page = store.sessions(&query)?;
        keys.extend(page.rows.into_iter().map(|row| row.key));
        query.after = page.next;
        if query.after.is_none() {
            return Ok(keys);
        }
    }
}

/// Paused sessions first, then the newest.
fn session_list(store: &dyn Store, archived: bool) -> Result<Vec<SessionRow>> {
    let mut rows = store.sessions(&SessionQuery { archived, limit: MAX_SESSIONS, ..SessionQuery::default() })?.rows;
    rows.sort_by_key(|row| (!is_paused(&row.state), row.state.is_archived()));
    Ok(rows)
}

pub(super) fn snapshots(store: &dyn Store, archived: bool) -> Result<Vec<Value>> {
    session_list(store, archived)?.iter().map(|row| snapshot(store, row)).collect()
}

/// The status of a session; an unknown session is healthy.
pub(super) fn status(store: &dyn Store, key: &SessionKey) -> Result<Value> {
    match store.session(key)? {
        Some(row) => status_of(store, &row),
        None => Ok(json!({
            "session_id": session_name(key), "identity": null, "paused": false, "current_state": "healthy",
            "event_count": 0, "last_event_at": null, "incident": null, "acknowledged_at": null,
            "acknowledged_note": "", "archived": false, "cooldown_until": null,
            "requires_changed_plan": false, "required_plan_preview": "",
        })),
    }
}

fn is_paused(state: &SessionState) -> bool {
    match state.effective() {
        SessionState::Killed { .. } => true,
        // A cooldown and a required plan have separate fields.
        SessionState::Paused { until, gate, .. } => until.is_none() && *gate == ResumeCondition::Operator,
        _ => false,
    }
}

fn status_of(store: &dyn Store, row: &SessionRow) -> Result<Value> {
    let (until, gate) = match row.state.effective() {
        SessionState::Paused { until, gate, .. } => (*until, *gate),
        _ => (None, ResumeCondition::Operator),
    };
    let incident = row.details.incident.as_ref().map(|id| store.incident(id)).transpose()?.flatten();
    let acknowledged = acknowledged(store, &row.key)?;
    let counters = &row.details.counters;
    let paused = is_paused(&row.state);
    let state = match () {
        () if paused => "critical",
        () if counters.nudges > 0 => "warning",
        () if counters.findings > 0 => "watch",
        () => "healthy",
    };
    let plan_required = gate == ResumeCondition::Plan;
    Ok(json!({
        "session_id": session_name(&row.key),
        "identity": identity(row),
        "paused": paused,
        "current_state": state,
        "event_count": counters.events,
        "last_event_at": format_time(row.details.facts.last_at),
        "incident": incident.as_ref().filter(|_| paused).map(|incident| incident_json(store, incident, row)).transpose()?,
        "acknowledged_at": acknowledged.as_ref().map(|(at, _)| format_time(*at)),
        "acknowledged_note": acknowledged.map_or_else(String::new, |(_, note)| note),
        "archived": row.state.is_archived(),
        "cooldown_until": until.map(format_time),
        "requires_changed_plan": plan_required,
        "required_plan_preview": if plan_required { plan(store, &row.key)? } else { String::new() },
    }))
}

/// The last decisions about a session, the newest last.
fn decisions(store: &dyn Store, key: &SessionKey) -> Result<Vec<(Timestamp, Operator)>> {
    let (session, kinds) = (Some(key.clone()), vec!["operator".to_owned()]);
    let query = EventQuery { session, kinds, order: Order::Last, limit: DECISION_LOOKBACK, ..EventQuery::default() };
    let events = store.events(&query)?.into_iter().filter_map(|row| row.event().ok());
    let decisions = events.filter_map(|event| match event.body {
        Body::Operator(operator) => Some((event.at, operator)),
        _ => None,
    });
    Ok(decisions.collect())
}

/// The time and note of the last acknowledgement, unless the session was resumed since.
fn acknowledged(store: &dyn Store, key: &SessionKey) -> Result<Option<(Timestamp, String)>> {
    let counts = |operator: &Operator| {
        matches!(operator.decision, OperatorDecision::Acknowledge | OperatorDecision::Resume { .. })
    };
    let last = decisions(store, key)?.into_iter().rfind(|(_, operator)| counts(operator));
    let last = last.filter(|(_, operator)| operator.decision == OperatorDecision::Acknowledge);
    Ok(last.map(|(at, operator)| (at, operator.note.as_str().to_owned())))
}

/// The required plan, from the note of the resume.
fn plan(store: &dyn Store, key: &SessionKey) -> Result<String> {
    let last = decisions(store, key)?.pop();
    let plan = last.as_ref().and_then(|(_, operator)| Some(operator.note.as_str().split_once(PLAN_PREFIX)?.1));
    Ok(plan.unwrap_or_default().chars().take(PLAN_PREVIEW_CHARS).collect())
}

fn identity(row: &SessionRow) -> Value {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let facts = &row.details.facts;
    json!({
        "watchdog_session_id": session_name(&row.key),
        "repository": text(&facts.project),
        "workspace": text(&facts.cwd),
        "branch": text(&facts.branch),
        "agent": row.key.agent,
        "agent_session_id": row.key.id,
        "task_id": text(&facts.task),
    })
}

fn incident_json(store: &dyn Store, incident: &Incident, row: &SessionRow) -> Result<Value> {
    let finding = incident.finding.as_ref();
    let cause =
        finding.map(|finding| cause::find_cause(store, &incident.session, finding)).transpose()?.unwrap_or_default();
    let unchanged = finding.map(|finding| finding.unchanged.as_str()).filter(|text| !text.is_empty());
    let score = match (incident.level, finding) {
        (InterventionLevel::Kill, _) => KILL_SCORE,
        (_, Some(finding)) => f64::from(finding.count).max(PAUSE_SCORE),
        (_, None) => PAUSE_SCORE,
    };
    Ok(json!({
        "incident_id": incident.id,
        "session_id": session_name(&incident.session),
        "identity": identity(row),
        "created_at": format_time(incident.opened_at),
        "score": score,
        "reasons": [incident.sentence],
        "repeated_files": cause.files,
        "repeated_errors": unchanged.into_iter().collect::<Vec<_>>(),
        "triggering_event_ids": cause.event_ids,
        "request_count": row.details.counters.answers,
        "recommendation": finding.map_or_else(
            || "A person decided this.".to_owned(),
            |finding| format!("Progress would be {}.", finding.progress_would_be),
        ),
    }))
}

fn snapshot(store: &dyn Store, row: &SessionRow) -> Result<Value> {
    let mut snapshot = status_of(store, row)?;
    let recent = recent_events::recent_events(store, &row.key)?;
    let newest = recent.last();
    let summary = recent.iter().rev().filter_map(|event| event["summary"].as_str()).find(|summary| !summary.is_empty());
    let stage =
        newest.and_then(|event| event["kind"].as_str()).map_or_else(|| "idle".to_owned(), |k| k.replace('_', " "));
    let counters = &row.details.counters;
    let more = json!({
        "created_at": format_time(row.details.facts.started_at),
        "updated_at": format_time(row.details.facts.last_at),
        "last_summary": summary.unwrap_or_default(),
        "current_stage": stage,
        "metrics": {
            "request_count": counters.answers, "response_count": counters.answers, "error_count": counters.errors,
            "edit_count": counters.edits, "test_failure_count": counters.failed_checks,
            "test_pass_count": counters.passed_checks,
        },
        "recent_events": recent,
    });
    if let (Value::Object(snapshot), Value::Object(more)) = (&mut snapshot, more) {
        snapshot.extend(more);
    }
    Ok(snapshot)
}

/// The dashboard after all sessions were archived.
pub(super) fn cleared_dashboard(archived: usize, now: Timestamp) -> Value {
    let mut dashboard = dashboard(Vec::new(), now);
    dashboard["archived_sessions"] = archived.into();
    let noun = if archived == 1 { "session" } else { "sessions" };
    dashboard["message"] = format!("Archived {archived} {noun}. The event log keeps them.").into();
    dashboard
}

/// All sessions and their totals.
pub(super) fn dashboard(sessions: Vec<Value>, now: Timestamp) -> Value {
    let count = |is: fn(&Value) -> bool| sessions.iter().filter(|session| is(session)).count();
    json!({
        "generated_at": format_time(now),
        "total_sessions": sessions.len(),
        "paused_sessions": count(|session| session["paused"] == true),
        "total_events": sessions.iter().filter_map(|session| session["event_count"].as_u64()).sum::<u64>(),
        "active_incidents": count(|session| !session["incident"].is_null()),
        "acknowledged_sessions": count(|session| !session["acknowledged_at"].is_null()),
        "archived_sessions": count(|session| session["archived"] == true),
        "sessions": sessions,
    })
}
