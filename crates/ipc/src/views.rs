//! Results of the read operations. `--json`, the HTTP API and the socket share these types. They are stable
//! (`docs/reference/json.md`): fields are added, never renamed or removed.

use std::collections::BTreeMap;

use belay_core::effect::{Finding, Intervention, InterventionLevel, Spend};
use belay_core::event::{OperatorDecision, Usage};
use belay_core::session::{Budget, DeclaredWait};
use belay_core::status::Status;
use belay_core::{Incident, SessionKey, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// `agent:native-id`.
    pub session: String,
    /// The shortest name that commands accept.
    pub short: String,
    pub agent: String,
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// active, paused, killed, ended or archived.
    pub state: String,
    /// What the session is doing.
    pub status: Status,
    /// The hold on the session, if it is paused or killed.
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
    /// Known cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Cost of models without a price, at an assumed price, in millionths of a US dollar.
    #[serde(default)]
    pub unpriced_micros: u64,
    /// The most recent model without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced_model: Option<String>,
    /// The budget set by an operator.
    pub budget: Budget,
    /// Spend of all its descendants.
    pub sub_agents: CostView,
    /// Spend since the last progress.
    pub since_progress: SinceProgressView,
}

/// The hold on a paused or killed session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldView {
    pub incident: String,
    pub since: Timestamp,
    /// When the hold ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What lifts the hold: `person` (a resume), `plan` (a changed plan) or `never`.
    pub resume_requires: String,
}

/// Calls, tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostView {
    pub calls: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    #[serde(default)]
    pub unpriced_micros: u64,
}

/// Time of the last progress and the spend since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SinceProgressView {
    pub at: Timestamp,
    #[serde(flatten)]
    pub sum: CostView,
}

impl From<&Spend> for CostView {
    fn from(spent: &Spend) -> Self {
        Self {
            calls: spent.calls,
            tokens: spent.usage.total(),
            cost_micros: spent.cost_micros,
            unpriced_micros: spent.unpriced_micros,
        }
    }
}

/// One incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentView {
    pub id: String,
    pub session: String,
    /// open, acknowledged or closed.
    pub state: String,
    pub level: InterventionLevel,
    pub sentence: String,
    pub opened_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The finding behind it; none for an operator's pause or kill.
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
            state: state.to_owned(),
            level: incident.level,
            sentence: incident.sentence,
            opened_at: incident.opened_at,
            acknowledged_at: incident.acknowledged_at,
            closed_at: incident.closed_at,
            finding: incident.finding,
        }
    }
}

/// A finding and the intervention that followed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingView {
    pub session: SessionKey,
    #[serde(flatten)]
    pub intervention: Intervention,
}

/// An operator's note on a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteView {
    pub session: SessionKey,
    pub at: Timestamp,
    /// The decision it belongs to.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub text: String,
}

/// A note to a project's next session about why an earlier one was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TombstoneView {
    pub session: SessionKey,
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub pattern: String,
    pub message: String,
    pub at: Timestamp,
    pub expires_at: Timestamp,
}

/// Totals over the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsView {
    /// Sessions by state.
    pub sessions: BTreeMap<String, u64>,
    pub events: u64,
    pub calls: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    /// Cost of models without a price, at an assumed price, in millionths of a US dollar.
    #[serde(default)]
    pub unpriced_micros: u64,
    pub open_incidents: u64,
    /// Messages that are not sent yet.
    pub outbox: u64,
    /// Bytes in use on disk.
    pub bytes: u64,
}
