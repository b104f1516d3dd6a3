//! Results of the read operations. `--json`, the HTTP API and the socket share these types. They are stable
//! (`docs/reference/json.md`): fields are added, never renamed or removed.

mod calls;
mod overview;
mod review;
mod session_page;

use std::collections::BTreeMap;

use belay_core::effect::{Finding, Intervention, InterventionLevel, Spend};
use belay_core::event::{OperatorDecision, Usage};
use belay_core::session::{Budget, DeclaredWait, NewestCall, ResumeRequires, StateName};
use belay_core::status::Status;
use belay_core::{Incident, SessionKey, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use calls::{CallView, FlagKind, PictureFlag, PictureRow, PictureView, Round, StripBucket};
pub use overview::{
    AvoidedLoopView, AvoidedView, Need, NeedKind, NeedRow, NeedView, OverviewView, QuotaView, SpendView, TodayView,
};
pub use review::{
    ArtifactView, BuiltView, GateView, LandedView, NewestDecisionView, ReviewAttention, ReviewDecisionKind,
    ReviewDecisionView, ReviewIssueView, ReviewKind, ReviewPhase, ReviewRoundView, ReviewSummaryView, ReviewView,
    ReviewerAnswer, ReviewerView, ReviewsView, RoleSpendView, RunningStepView,
};
pub use session_page::{EventLineView, FailingTestView, FailingView, FileView, SessionPageView, TreeNodeView};

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
    #[schemars(with = "String")]
    pub state: StateName,
    /// What the session is doing.
    pub status: Status,
    /// The hold on the session, if it is paused or killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HoldView>,
    /// When the usage limit resets that ended the session's last request. Also after the end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_until: Option<Timestamp>,
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
    /// The newest tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_call: Option<NewestCall>,
    /// Tokens in each of the last 24 minutes, oldest first.
    #[serde(default)]
    pub burn: Vec<u64>,
    /// Cost per hour at the rate of the last five minutes, in millionths of a US dollar.
    #[serde(default)]
    pub cost_per_hour_micros: u64,
    /// How full the context window is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u32>,
    /// The limits in force for this session: the operator's budget, otherwise the rules'.
    #[serde(default)]
    pub limits: Budget,
    /// The first line of the first prompt by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    /// When a person last looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

impl SessionView {
    /// The task, or what else tells sessions apart best.
    pub fn title(&self) -> &str {
        let named = [&self.task, &self.first_prompt, &self.branch].into_iter().find_map(|name| name.as_deref());
        named.unwrap_or(&self.short)
    }

    /// The last part of the project's path, or of the working directory.
    pub fn project_name(&self) -> Option<&str> {
        let path = self.project.as_deref().or(self.cwd.as_deref())?;
        path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// The cost of the session and its sub-agents, known or assumed.
    pub fn total_cost_micros(&self) -> u64 {
        let own = self.cost_micros.saturating_add(self.unpriced_micros);
        own.saturating_add(self.sub_agents.cost_micros).saturating_add(self.sub_agents.unpriced_micros)
    }

    /// How much of the limits in force is used: percent, the higher one of money and tokens.
    pub fn budget_percent(&self) -> Option<u32> {
        let percent = |used: u64, limit: Option<u64>| {
            let limit = limit.filter(|limit| *limit > 0)?;
            u32::try_from(used.saturating_mul(100) / limit).ok()
        };
        let tokens = self.tokens.saturating_add(self.sub_agents.tokens);
        percent(self.total_cost_micros(), self.limits.cost_micros).max(percent(tokens, self.limits.tokens))
    }
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
    #[schemars(with = "String")]
    pub resume_requires: ResumeRequires,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    pub session: SessionKey,
    #[serde(flatten)]
    pub intervention: Intervention,
}

/// An operator's note on a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// A permission prompt of an agent that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingApproval {
    /// Its name in `belay approve` and `belay deny`: `apr-` and the first 16 digits of `hash`.
    pub id: String,
    /// `agent:native-id`.
    pub session: String,
    /// The agent's name of the tool.
    pub tool: String,
    /// The exact command or input, secrets included: every character that runs.
    pub text: String,
    /// The agent's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Hash of what is shown. An answer repeats it, or at least its first 16 digits.
    pub hash: String,
    pub asked_at: Timestamp,
    /// After this, the agent's terminal asks.
    pub until: Timestamp,
}
