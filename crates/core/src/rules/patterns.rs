//! The `[patterns.*]` sections of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleError;
use super::budget::check_usd;
use crate::session::CALL_WINDOW;

/// Severity of a pattern's findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
}

/// Thresholds of one pattern. Missing values come from the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternRule {
    /// Whether the pattern is evaluated.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Severity of its findings.
    #[serde(default)]
    pub severity: Severity,
    /// Notice at this occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice_at: Option<u32>,
    /// Nudge at this occurrence; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_at: Option<u32>,
    /// Nudge at this occurrence on weak evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_weak_at: Option<u32>,
    /// Nudge at this occurrence on very weak evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_faint_at: Option<u32>,
    /// Pause at this occurrence; 0 = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_at: Option<u32>,
    /// Number of calls to look back.
    #[serde(default = "far")]
    pub window: usize,
    /// Minimum similarity of two texts, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f32>,
    /// Minimum number of calls.
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
        self.usd.map_or(Ok(()), |usd| check_usd(&at("usd"), usd))
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
    /// The same call with the same result and nothing in between.
    exact_repeat,
    /// Calls that differ only in numbers and indentation.
    near_repeat,
    /// The same call with other calls in between that changed nothing.
    interleaved_repeat,
    /// A repeated sequence of calls.
    cycle,
    /// Edits of one file that fail for one cause.
    failing_edits,
    /// Varied input, always the same failure.
    same_outcome,
    /// Commands that time out.
    dead_shell,
    /// Edits made and reverted repeatedly.
    oscillation,
    /// Calls that produce nothing new.
    revisiting,
    /// The same successful change again.
    repeated_mutation,
    /// Changes that do not affect the test result.
    ineffective_fix,
    /// Consecutive errors.
    error_cascade,
    /// Searches that find nothing.
    search_spiral,
    /// The same attempt in other words, without new information.
    circling,
    /// Repeated refusals.
    permission_wall,
    /// Completion claims that are not accepted.
    completion_claims,
    /// The same complaint of the person.
    person_repeats,
    /// Calls that do nothing by design.
    no_op_calls,
    /// Turns without a tool call.
    idle_turns,
    /// Turns that repeat nearly the same text.
    monologue,
    /// Output degenerated into repetition.
    degenerate_output,
    /// A file's content that returns to an earlier one.
    edit_undo,
    /// Reads with little new content and no change.
    read_only_revisiting,
    /// Model requests with nothing new.
    request_overlap,
    /// The same files changed, the same failure.
    repeated_strategy,
    /// Rounds posted to Loop Watchdog's events API: the same files changed, the same failure.
    reported_rounds,
    /// The context window is nearly full.
    context_nearly_full,
    /// Polling with the same result.
    polling,
    /// Tokens, money and minutes without progress.
    spend_without_progress,
    /// A budget is used up.
    budget,
    /// Too many sub-agents.
    sub_agent_runaway,
    /// An external system fails.
    outage,
    /// The same call although a service does not respond.
    outage_repeat,
    /// No activity although the agent is working.
    stall,
    /// A tool runs far longer than usual.
    hung_tool,
    /// An unanswered permission prompt.
    permission_prompt,
}
