//! Every threshold, as data. The defaults are `rules.toml` beside this file.

mod allow;
mod budget;
mod custom;
mod heartbeat;
mod ladder;
mod patterns;

pub use allow::AllowList;
pub use budget::BudgetRules;
pub(crate) use custom::{CompiledPattern, EvaluateAt};
pub use custom::{CustomPattern, GroupBy};
pub use heartbeat::parse_heartbeat_pattern;
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
    /// Record everything, do nothing.
    pub dry_run: bool,
    /// How often one finding is answered with a nudge before it becomes a pause.
    pub max_nudges: u32,
    /// For how many days the next sessions of a project are told what stopped one; 0 for not at all.
    #[serde(default = "a_week")]
    pub tombstone_days: u32,
    /// Patterns of your own.
    pub custom: Vec<CustomPattern>,
    /// What models cost, before the built-in table.
    pub prices: Vec<PriceRow>,
    /// The ladder patterns stand on unless they say otherwise.
    pub ladder: Ladder,
    /// What is fine.
    pub allow: AllowList,
    /// Limits of a session in tokens and money.
    pub budget: BudgetRules,
    /// When streamed output counts as degenerate.
    pub repetition: RepetitionRules,
    /// The patterns.
    pub patterns: Patterns,
    #[serde(skip)]
    compiled: CompiledRules,
}

/// Logs from before there was this rule are replayed as if it had been there.
fn a_week() -> u32 {
    7
}

/// Why rules were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct RuleError {
    /// Where, as a path of keys: `custom.no_force_push.command`.
    pub at: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl RuleError {
    fn new(at: impl Into<String>, problem: impl Into<String>) -> Self {
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
    /// Tells whether two sets of rules are the same.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Says precisely what is wrong, before anything is judged by these rules.
    pub fn check(&self) -> Result<(), RuleError> {
        for (name, rule) in self.patterns.iter() {
            rule.check(name)?;
        }
        self.allow.check()?;
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

    /// Custom patterns with their regular expressions ready; compiled once per set of rules.
    pub(crate) fn matches(&self) -> &[CompiledPattern] {
        self.compiled.0.get_or_init(|| self.custom.iter().map(CompiledPattern::new).collect())
    }
}

/// What is made of the rules once. Says nothing the rules do not say, so it takes no part in
/// comparing them.
#[derive(Clone, Debug, Default)]
struct CompiledRules(Arc<OnceLock<Vec<CompiledPattern>>>);

impl PartialEq for CompiledRules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
