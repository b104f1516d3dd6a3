//! One file per pattern. Each counts one kind of evidence and has its own words.

mod chanting;
mod completion_claims;
mod cycle;
mod dead_shell;
mod error_cascade;
mod exact_repeat;
mod failing_edits;
mod fruitless_fix;
mod interleaved_repeat;
mod monologue;
mod near_repeat;
mod oscillation;
mod permission_wall;
mod repeated_mutation;
mod same_outcome;
mod search_spiral;
mod spin;
mod wandering;

use super::{Claim, View, Words};
use crate::rules::{PatternRule, Patterns};

/// When a pattern is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A call was answered, or will not be any more.
    Answered,
    /// The agent claims to be done.
    Claimed,
    /// The model answered.
    Said,
}

/// A pattern.
#[derive(Debug)]
pub struct Pattern {
    /// Its name in rules, findings and wording.
    pub name: &'static str,
    /// When it is asked.
    pub trigger: Trigger,
    /// An edit in between does not end it: its nudge stays due.
    pub outlives_edits: bool,
    /// Its section of the rules.
    pub rule: fn(&Patterns) -> &PatternRule,
    /// What it finds.
    pub look: fn(&View<'_>, &PatternRule) -> Option<Claim>,
    /// How it is told.
    pub say: fn(&View<'_>, &Claim) -> Words,
}

/// Every pattern. Where several make claims of one rung, the first is told: the more particular ones
/// come first.
pub static PATTERNS: &[&Pattern] = &[
    &permission_wall::PATTERN,
    &dead_shell::PATTERN,
    &repeated_mutation::PATTERN,
    &oscillation::PATTERN,
    &failing_edits::PATTERN,
    &fruitless_fix::PATTERN,
    &exact_repeat::PATTERN,
    &cycle::PATTERN,
    &near_repeat::PATTERN,
    &interleaved_repeat::PATTERN,
    &same_outcome::PATTERN,
    &search_spiral::PATTERN,
    &error_cascade::PATTERN,
    &wandering::PATTERN,
    &completion_claims::PATTERN,
    &chanting::PATTERN,
    &monologue::PATTERN,
    &spin::PATTERN,
];
