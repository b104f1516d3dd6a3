//! Whether a loop gets anywhere.
//!
//! Asked after every reviewed round that leaves issues open. The answers come in the order of their cost: another
//! round, a revert of the last fix, a third reviewer, a person.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::claim::Similarity;
use crate::severity::Severity;

/// When a loop converges. The defaults are in `convergence.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Least severity that keeps the loop going, by round. The last entry holds for all later rounds.
    pub severity_floor: Vec<Severity>,
    /// Rounds in a row without progress after which a third reviewer or a person decides.
    pub patience: u32,
    /// Rounds in a row whose fixes introduced new issues, after which the last fix is reverted.
    pub reseeding_rounds: u32,
    /// How often a task reverts a fix before a person decides.
    pub max_reverts: u32,
    pub similarity: Similarity,
}

static DEFAULT: LazyLock<Policy> =
    LazyLock::new(|| toml::from_str(include_str!("convergence.toml")).expect("the built-in policy is valid"));

impl Default for Policy {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Policy {
    /// Least severity that keeps the loop going in this round.
    pub fn floor(&self, round: u32) -> Severity {
        let index = usize::try_from(round).unwrap_or(usize::MAX).saturating_sub(1);
        let entry = self.severity_floor.get(index).or(self.severity_floor.last());
        entry.copied().unwrap_or(Severity::Minor)
    }
}

/// What convergence needs to know about a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundFacts {
    /// The build changed the tree.
    pub changed: bool,
    /// Digests of the files that the build changed, after the change.
    pub contents: BTreeMap<String, String>,
    /// New open issues that this round's own fix introduced.
    pub seeded: u32,
    /// Issues that the round closed.
    pub closed: u32,
    /// Issues that are open after the round.
    pub open: u32,
    /// The first failing gate and its result, if one failed.
    pub red_gate: Option<String>,
    /// The round began with the revert of an earlier fix.
    pub reverted: bool,
}

/// What to do next about open issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Build another round.
    Continue,
    /// The last fixes keep introducing issues: revert the last one and ask for a failing test first.
    Revert,
    /// Reverting did not help.
    Reseeding,
    /// Builder and reviewers disagree.
    Dispute(Dispute),
    /// The same gate fails in the same way.
    GateStuck { gate: String },
}

/// How a disagreement shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispute {
    /// The builder no longer changes anything.
    Unchanged,
    /// The builder changes the same files back and forth.
    BackAndForth,
    /// The builder changes things, and no issue is closed.
    NoProgress,
}

/// Judges the rounds so far, the last of which left issues open.
pub fn assess(rounds: &[RoundFacts], policy: &Policy) -> Outlook {
    let patience = usize::try_from(policy.patience.max(1)).unwrap_or(usize::MAX);
    if let Some(gate) = stuck_gate(rounds, patience) {
        return Outlook::GateStuck { gate };
    }
    // A revert starts the count anew: what came before it was undone.
    let since_revert = rounds.iter().rposition(|round| round.reverted).map_or(rounds, |at| &rounds[at..]);
    let reseeding = usize::try_from(policy.reseeding_rounds.max(1)).unwrap_or(usize::MAX);
    if since_revert.len() >= reseeding && last(since_revert, reseeding).iter().all(|round| round.seeded > 0) {
        let reverts = rounds.iter().filter(|round| round.reverted).count();
        let may_revert = reverts < usize::try_from(policy.max_reverts).unwrap_or(usize::MAX);
        return if may_revert { Outlook::Revert } else { Outlook::Reseeding };
    }
    let recent = last(since_revert, patience);
    if recent.len() == patience && recent.iter().all(|round| !round.changed) {
        return Outlook::Dispute(Dispute::Unchanged);
    }
    if returns(since_revert) >= patience {
        return Outlook::Dispute(Dispute::BackAndForth);
    }
    // The first round cannot close anything.
    let could_close = since_revert.len() > patience && recent.iter().all(|round| round.closed == 0);
    if could_close && recent.iter().all(|round| round.red_gate.is_none()) {
        return Outlook::Dispute(Dispute::NoProgress);
    }
    Outlook::Continue
}

/// The gate that failed in the same way in the last rounds, the first of them included.
fn stuck_gate(rounds: &[RoundFacts], patience: usize) -> Option<String> {
    let recent = last(rounds, patience + 1);
    let gate = recent.first()?.red_gate.clone()?;
    let is_stuck = recent.len() > patience && recent.iter().all(|round| round.red_gate.as_ref() == Some(&gate));
    is_stuck.then_some(gate)
}

/// The most often that a file returned to a content it had before.
fn returns(rounds: &[RoundFacts]) -> usize {
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut returns: BTreeMap<&str, usize> = BTreeMap::new();
    for round in rounds {
        for (file, content) in &round.contents {
            let contents = seen.entry(file).or_default();
            // The content before this round is not a return.
            if contents.last() != Some(&content.as_str()) && contents.contains(&content.as_str()) {
                *returns.entry(file).or_default() += 1;
            }
            contents.push(content);
        }
    }
    returns.into_values().max().unwrap_or(0)
}

fn last<T>(items: &[T], count: usize) -> &[T] {
    &items[items.len().saturating_sub(count)..]
}
