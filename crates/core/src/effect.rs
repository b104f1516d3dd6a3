//! The consequences of an event: findings, interventions, incidents, and the verdict for the sensor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::Usage;
use crate::key::SessionKey;
use crate::session::SessionState;
use crate::time::Timestamp;

/// A level of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterventionLevel {
    /// Recorded only.
    Notice,
    /// The agent receives an explanation and suggestions.
    Nudge,
    /// Calls are held back until a person decides.
    Pause,
    /// Stopped permanently.
    Kill,
}

/// A detector's claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Derived from the evidence: the same evidence yields the same id.
    pub id: String,
    /// Name of the pattern (`exact_repeat`, `failing_edits`, ..., or a custom one).
    pub pattern: String,
    /// Number of occurrences so far, denied ones included.
    pub count: u32,
    /// Number of occurrences that Belay denied.
    #[serde(default)]
    pub denied: u32,
    /// One sentence: what repeated, how often, what stayed the same.
    pub sentence: String,
    /// What stayed the same, such as the error text; short and redacted.
    pub unchanged: String,
    /// What would have counted as progress.
    pub progress_would_be: String,
    /// The calls of the evidence, oldest first (bounded).
    pub evidence: Vec<Evidence>,
    /// 0-based ordinal of the first call of the evidence.
    pub from_call: u64,
    /// 0-based ordinal of the call whose result completed the evidence.
    pub call: u64,
    /// Fingerprint of the repeated action; a nudge is delivered on the next call that matches.
    pub action: Digest,
    /// Digest of the unchanged outcome.
    pub outcome: Digest,
    /// Cost since the evidence began.
    pub spent: Spend,
    /// When the finding was made.
    pub at: Timestamp,
}

/// One call of the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// 0-based ordinal of the call in its session.
    pub call: u64,
    /// The agent's tool call id, or the id of the event if a client posted it; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Short redacted description of the call.
    pub what: String,
    /// Short redacted result.
    pub outcome: String,
    pub at: Timestamp,
}

/// Calls, tokens, money and time spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spend {
    /// Tool calls.
    pub calls: u64,
    /// Tokens by kind.
    pub usage: Usage,
    /// Known cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// Cost of models without a price, at an assumed price, in millionths of a US dollar.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced_micros: u64,
    /// Milliseconds of wall time.
    pub millis: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Spend {
    /// What counts towards a budget: the known cost, and the assumed cost of what has no price.
    pub fn max_cost_micros(&self) -> u64 {
        self.cost_micros.saturating_add(self.unpriced_micros)
    }

    pub fn add(&mut self, more: &Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.usage.add(&more.usage);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
        self.unpriced_micros = self.unpriced_micros.saturating_add(more.unpriced_micros);
        self.millis = self.millis.saturating_add(more.millis);
    }

    /// What was spent since `earlier`.
    pub fn saturating_sub(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            usage: self.usage.saturating_sub(&earlier.usage),
            cost_micros: self.cost_micros.saturating_sub(earlier.cost_micros),
            unpriced_micros: self.unpriced_micros.saturating_sub(earlier.unpriced_micros),
            millis: self.millis.saturating_sub(earlier.millis),
        }
    }
}

/// The policy's reaction to a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Intervention {
    /// Level of the intervention.
    pub level: InterventionLevel,
    /// The finding it reacts to.
    pub finding: Finding,
    /// Message to the agent (nudge) or to the operator (pause, kill).
    pub message: String,
    /// Whether the operator is notified now.
    pub alert: bool,
    /// Recorded but not carried out.
    pub dry_run: bool,
}

/// The durable record of an intervention that needs a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// Derived from session, pattern and event.
    pub id: String,
    /// The session.
    pub session: SessionKey,
    /// Level of the intervention.
    pub level: InterventionLevel,
    /// The finding; `None` for a pause or kill by the operator.
    pub finding: Option<Finding>,
    /// One sentence for lists and alerts.
    pub sentence: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When a person acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    /// When it was closed (resume, reset, archive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
}

/// A consequence of an event. The engine persists and performs them in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// The policy reacted to a finding (including a notice).
    Intervened(Intervention),
    /// An incident was opened; the operator should be alerted.
    IncidentOpened(Incident),
    /// An incident changed (acknowledged or closed).
    IncidentUpdated(Incident),
    /// The session's state changed. It must be durable before the agent gets its verdict.
    StateChanged { from: SessionState, to: SessionState },
    /// The operator should be notified of something other than a loop: a stall, a hung tool, an unanswered
    /// permission prompt, an agent that decides about its own supervision.
    NotifyOperator {
        /// Name of the pattern.
        pattern: String,
        sentence: String,
    },
}

/// What the agent may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Continue.
    #[default]
    Go,
    /// Deny this call with a message to the agent.
    Nudge {
        /// Id of the finding.
        finding: String,
        /// Message to the agent.
        message: String,
    },
    /// Deny all calls until a person ends the pause.
    Hold {
        /// Id of the incident.
        incident: String,
        /// Message to agent and operator.
        reason: String,
        /// End of the cooldown, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// A changed plan ends the pause.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plan_required: bool,
    },
    /// Deny all calls permanently.
    Stop {
        /// Id of the incident.
        incident: String,
        /// Message to agent and operator.
        reason: String,
    },
}

/// The engine's response to one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What the agent may do.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Consequences of the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The event was a duplicate and changed nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// The decision on one event, and where the event was stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventOutcome {
    #[serde(flatten)]
    pub decision: Decision,
    /// The event's sequence number in its session; `None` for a duplicate or an event not stored yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Whether the event is stored. `false` if it was decided in memory because the store is not writable.
    pub committed: bool,
}
