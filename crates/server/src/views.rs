//! Sessions, incidents and events as `--json` and the HTTP API show them. These shapes are a promise
//! (`docs/reference/json.md`): fields are added, never renamed or removed.

use belay_core::effect::{Finding, InterventionLevel};
use belay_core::event::Usage;
use belay_core::session::{Budget, DeclaredWait, ResumeCondition};
use belay_core::{Incident, SessionKey, SessionState, Timestamp};
use belay_store::{EventRow, Result, SessionRow, Store};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

/// Shortest native id shown: enough to tell sessions apart at a glance.
const MIN_SHORT_ID_CHARS: usize = 6;

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionView {
    /// `agent:native-id`.
    pub session: String,
    /// The shortest name every command takes.
    pub short: String,
    pub agent: String,
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// active, paused, killed, ended or archived.
    pub state: &'static str,
    /// What holds it back, if anything does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HoldView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DeclaredWait>,
    pub events: u64,
    pub calls: u64,
    pub errors: u64,
    pub edits: u64,
    pub human_turns: u64,
    pub findings: u64,
    pub nudges: u64,
    pub pauses: u64,
    /// Tokens of all kinds.
    pub tokens: u64,
    pub usage: Usage,
    /// Millionths of a US dollar; 0 when the model's price is unknown.
    pub cost_micros: u64,
    /// What a person has set as its limit.
    pub budget: Budget,
    /// The same of its sub-agents, theirs included.
    pub sub_agents: CostView,
    /// Since it last moved.
    pub since_progress: SinceProgressView,
}

/// Why a session may not go on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HoldView {
    pub incident: String,
    pub since: Timestamp,
    /// When it lifts by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// `person`: a resume lifts it; `plan`: a changed plan does; `never`.
    pub resume_requires: &'static str,
}

/// What something has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostView {
    pub calls: u64,
    pub tokens: u64,
    pub cost_micros: u64,
}

/// What it has cost since it last moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SinceProgressView {
    pub at: Timestamp,
    #[serde(flatten)]
    pub sum: CostView,
}

impl From<&belay_core::effect::Spend> for CostView {
    fn from(spent: &belay_core::effect::Spend) -> Self {
        Self { calls: spent.calls, tokens: spent.usage.total(), cost_micros: spent.cost_micros }
    }
}

fn held(state: &SessionState) -> Option<HoldView> {
    match state.effective() {
        SessionState::Paused { incident, since, until, gate } => Some(HoldView {
            incident: incident.clone(),
            since: *since,
            until: *until,
            resume_requires: match gate {
                ResumeCondition::Operator => "person",
                ResumeCondition::Plan => "plan",
            },
        }),
        SessionState::Killed { incident, since } => {
            Some(HoldView { incident: incident.clone(), since: *since, until: None, resume_requires: "never" })
        }
        SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => None,
    }
}

impl SessionView {
    pub fn new(row: SessionRow, short: String) -> Self {
        let SessionRow { key, parent, state, descendants: beneath, details: card, .. } = row;
        let (facts, counters) = (card.facts, card.counters);
        Self {
            session: key.to_string(),
            short,
            agent: key.agent.to_string(),
            id: key.id.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            state: state.as_str(),
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
            waiting: card.waiting,
            events: counters.events,
            calls: counters.calls,
            errors: counters.errors,
            edits: counters.edits,
            human_turns: counters.human_turns,
            findings: counters.findings,
            nudges: counters.nudges,
            pauses: counters.pauses,
            tokens: card.spent.usage.total(),
            usage: card.spent.usage,
            cost_micros: card.spent.cost_micros,
            budget: card.budget,
            sub_agents: CostView::from(&beneath),
            since_progress: SinceProgressView { at: card.clock.at, sum: CostView::from(&card.clock.since) },
        }
    }

    /// Rows with the names to call them by.
    pub fn load_all(store: &dyn Store, rows: Vec<SessionRow>) -> Result<Vec<Self>> {
        let keys: Vec<SessionKey> = rows.iter().map(|row| row.key.clone()).collect();
        let short = store.short_names(&keys, MIN_SHORT_ID_CHARS)?;
        Ok(rows.into_iter().zip(short).map(|(row, short)| Self::new(row, short)).collect())
    }

    pub fn load_one(store: &dyn Store, key: &SessionKey) -> Result<Option<Self>> {
        let Some(row) = store.session(key)? else { return Ok(None) };
        Ok(Self::load_all(store, vec![row])?.pop())
    }
}

/// One incident.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IncidentView {
    pub id: String,
    pub session: String,
    /// open, acknowledged or closed.
    pub state: &'static str,
    pub rung: InterventionLevel,
    pub sentence: String,
    pub opened_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// What it rests on; none for a person's own pause or kill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

impl From<Incident> for IncidentView {
    fn from(incident: Incident) -> Self {
        let state = match (incident.acknowledged_at, incident.closed_at) {
            (_, Some(_)) => "closed",
            (Some(_), None) => "acknowledged",
            (None, None) => "open",
        };
        Self {
            id: incident.id,
            session: incident.session.to_string(),
            state,
            rung: incident.rung,
            sentence: incident.sentence,
            opened_at: incident.opened_at,
            acknowledged_at: incident.acknowledged_at,
            closed_at: incident.closed_at,
            finding: incident.finding,
        }
    }
}

/// One event of the log.
#[derive(Debug, Serialize)]
pub struct EventView<'r> {
    /// Number in the whole log.
    pub ord: i64,
    /// Number in its session.
    pub seq: u64,
    /// The event, exactly as it was written.
    pub event: &'r RawValue,
}

impl<'r> EventView<'r> {
    pub fn of(row: &'r EventRow) -> Self {
        let event = serde_json::from_str(&row.json).unwrap_or(RawValue::NULL);
        Self { ord: row.ord, seq: row.seq, event }
    }
}
