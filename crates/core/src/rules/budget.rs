//! The section `[budget]` of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of one session; 0 means none. What an operator sets for a session wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRules {
    /// Tokens of all kinds.
    pub session_tokens: u64,
    /// US dollars.
    pub session_usd: f64,
    /// Tokens of all kinds on one day (UTC).
    pub day_tokens: u64,
    /// US dollars on one day (UTC).
    pub day_usd: f64,
    /// US dollars per minute, over the last five.
    pub usd_per_minute: f64,
}
