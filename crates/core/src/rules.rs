//! Every threshold, as data. The defaults are `rules.toml` beside this file.

mod patterns;

pub use patterns::{PatternRule, Patterns, Severity};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::detect::Strength;
use crate::digest::Digest;

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
    /// The ladder patterns stand on unless they say otherwise.
    pub ladder: Ladder,
    /// The patterns.
    pub patterns: Patterns,
}

/// At which occurrence which step is taken. 0 means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Recorded.
    pub notice_at: u32,
    /// The agent is told, where the evidence is strong.
    pub nudge_at: u32,
    /// The agent is told, where the evidence is weak.
    pub nudge_weak_at: u32,
    /// The agent is told, where the evidence is faint.
    pub nudge_faint_at: u32,
    /// The agent is held back.
    pub pause_at: u32,
}

impl Ladder {
    /// The ladder of one pattern.
    pub fn of(&self, rule: &PatternRule) -> Self {
        Self {
            notice_at: rule.notice_at.unwrap_or(self.notice_at),
            nudge_at: rule.nudge_at.unwrap_or(self.nudge_at),
            nudge_weak_at: rule.nudge_weak_at.or(rule.nudge_at).unwrap_or(self.nudge_weak_at),
            nudge_faint_at: rule.nudge_faint_at.or(rule.nudge_weak_at).or(rule.nudge_at).unwrap_or(self.nudge_faint_at),
            pause_at: rule.pause_at.unwrap_or(self.pause_at),
        }
    }

    /// The occurrence a nudge is due at.
    pub fn nudge(&self, strength: Strength) -> u32 {
        match strength {
            Strength::Strong => self.nudge_at,
            Strength::Weak => self.nudge_weak_at,
            Strength::Faint => self.nudge_faint_at,
        }
    }

    /// The occurrence a pause is due at: as far beyond the nudge for weaker evidence as for strong.
    pub fn pause(&self, strength: Strength) -> u32 {
        let (nudge, strong) = (self.nudge(strength), self.nudge_at);
        match self.pause_at {
            0 => 0,
            at => at + nudge.saturating_sub(strong),
        }
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
}
