//! Converts stored sessions and events to the views of `--json`, the HTTP API and the socket.

use belay_core::session::ResumeCondition;
use belay_core::status::{self, Observation, Status, StatusInput};
use belay_core::{SessionKey, SessionState, Timestamp};
use belay_ipc::views::{CostView, HoldView, SessionView, SinceProgressView};
use belay_store::{EventRow, Result, SessionRow, Store};
use serde::Serialize;
use serde_json::value::RawValue;

/// Minimum length of the native id in short names.
pub(crate) const MIN_SHORT_ID_CHARS: usize = 6;

fn held(state: &SessionState) -> Option<HoldView> {
    match state.effective() {
        SessionState::Paused { incident, since, until, gate } => Some(HoldView {
            incident: incident.clone(),
            since: *since,
            until: *until,
            resume_requires: match gate {
                ResumeCondition::Operator => "person".to_owned(),
                ResumeCondition::Plan => "plan".to_owned(),
            },
        }),
        SessionState::Killed { incident, since } => Some(HoldView {
            incident: incident.clone(),
            since: *since,
            until: None,
            resume_requires: "never".to_owned(),
        }),
        SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => None,
    }
}

/// Views of session rows, with their short names.
pub fn session_views(store: &dyn Store, rows: Vec<SessionRow>) -> Result<Vec<SessionView>> {
    let keys: Vec<SessionKey> = rows.iter().map(|row| row.key.clone()).collect();
    let short = store.short_names(&keys, MIN_SHORT_ID_CHARS)?;
    let now = belay_clock::now();
    Ok(rows.into_iter().zip(short).map(|(row, short)| view_of(row, short, now)).collect())
}

pub fn session_view(store: &dyn Store, key: &SessionKey) -> Result<Option<SessionView>> {
    let Some(row) = store.session(key)? else { return Ok(None) };
    Ok(session_views(store, vec![row])?.pop())
}

fn status_of(row: &SessionRow, now: Timestamp) -> Status {
    let details = &row.details;
    let input = StatusInput {
        state: &row.state,
        incident: details.incident_sentence.as_deref(),
        phase: &details.phase,
        waiting: details.waiting.as_ref(),
        last_at: details.facts.last_at,
        ended_at: details.facts.ended_at,
    };
    let process = belay_hooks::process_state(details.facts.pid, details.facts.last_at);
    status::derive(&input, &Observation { now, process, seen_at: None })
}

fn view_of(row: SessionRow, short: String, now: Timestamp) -> SessionView {
    let status = status_of(&row, now);
    let SessionRow { key, parent, state, descendants, details, .. } = row;
    let (facts, counters) = (details.facts, details.counters);
    SessionView {
        session: key.to_string(),
        short,
        agent: key.agent.to_string(),
        id: key.id.to_string(),
        parent: parent.map(|parent| parent.to_string()),
        state: state.as_str().to_owned(),
        status,
        held: held(&state),
        project: facts.project,
        cwd: facts.cwd,
        branch: facts.branch,
        task: facts.task,
        model: facts.model,
        agent_version: facts.agent_version,
        transcript: facts.transcript,
        pid: facts.pid,
        started_at: facts.started_at,
        last_at: facts.last_at,
        ended_at: facts.ended_at,
        waiting: details.waiting,
        events: counters.events,
        calls: counters.calls,
        errors: counters.errors,
        edits: counters.edits,
        human_turns: counters.human_turns,
        findings: counters.findings,
        nudges: counters.nudges,
        pauses: counters.pauses,
        tokens: details.spent.usage.total(),
        usage: details.spent.usage,
        cost_micros: details.spent.cost_micros,
        unpriced_micros: details.spent.unpriced_micros,
        unpriced_model: facts.unpriced_model,
        budget: details.budget,
        sub_agents: CostView::from(&descendants),
        since_progress: SinceProgressView { at: details.clock.at, sum: CostView::from(&details.clock.since) },
    }
}

/// One event of the log.
#[derive(Debug, Serialize)]
pub struct EventView<'r> {
    /// Position in the log of all sessions.
    pub ord: i64,
    /// Sequence number in its session.
    pub seq: u64,
    /// The event as stored.
    pub event: &'r RawValue,
}

impl<'r> EventView<'r> {
    pub fn of(row: &'r EventRow) -> Self {
        let event = serde_json::from_str(&row.json).unwrap_or(RawValue::NULL);
        Self { ord: row.ord, seq: row.seq, event }
    }
}
