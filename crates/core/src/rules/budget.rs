//! The section `[budget]` of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be spent; 0 means any amount. What an operator sets for a session wins over the limits of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRules {
    /// Tokens of all kinds in one session, its sub-agents included.
    pub session_tokens: u64,
    /// US dollars in one session, its sub-agents included.
    pub session_usd: f64,
    /// Tokens of all kinds in all sessions of a project on one day (UTC).
    pub day_tokens: u64,
    /// US dollars in all sessions of a project on one day (UTC).
    pub day_usd: f64,
    /// Tokens of all kinds that one account (one credential, seen by the proxy) pays for on one day (UTC).
    pub account_day_tokens: u64,
    /// US dollars that one account (one credential, seen by the proxy) pays on one day (UTC).
    pub account_day_usd: f64,
    /// Tokens of all kinds per minute in one session, over the last five minutes.
    pub tokens_per_minute: u64,
    /// US dollars per minute in one session, over the last five minutes.
    pub usd_per_minute: f64,
}

impl BudgetRules {
    /// Whether some limit is shared by several sessions.
    pub fn is_shared(&self) -> bool {
        self.day_tokens > 0 || self.day_usd > 0.0 || self.account_day_tokens > 0 || self.account_day_usd > 0.0
    }
}
