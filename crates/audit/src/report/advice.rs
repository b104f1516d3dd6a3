//! What a person can do about the patterns that cost most.

use belay_core::Rules;
use belay_core::effect::Spend;
use schemars::JsonSchema;
use serde::Serialize;

use crate::totals::Totals;

/// Maximum number of patterns.
const MAX_PATTERNS: usize = 3;

/// A pattern that cost much, and what would have stopped it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// The pattern.
    pub pattern: String,
    /// Loops of this pattern.
    pub loops: u64,
    /// Cost of these loops after the first nudge.
    pub after_nudge: Spend,
    /// What to tell the agent, or to do.
    pub practice: String,
    /// The setting that pauses such a loop right after the first nudge.
    pub command: String,
}

/// The patterns whose loops went on for longest after the first nudge, most expensive first.
pub fn advice(totals: &Totals) -> Vec<Advice> {
    let mut costs: Vec<(&String, &Spend)> = totals.costs.iter().filter(|(_, spent)| spent.calls > 0).collect();
    let weight = |spent: &Spend| (spent.cost_micros, spent.usage.total(), spent.calls);
    costs.sort_by(|a, b| weight(b.1).cmp(&weight(a.1)).then(a.0.cmp(b.0)));
    costs.truncate(MAX_PATTERNS);
    let of = |(pattern, spent): (&String, &Spend)| Advice {
        pattern: pattern.clone(),
        loops: totals.patterns.get(pattern).copied().unwrap_or(0),
        after_nudge: *spent,
        practice: practice(pattern).to_owned(),
        command: command(pattern),
    };
    costs.into_iter().map(of).collect()
}

/// What helps against a pattern.
fn practice(pattern: &str) -> &'static str {
    match pattern {
        "exact_repeat" | "interleaved_repeat" | "near_repeat" | "cycle" => {
            "Tell the agent in its instructions to change something before it runs a failed command again."
        }
        "failing_edits" | "repeated_mutation" => {
            "Tell the agent in its instructions to read a file again before the second try of an edit."
        }
        "ineffective_fix" | "oscillation" | "edit_undo" => {
            "Ask for a failing test and a hypothesis before the next fix, or start a fresh session with a summary."
        }
        "same_outcome" | "error_cascade" | "dead_shell" => {
            "Give the agent the one command that works here, in its instructions."
        }
        "completion_claims" | "monologue" | "idle_turns" => {
            "Say what \"done\" means as a command that passes, and let `belay exec` run it as a gate."
        }
        "revisiting" | "read_only_revisiting" | "circling" | "search_spiral" => {
            "Name the files that matter in the prompt, or start a fresh session with a summary."
        }
        "permission_wall" => "Allow the command once in the agent's settings, or tell the agent to do without it.",
        _ => "Start a fresh session with a summary of what is known.",
    }
}

/// A pause at the first occurrence after the nudge. Patterns that never pause get one.
fn command(pattern: &str) -> String {
    let rules = Rules::default();
    let rule = rules.patterns.iter().find(|(name, _)| *name == pattern).map(|(_, rule)| rule);
    let nudge_at = rule.map_or(rules.ladder, |rule| rules.ladder.for_pattern(rule)).nudge_at;
    format!("belay config set detect.patterns.{pattern}.pause_at {}", nudge_at.max(3) + 1)
}
