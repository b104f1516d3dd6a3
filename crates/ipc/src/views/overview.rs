//! The overview: which sessions need a person, what the others do, and what today cost.

use belay_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::CallView;
use super::{CostView, SessionView};

/// The overview.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewView {
    pub now: Timestamp,
    /// Sessions that need a person, longest wait first; acknowledged ones last.
    pub needs: Vec<NeedView>,
    /// Sessions that work, or wait for something that ends by itself, by start time.
    pub active: Vec<SessionView>,
    /// Number of sessions that are idle and seen, unknown or ended.
    pub resting: u64,
    pub today: TodayView,
    /// Sessions of the guided trial exist.
    pub trial: bool,
}

/// A session that needs a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedView {
    pub kind: NeedKind,
    pub session: SessionView,
    pub since: Timestamp,
    /// What is needed and why, in one sentence.
    pub reason: String,
    /// The exact command, question or plan, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Id of the open incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// A person has acknowledged the incident.
    #[serde(default)]
    pub acknowledged: bool,
    /// Id of the finding behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The budget that a person would probably set next, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_budget_micros: Option<u64>,
    /// The last calls, to draw the shape of a loop; only for findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// The pairs of the finding in the order of the cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<String>,
    /// Number of the first call that belongs to the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_from: Option<u64>,
}

/// Why a session needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    Question,
    Permission,
    PlanApproval,
    /// A login, trust or update dialog of the agent.
    Dialog,
    /// Paused because of a loop.
    Loop,
    /// Paused because a budget is used up.
    OverBudget,
    /// Paused by a person.
    Paused,
    /// Nudged and still repeating.
    Looping,
    Stalled,
    Failed,
    Finished,
}

/// What today cost. Days are those of the user's time zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TodayView {
    pub spent: CostView,
    /// Cost by hour since midnight, in millionths of a US dollar.
    pub by_hour: Vec<u64>,
    /// Highest cost first.
    pub by_agent: Vec<SpendView>,
    pub avoided: AvoidedView,
    pub quotas: Vec<QuotaView>,
}

/// Spend under one name: an agent, a project, a model or a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpendView {
    pub name: String,
    pub tokens: u64,
    pub cost_micros: u64,
    #[serde(default)]
    pub unpriced_micros: u64,
}

/// An estimate of the waste that holds avoided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvoidedView {
    pub cost_micros: u64,
    pub loops: Vec<AvoidedLoopView>,
}

/// One hold and what it avoided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvoidedLoopView {
    pub incident: String,
    pub session: String,
    /// Project, or the session's name.
    pub name: String,
    /// "held 23 min", "killed".
    pub how: String,
    pub cost_micros: u64,
}

/// The quota of an account, as its provider last reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaView {
    /// Provider and, as far as known, account.
    pub account: String,
    /// What is limited: "5 hours", "week", "requests per minute".
    pub limit: String,
    pub used_percent: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    pub reported_at: Timestamp,
}
