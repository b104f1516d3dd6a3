//! Operator decisions and delivery confirmations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use crate::excerpt::Excerpt;
use crate::session::Budget;

/// An operator's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operator {
    /// The decision.
    #[serde(flatten)]
    pub decision: OperatorDecision,
    /// The operator's reason.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub note: Excerpt,
    /// The operator's user name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The process that called for the decision, if it came from the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Box<Caller>>,
}

/// The process that called for a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Caller {
    /// The agent among its ancestors, such as `claude, pid 812`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Excerpt>,
    /// The process and its ancestors as pid and command line, nearest first, redacted.
    pub processes: Excerpt,
}

/// Decisions an operator can make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum OperatorDecision {
    /// Pause the session.
    Pause,
    /// Resume the session.
    Resume {
        /// Only after this many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_secs: Option<u64>,
        /// A changed plan, supplied by the operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Excerpt>,
        /// Require the agent to name a changed plan first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        require_plan: bool,
        /// Also discard the evidence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reset: bool,
    },
    /// Acknowledge the incident; the session stays paused.
    Acknowledge,
    /// Stop the session permanently; it cannot be resumed.
    Kill,
    /// Discard the evidence; the log stays.
    Reset,
    /// Hide the session.
    Archive,
    /// Mark a finding as acceptable: its pair of action and outcome no longer counts in this session.
    Allow {
        /// The finding.
        finding: String,
    },
    /// Set a budget for this session.
    Budget(Budget),
    /// Apply settings to this session only, until it ends.
    Configure {
        /// Configuration keys and their values, such as `detect.dry_run` and `true`.
        settings: BTreeMap<String, String>,
    },
    /// Answer a permission prompt of the agent.
    Answer {
        /// The prompt, by the id under which Belay showed it.
        approval: String,
        answer: PermissionAnswer,
        /// Hash of what was shown.
        hash: String,
    },
    /// A note in the session's record.
    Note,
    /// A person has looked at what the session did.
    MarkSeen,
}

/// A person's answer to a permission prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    Allow,
    Deny,
}

/// An intervention was delivered to the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivered {
    /// Id of the finding.
    pub finding: String,
    /// The channel: hook, proxy, pane or signal.
    pub channel: Source,
}
