//! All thresholds as data. The defaults are in `rules.toml`.

mod allow;
mod budget;
mod custom;
mod identity;
mod ladder;
mod patterns;
mod tightness;

pub use allow::AllowList;
pub use budget::{BudgetRules, UnknownModel, usd_to_micros};
pub(crate) use custom::{CompiledPattern, EvaluateAt};
pub use custom::{CustomPattern, GroupBy};
pub use identity::ToolIdentity;
pub use ladder::Ladder;
pub use patterns::{PatternRule, Patterns, Severity};

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::prices::PriceRow;
use crate::repetition::RepetitionRules;

/// The commented defaults.
pub const DEFAULT_RULES: &str = include_str!("rules.toml");

/// All thresholds, ladders, budgets, allow-lists and custom patterns that apply to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Record interventions without carrying them out.
    pub dry_run: bool,
    /// Number of nudges for one finding before it leads to a pause.
    pub max_nudges: u32,
    /// Number of days for which new sessions of a project get a tombstone; 0 turns tombstones off.
    #[serde(default = "a_week")]
    pub tombstone_days: u32,
    /// User-defined patterns.
    pub custom: Vec<CustomPattern>,
    /// Inputs that identify the calls of a tool.
    #[serde(default)]
    pub identity: Vec<ToolIdentity>,
    /// Model prices; they override the built-in table.
    pub prices: Vec<PriceRow>,
    /// Default ladder of all patterns.
    pub ladder: Ladder,
    /// Calls and outcomes that never count.
    pub allow: AllowList,
    /// Limits of a session in tokens and money.
    pub budget: BudgetRules,
    /// When streamed output counts as degenerate.
    pub repetition: RepetitionRules,
    /// Thresholds per pattern.
    pub patterns: Patterns,
    #[serde(skip)]
    compiled: CompiledRules,
}

/// Default for logs that predate this rule.
fn a_week() -> u32 {
    7
}

/// Why rules were rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct RuleError {
    /// Path of the key, such as `custom.no_force_push.command`.
    pub at: String,
    /// What is wrong with it and what is expected.
    pub problem: String,
}

impl RuleError {
    pub fn new(at: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { at: at.into(), problem: problem.into() }
    }
}

impl Default for Rules {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "a test parses the built-in rules")]
        toml::from_str(DEFAULT_RULES).expect("built-in rules are valid")
    }
}

impl Rules {
    /// Digest for comparing two sets of rules.
    pub fn digest(&self) -> Digest {
        Digest::from_bytes(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Validates the rules before they are used.
    pub fn check(&self) -> Result<(), RuleError> {
        for (name, rule) in self.patterns.iter() {
            rule.check(name)?;
        }
        self.allow.check()?;
        self.identity.iter().try_for_each(ToolIdentity::check)?;
        self.budget.check()?;
        for (at, row) in self.prices.iter().enumerate() {
            for (name, usd) in row.amounts() {
                budget::check_usd(&format!("prices.{at}.{name}"), usd)?;
            }
        }
        self.repetition.check().map_err(|(key, problem)| RuleError::new(format!("repetition.{key}"), problem))?;
        if self.custom.len() > custom::MAX_CUSTOM_PATTERNS {
            return Err(RuleError::new(
                "custom",
                format!("{} patterns are more than the {} that fit", self.custom.len(), custom::MAX_CUSTOM_PATTERNS),
            ));
        }
        for (at, pattern) in self.custom.iter().enumerate() {
            pattern.check()?;
            if let Some(twin) = self.custom[..at].iter().find(|other| other.name == pattern.name) {
                return Err(RuleError::new(format!("custom.{}", twin.name), "this name is given twice"));
            }
        }
        Ok(())
    }

    /// The compiled custom patterns; compiled once per set of rules.
    pub(crate) fn matches(&self) -> &[CompiledPattern] {
        self.compiled.0.get_or_init(|| self.custom.iter().map(CompiledPattern::new).collect())
    }
}

/// Cache derived from the rules; ignored in comparisons.
#[derive(Clone, Debug, Default)]
struct CompiledRules(Arc<OnceLock<Vec<CompiledPattern>>>);

impl PartialEq for CompiledRules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
