//! A person's decisions, and what reached the agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use crate::excerpt::Excerpt;

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operator {
    /// What was decided.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub note: Excerpt,
    /// Who (a user name), when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person can decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum OperatorDecision {
    /// Hold the session.
    Pause,
    /// Let it go on.
    Resume {
        /// Only after this many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_secs: Option<u64>,
        /// The changed plan, named by the operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Excerpt>,
        /// The agent must name a changed plan before it goes on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        require_plan: bool,
        /// Also forget the evidence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reset: bool,
    },
    /// Seen; stays paused.
    Acknowledge,
    /// Stop it for good. A resume does not lift it.
    Kill,
    /// Forget the evidence, not the log.
    Reset,
    /// Take it out of sight.
    Archive,
    /// "This is fine": the pair of action and outcome of a finding never counts again here.
    Allow {
        /// The finding.
        finding: String,
    },
    /// Set or raise a budget of this session.
    Budget {
        /// Tokens, all kinds together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Millionths of a US dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_micros: Option<u64>,
    },
    /// A remark in the session's record.
    Note,
}

/// An intervention reached the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivered {
    /// The finding it answers.
    pub finding: String,
    /// Through which channel (hook, proxy, pane, signal).
    pub channel: Source,
}
