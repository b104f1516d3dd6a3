//! Compares two sets of rules by their effect: which one intervenes sooner.

use super::budget::usd_to_micros;
use super::{BudgetRules, Ladder, PatternRule, Rules};
use crate::detect::Strength;

/// Patterns whose window has no safe direction: a longer one counts more calls and also requires more of them.
const AMBIGUOUS_WINDOWS: &[&str] = &["revisiting", "read_only_revisiting"];

/// The pattern whose limits are percentages of an amount, where 0 means unlimited. Elsewhere 0 minutes means at once.
const AMOUNTS: &str = "spend_without_progress";

impl Rules {
    /// Whether these rules intervene no later than `other` in every respect: dry run, nudges, budgets, and the
    /// thresholds that each pattern ends up with. Lists and prices are not compared.
    pub fn is_at_least_as_tight_as(&self, other: &Self) -> bool {
        let patterns = self.patterns.iter().zip(other.patterns.iter());
        (!self.dry_run || other.dry_run)
            && self.max_nudges <= other.max_nudges
            && budgets_are_tight(&self.budget, &other.budget)
            && patterns.into_iter().all(|((name, new), (_, old))| {
                !old.enabled || (new.enabled && pattern_is_tight(name, (new, &self.ladder), (old, &other.ladder)))
            })
    }
}

/// Whether `new` is reached no later than `old`, where 0 means never.
fn is_no_later(new: u64, old: u64) -> bool {
    old == 0 || (new != 0 && new <= old)
}

fn budgets_are_tight(new: &BudgetRules, old: &BudgetRules) -> bool {
    new.limits().into_iter().zip(old.limits()).all(|(new, old)| is_no_later(new, old))
}

fn pattern_is_tight(
    name: &str,
    (new, new_ladder): (&PatternRule, &Ladder),
    (old, old_ladder): (&PatternRule, &Ladder),
) -> bool {
    let window = if AMBIGUOUS_WINDOWS.contains(&name) { new.window == old.window } else { new.window >= old.window };
    let amounts = if name == AMOUNTS {
        let amounts = |rule: &PatternRule| {
            [rule.tokens.unwrap_or(0), rule.usd.map_or(0, usd_to_micros), rule.minutes.unwrap_or(0)]
        };
        amounts(new).into_iter().zip(amounts(old)).all(|(new, old)| is_no_later(new, old))
    } else {
        new.minutes.unwrap_or(u64::MAX) <= old.minutes.unwrap_or(u64::MAX)
    };
    window
        && amounts
        && new.similarity() <= old.similarity()
        && new.calls.unwrap_or(0) <= old.calls.unwrap_or(0)
        && ladder_is_tight(&new_ladder.for_pattern(new), &old_ladder.for_pattern(old))
}

/// A ladder is compared by the occurrence at which each level is first reached: the pause on weak evidence depends on
/// the distance between two nudges, so single thresholds say little.
fn ladder_is_tight(new: &Ladder, old: &Ladder) -> bool {
    // Before a call has its result, its repeats count only from this threshold on; 0 counts all.
    let before_result = new.nudge_weak_at <= old.nudge_weak_at;
    before_result
        && [Strength::Strong, Strength::Weak, Strength::VeryWeak].into_iter().all(|strength| {
            let levels = new.first_occurrences(strength).into_iter().zip(old.first_occurrences(strength));
            levels.into_iter().all(|(new, old)| is_no_later(new.into(), old.into()))
        })
}
