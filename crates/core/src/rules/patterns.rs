//! The sections `[patterns.*]` of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleError;
use crate::session::CALL_WINDOW;

/// How bad a finding of a pattern is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
}

/// Thresholds of one pattern. What is not given comes from the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternRule {
    /// Looked for at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// Recorded at this occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice_at: Option<u32>,
    /// Nudged at this occurrence; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_at: Option<u32>,
    /// Nudged at this occurrence where the evidence is weak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_weak_at: Option<u32>,
    /// Nudged at this occurrence where the evidence is faint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_faint_at: Option<u32>,
    /// Paused at this occurrence; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_at: Option<u32>,
    /// How many calls it looks back.
    #[serde(default = "far")]
    pub window: usize,
    /// How alike two texts must be, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f32>,
    /// Fewer calls prove nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// A limit in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// A limit in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// A limit in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
}

fn yes() -> bool {
    true
}

fn far() -> usize {
    CALL_WINDOW
}

impl PatternRule {
    pub fn similarity(&self) -> f32 {
        self.similarity.unwrap_or(0.9)
    }

    pub(super) fn check(&self, name: &str) -> Result<(), RuleError> {
        let at = |key: &str| format!("patterns.{name}.{key}");
        if self.window == 0 || self.window > CALL_WINDOW {
            return Err(RuleError::new(at("window"), format!("must be 1 to {CALL_WINDOW} calls")));
        }
        if self.similarity.is_some_and(|similarity| !(0.0..=1.0).contains(&similarity)) {
            return Err(RuleError::new(at("similarity"), "must be between 0 and 1"));
        }
        if self.usd.is_some_and(|usd| usd.is_nan() || usd < 0.0) {
            return Err(RuleError::new(at("usd"), "must not be negative"));
        }
        Ok(())
    }
}

macro_rules! patterns {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        /// One section per pattern.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Patterns { $($(#[doc = $doc])* pub $name: PatternRule,)* }

        impl Patterns {
            /// Every pattern's name and section.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, &PatternRule)> {
                [$((stringify!($name), &self.$name)),*].into_iter()
            }
        }
    };
}

patterns! {
    /// The same call, answered the same way, with nothing in between.
    exact_repeat,
    /// The same call but for numbers and indentation.
    near_repeat,
    /// The same call with others in between, nothing changed by them.
    interleaved_repeat,
    /// A round of calls gone through again and again.
    cycle,
    /// Edits of one file that fail for one cause.
    failing_edits,
    /// Varied input, always the same failure.
    same_outcome,
    /// Commands that do not come back.
    dead_shell,
    /// Text put in and taken out again.
    oscillation,
    /// Going over what is known.
    wandering,
    /// The same successful change again.
    repeated_mutation,
    /// Changes without effect on the test.
    fruitless_fix,
    /// One error after the other.
    error_cascade,
    /// Searches that find nothing.
    search_spiral,
    /// Refused again and again.
    permission_wall,
    /// Claims to be done that are not accepted.
    completion_claims,
    /// Turns without a tool call.
    spin,
    /// The same thing said again.
    monologue,
    /// Output degenerated into repetition.
    chanting,
    /// A file's content comes back to what it was.
    edit_undo,
    /// Looking and looking, little of it new, nothing changed.
    read_only_wandering,
    /// Model requests that bring nothing new.
    request_overlap,
    /// The same files changed, the same failure.
    repeated_strategy,
    /// The model's window is nearly full.
    context_cliff,
    /// Asking again whether something is ready.
    poll,
    /// Tokens, money and minutes without progress.
    burn,
    /// A budget is used up.
    budget,
    /// Very many sub-agents.
    sub_agent_runaway,
    /// Something outside does not answer.
    outage,
    /// Nothing happens though the agent is at work.
    stall,
    /// A tool runs far longer than usual.
    hung_tool,
    /// A permission prompt nobody answers.
    permission_prompt,
}
