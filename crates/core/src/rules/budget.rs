//! The `[budget]` section of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleError;

/// The smallest amount of money, in US dollars: smaller ones would round to 0, which means unlimited.
const MIN_USD: f64 = 1e-6;

/// The largest amount of money, in US dollars.
const MAX_USD: f64 = 1e9;

/// Spending limits; 0 means unlimited. Limits that an operator sets for a session take precedence.
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
    /// What a model without a price means for limits in US dollars.
    #[serde(default)]
    pub unknown_model: UnknownModel,
}

/// What a model without a price means for limits in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownModel {
    /// Its tokens count at an assumed price: $15 per million input tokens, $75 per million output tokens, more for a
    /// `pro` model.
    #[default]
    Estimate,
    /// A session with a limit in US dollars is paused before it uses the model.
    Refuse,
    /// Its tokens cost nothing.
    Ignore,
}

impl BudgetRules {
    /// All limits; money in millionths of a US dollar. Tokens and money alternate.
    pub fn limits(&self) -> [u64; 8] {
        [
            self.session_tokens,
            usd_to_micros(self.session_usd),
            self.day_tokens,
            usd_to_micros(self.day_usd),
            self.account_day_tokens,
            usd_to_micros(self.account_day_usd),
            self.tokens_per_minute,
            usd_to_micros(self.usd_per_minute),
        ]
    }

    /// Whether any limit is in US dollars.
    pub fn has_money_limit(&self) -> bool {
        [self.session_usd, self.day_usd, self.account_day_usd, self.usd_per_minute].into_iter().any(|usd| usd > 0.0)
    }

    /// Whether any limit is shared between sessions.
    pub fn is_shared(&self) -> bool {
        self.limits()[2..6].iter().any(|limit| *limit > 0)
    }

    pub(super) fn check(&self) -> Result<(), RuleError> {
        let amounts = [
            ("session_usd", self.session_usd),
            ("day_usd", self.day_usd),
            ("account_day_usd", self.account_day_usd),
            ("usd_per_minute", self.usd_per_minute),
        ];
        amounts.into_iter().try_for_each(|(name, usd)| check_usd(&format!("budget.{name}"), usd))
    }
}

/// An amount of US dollars in millionths. `check_usd` guarantees that only 0 becomes 0.
pub fn usd_to_micros(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round() as u64
}

/// Refuses amounts that are negative, not finite, or so small that they would round to 0.
pub(super) fn check_usd(at: &str, usd: f64) -> Result<(), RuleError> {
    if usd == 0.0 || (MIN_USD..=MAX_USD).contains(&usd) {
        return Ok(());
    }
    Err(RuleError::new(at, format!("{usd} US dollars is not an amount; use 0, or {MIN_USD:.6} to {MAX_USD:.0}")))
}
