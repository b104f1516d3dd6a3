//! One file per pattern. Each counts one kind of evidence and has its own words.

mod budget;
mod completion_claims;
mod context_nearly_full;
mod cycle;
mod dead_shell;
mod degenerate_output;
mod edit_undo;
mod error_cascade;
mod exact_repeat;
mod failing_edits;
mod idle_turns;
mod ineffective_fix;
mod interleaved_repeat;
mod monologue;
mod near_repeat;
mod oscillation;
mod outage;
mod permission_wall;
mod polling;
mod read_only_revisiting;
mod repeated_mutation;
mod repeated_strategy;
mod request_overlap;
mod revisiting;
mod same_outcome;
mod search_spiral;
mod spend_without_progress;
mod sub_agent_runaway;

use super::{CallContext, Claim, Wording};
use crate::rules::{PatternRule, Patterns};

/// When a pattern is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A call was answered, or will not be any more; or it was just asked for.
    Answered,
    /// The agent claims to be done.
    Claimed,
    /// The model answered.
    Said,
    /// A model request left the agent.
    Asked,
    /// Tokens or money were spent.
    Spent,
    /// A file's content changed.
    Changed,
    /// A sub-agent was started.
    Branched,
    /// Something outside failed.
    Outage,
}

/// A pattern.
#[derive(Debug)]
pub struct Pattern {
    /// Its name in rules, findings and wording.
    pub name: &'static str,
    /// When it is asked.
    pub trigger: Trigger,
    /// It can be told when a call is asked for, before its answer.
    pub ahead: bool,
    /// An edit in between does not end it: its nudge stays due.
    pub outlives_edits: bool,
    /// Its section of the rules.
    pub rule: fn(&Patterns) -> &PatternRule,
    /// What it finds.
    pub look: fn(&CallContext<'_>, &PatternRule) -> Option<Claim>,
    /// How it is told.
    pub say: fn(&CallContext<'_>, &Claim) -> Wording,
}

/// Every pattern. Where several make claims of one rung, the first is told: the more particular ones
/// come first.
pub static PATTERNS: &[&Pattern] = &[
    &permission_wall::PATTERN,
    &dead_shell::PATTERN,
    &edit_undo::PATTERN,
    &repeated_mutation::PATTERN,
    &oscillation::PATTERN,
    &failing_edits::PATTERN,
    &ineffective_fix::PATTERN,
    &exact_repeat::PATTERN,
    &cycle::PATTERN,
    &near_repeat::PATTERN,
    &interleaved_repeat::PATTERN,
    &same_outcome::PATTERN,
    &search_spiral::PATTERN,
    &error_cascade::PATTERN,
    &revisiting::PATTERN,
    &read_only_revisiting::PATTERN,
    &polling::PATTERN,
    &completion_claims::PATTERN,
    &degenerate_output::PATTERN,
    &monologue::PATTERN,
    &idle_turns::PATTERN,
    &repeated_strategy::PATTERN,
    &request_overlap::PATTERN,
    &budget::PATTERN,
    &spend_without_progress::PATTERN,
    &context_nearly_full::PATTERN,
    &sub_agent_runaway::PATTERN,
    &outage::PATTERN,
];
