//! The built-in patterns, one file each.

mod budget;
mod circling;
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
mod no_op_calls;
mod oscillation;
mod outage;
mod outage_repeat;
mod permission_wall;
mod person_repeats;
mod polling;
mod read_only_revisiting;
mod repeated_mutation;
mod repeated_strategy;
mod reported_rounds;
mod request_overlap;
mod revisiting;
mod same_outcome;
mod search_spiral;
mod spend_without_progress;
mod sub_agent_runaway;

use super::{CallContext, Claim, Wording};
use crate::rules::{PatternRule, Patterns};

/// When a pattern is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A call was requested, has a result, or will never get one.
    CallUpdated,
    /// The agent claims that the work is done.
    CompletionClaimed,
    /// A person sent a prompt.
    PersonPrompted,
    /// The model responded.
    ModelAnswered,
    /// The agent sent a model request.
    ModelAsked,
    /// Tokens or money were spent.
    Spent,
    /// A file's content changed.
    FileChanged,
    SubAgentStarted,
    /// An external system failed.
    Outage,
}

/// A built-in pattern.
#[derive(Debug)]
pub struct Pattern {
    /// Name in rules and findings.
    pub name: &'static str,
    /// When it is evaluated.
    pub trigger: Trigger,
    /// Also evaluated before the call has a result.
    pub before_result: bool,
    /// Its nudge stays pending after an edit.
    pub outlives_edits: bool,
    /// Its evidence is a repetition, which must survive a second look before a step follows. False for amounts and for
    /// what is conclusive at once.
    pub second_look: bool,
    /// Selects its section of the rules.
    pub rule: fn(&Patterns) -> &PatternRule,
    /// Counts the evidence.
    pub detect: fn(&CallContext<'_>, &PatternRule) -> Option<Claim>,
    /// Puts a claim into text.
    pub describe: fn(&CallContext<'_>, &Claim) -> Wording,
}

/// All patterns. Among claims of the same level the first one wins, so the more specific patterns come first.
pub static PATTERNS: &[&Pattern] = &[
    &permission_wall::PATTERN,
    &dead_shell::PATTERN,
    &edit_undo::PATTERN,
    &repeated_mutation::PATTERN,
    &oscillation::PATTERN,
    &reported_rounds::PATTERN,
    &failing_edits::PATTERN,
    &ineffective_fix::PATTERN,
    &exact_repeat::PATTERN,
    &cycle::PATTERN,
    &near_repeat::PATTERN,
    &interleaved_repeat::PATTERN,
    &same_outcome::PATTERN,
    &search_spiral::PATTERN,
    &circling::PATTERN,
    &error_cascade::PATTERN,
    &outage_repeat::PATTERN,
    &revisiting::PATTERN,
    &read_only_revisiting::PATTERN,
    &polling::PATTERN,
    &no_op_calls::PATTERN,
    &completion_claims::PATTERN,
    &degenerate_output::PATTERN,
    &monologue::PATTERN,
    &idle_turns::PATTERN,
    &person_repeats::PATTERN,
    &repeated_strategy::PATTERN,
    &request_overlap::PATTERN,
    &budget::PATTERN,
    &spend_without_progress::PATTERN,
    &context_nearly_full::PATTERN,
    &sub_agent_runaway::PATTERN,
    &outage::PATTERN,
];
