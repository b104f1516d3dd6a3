//! What follows from an event: findings, interventions, incidents, and the answer to the sensor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::Usage;
use crate::key::SessionKey;
use crate::session::SessionState;
use crate::time::Timestamp;

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterventionLevel {
    /// Recorded only.
    Notice,
    /// The agent reads why, and what to try.
    Nudge,
    /// The next call is held back until a person decides.
    Pause,
    /// Stopped for good.
    Kill,
}

/// A detector's claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Derived from what it rests on: the same evidence gives the same id.
    pub id: String,
    /// Which pattern (`exact_repeat`, `failing_edits`, ...; a custom pattern's own name).
    pub pattern: String,
    /// How often the evidence has occurred so far.
    pub count: u32,
    /// One plain sentence: what repeated, how often, what stayed the same.
    pub sentence: String,
    /// What stayed the same, e.g. the error text (redacted, short).
    pub unchanged: String,
    /// What would have counted as progress.
    pub progress_would_be: String,
    /// The calls it rests on, oldest first (bounded).
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
    /// When the evidence was complete.
    pub at: Timestamp,
}

/// One call a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// 0-based ordinal of the call in its session.
    pub call: u64,
    /// The agent's tool call id, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What was done, in a few redacted words.
    pub what: String,
    /// What it led to, in a few redacted words.
    pub outcome: String,
    /// When.
    pub at: Timestamp,
}

/// What something has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spend {
    /// Tool calls.
    pub calls: u64,
    /// Tokens by kind.
    pub usage: Usage,
    /// Millionths of a US dollar; 0 when the model's price is unknown.
    pub cost_micros: u64,
    /// Milliseconds of wall time.
    pub millis: u64,
}

/// What the policy decided to do about a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Intervention {
    /// How hard.
    pub rung: InterventionLevel,
    /// Why.
    pub finding: Finding,
    /// What the agent is told (nudge) or the person is told (pause, kill).
    pub message: String,
    /// Whether a person is to be told now.
    pub tell_person: bool,
    /// Dry run: recorded, not done.
    pub dry_run: bool,
}

/// The durable record of an intervention that wants a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// Derived from session, pattern and event.
    pub id: String,
    /// Whose incident.
    pub session: SessionKey,
    /// How hard we stepped in.
    pub rung: InterventionLevel,
    /// Why; `None` for a person's own pause or kill.
    pub finding: Option<Finding>,
    /// One sentence for lists and alerts.
    pub sentence: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When a person saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    /// When it was closed (resume, reset, archive).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
}

/// What follows from one event. The engine persists and performs them in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// The policy took a step for a finding (a notice included).
    Intervened(Intervention),
    /// An incident was opened; a person should hear of it.
    IncidentOpened(Incident),
    /// An incident changed (acknowledged or closed).
    IncidentUpdated(Incident),
    /// The session moved from one state to another. Snapshot and sync before anything is answered.
    StateChanged {
        /// Before.
        from: SessionState,
        /// After.
        to: SessionState,
    },
    /// A person should hear of something that is no loop: a stall, a hung tool, an unseen permission prompt.
    NotifyOperator {
        /// Which pattern.
        pattern: String,
        /// One sentence.
        sentence: String,
    },
}

/// What a sensor should let the agent do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    #[default]
    Go,
    /// Deny this one call, with a message the agent reads.
    Nudge {
        /// The finding it answers.
        finding: String,
        /// What the agent reads.
        message: String,
    },
    /// Deny this and everything that follows until a person lifts it.
    Hold {
        /// The incident.
        incident: String,
        /// What agent and person read.
        reason: String,
        /// When it lifts by itself (a cooldown), if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// A changed plan lifts it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plan_required: bool,
    },
    /// Deny for good.
    Stop {
        /// The incident.
        incident: String,
        /// What agent and person read.
        reason: String,
    },
}

/// The engine's answer to one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What the agent may do.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What followed from the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The event had been seen before; nothing changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// What became of one event: the decision, and where the event was stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventOutcome {
    #[serde(flatten)]
    pub decision: Decision,
    /// The event's number in its session; `None` for a duplicate and for an event that is not stored yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The event is in the store. `false`: it was decided in memory, because the store is not writable.
    pub committed: bool,
}
