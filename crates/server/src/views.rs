//! Converts stored sessions and events to the views of `--json`, the HTTP API and the socket.

use belay_core::effect::Spend;
use belay_core::session::BURN_MINUTES;
use belay_core::status::{self, Observation, Phase, Status, StatusInput, StatusValue};
use belay_core::{SessionKey, SessionState, Timestamp};
use belay_ipc::views::{CostView, HoldView, SessionView, SinceProgressView};
use belay_store::{EventRow, Result, SessionQuery, SessionRow, Store};
use serde::Serialize;
use serde_json::value::RawValue;

/// Minimum length of the native id in short names.
pub(crate) const MIN_SHORT_ID_CHARS: usize = 6;

fn held(state: &SessionState) -> Option<HoldView> {
    let resume_requires = state.resume_requires()?;
    match state.effective() {
        SessionState::Paused { incident, since, until, .. } => {
            Some(HoldView { incident: incident.clone(), since: *since, until: *until, resume_requires })
        }
        SessionState::Killed { incident, since } => {
            Some(HoldView { incident: incident.clone(), since: *since, until: None, resume_requires })
        }
        SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => None,
    }
}

/// Views of session rows, with their short names.
pub fn session_views(store: &dyn Store, rows: Vec<SessionRow>) -> Result<Vec<SessionView>> {
    let keys: Vec<SessionKey> = rows.iter().map(|row| row.key.clone()).collect();
    let short = store.short_names(&keys, MIN_SHORT_ID_CHARS)?;
    let now = belay_clock::now();
    let view = |(row, short)| Ok(view_of(status_of(store, &row, now)?, row, short, now));
    rows.into_iter().zip(short).map(view).collect()
}

pub fn session_view(store: &dyn Store, key: &SessionKey) -> Result<Option<SessionView>> {
    let Some(row) = store.session(key)? else { return Ok(None) };
    Ok(session_views(store, vec![row])?.pop())
}

/// How deep sub-agents of sub-agents are looked at, and how many of one session.
const MAX_DEPTH: u32 = 4;
const MAX_SUB_AGENTS: usize = 32;

/// The status of a session, with what its sub-agents wait for.
pub(crate) fn status_of(store: &dyn Store, row: &SessionRow, now: Timestamp) -> Result<Status> {
    status_at(store, row, inherited(store, row)?, now, MAX_DEPTH)
}

/// What a sub-agent has from its ancestors.
#[derive(Clone, Copy)]
struct Inherited {
    /// The process of the agent. Sub-agents run in that of their root.
    pid: Option<u32>,
    /// When a person last prompted or interrupted one of them. What was asked before is settled.
    turn_since: Timestamp,
}

fn status_at(
    store: &dyn Store,
    row: &SessionRow,
    Inherited { pid, turn_since }: Inherited,
    now: Timestamp,
    depth: u32,
) -> Result<Status> {
    let own = derive(row, pid, now, None);
    if own.blocks_parent() && own.since < turn_since {
        let why = "A person prompted or interrupted the parent since it asked.".to_owned();
        return Ok(Status { value: StatusValue::Unknown, waiting_for: None, since: turn_since, why, ..own });
    }
    // Most sessions rest and have had no sub-agents: they need no query.
    let may_have_any = own.value == StatusValue::Working || row.descendants != Spend::default();
    if depth == 0 || !may_have_any || !own.value.yields_to_sub_agent() {
        return Ok(own);
    }
    let of_session = SessionQuery {
        parent: Some(row.key.clone()),
        states: vec!["active".to_owned()],
        limit: MAX_SUB_AGENTS,
        ..SessionQuery::default()
    };
    let mut waiting: Option<Status> = None;
    for child in store.sessions(&of_session)?.rows {
        let inherited = Inherited {
            pid: child.details.facts.pid.or(pid),
            turn_since: turn_since.max(row.details.phase.turn_since),
        };
        let status = status_at(store, &child, inherited, now, depth - 1)?;
        if status.blocks_parent() && waiting.as_ref().is_none_or(|longest| status.since < longest.since) {
            waiting = Some(status);
        }
    }
    Ok(if waiting.is_some() { derive(row, pid, now, waiting.as_ref()) } else { own })
}

fn inherited(store: &dyn Store, row: &SessionRow) -> Result<Inherited> {
    let mut inherited = Inherited { pid: row.details.facts.pid, turn_since: Timestamp::default() };
    let mut parent = row.parent.clone();
    for _ in 0..MAX_DEPTH {
        let Some(key) = parent.take() else { break };
        let Some(row) = store.session(&key)? else { break };
        inherited.pid = inherited.pid.or(row.details.facts.pid);
        inherited.turn_since = inherited.turn_since.max(row.details.phase.turn_since);
        parent = row.parent;
    }
    Ok(inherited)
}

fn derive(row: &SessionRow, pid: Option<u32>, now: Timestamp, sub_agent: Option<&Status>) -> Status {
    let details = &row.details;
    let input = StatusInput {
        state: &row.state,
        incident: details.incident_sentence.as_deref(),
        phase: &details.phase,
        waiting: details.waiting.as_ref(),
        last_at: details.facts.last_at,
        ended_at: details.facts.ended_at,
    };
    let process = belay_process::process_state(pid, details.facts.last_at);
    let child_since = belay_process::child_since(&details.phase, pid);
    status::derive(&input, &Observation { now, process, child_since, seen_at: details.facts.seen_at, sub_agent })
}

fn view_of(status: Status, row: SessionRow, short: String, now: Timestamp) -> SessionView {
    let SessionRow { key, parent, state, descendants, details, .. } = row;
    let (facts, counters) = (details.facts, details.counters);
    let burn = burn(&details.burn, now);
    SessionView {
        session: key.to_string(),
        short,
        agent: key.agent.to_string(),
        id: key.id.to_string(),
        parent: parent.map(|parent| parent.to_string()),
        state: state.name(),
        status,
        held: held(&state),
        limited_until: match details.phase.phase {
            Phase::Limited { until, .. } => until,
            _ => None,
        },
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
        newest_call: details.newest_call,
        cost_per_hour_micros: if burn.iter().rev().take(RATE_MINUTES).any(|tokens| *tokens > 0) {
            details.cost_per_minute.saturating_mul(60)
        } else {
            0
        },
        burn,
        context_percent: details.context_percent,
        limits: details.limits,
        first_prompt: facts.first_prompt,
        seen_at: facts.seen_at,
    }
}

/// Minutes over which a rate is measured.
const RATE_MINUTES: usize = 5;

/// Tokens in each of the last minutes up to `now`, oldest first.
fn burn(minutes: &[(i64, u64)], now: Timestamp) -> Vec<u64> {
    let current = now.millis().div_euclid(60_000);
    let tokens_in = |minute: i64| minutes.iter().find(|(at, _)| *at == minute).map_or(0, |(_, tokens)| *tokens);
    (current - BURN_MINUTES + 1..=current).map(tokens_in).collect()
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
    pub fn from_row(row: &'r EventRow) -> Self {
        let event = serde_json::from_str(&row.json).unwrap_or(RawValue::NULL);
        Self { ord: row.ord, seq: row.seq, event }
    }
}
