//! Interventions per finding, and the nudges that wait for delivery.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::second_look;
use crate::detect::{Claim, NudgeTarget};
use crate::digest::Digest;
use crate::effect::{Finding, InterventionLevel};
use crate::session::{Call, ShortDigest};

/// Maximum number of retained findings.
const MAX_FINDINGS: usize = 24;
/// Maximum number of pending nudges.
const MAX_PENDING_NUDGES: usize = 4;
/// Maximum number of pairs allowed by the operator.
const MAX_ALLOWED_PAIRS: usize = 16;
/// A nudge expires if no matching call follows within this many calls.
const NUDGE_EXPIRES_AFTER_CALLS: u64 = 20;
/// Occurrences required after a nudge before another finding on the same calls counts.
const MIN_NEW_OCCURRENCES: usize = 2;

/// Interventions for one finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingHistory {
    /// Digest of pattern, action and outcome.
    key: ShortDigest,
    id: String,
    action: Digest,
    outcome: Digest,
    /// Highest level reached.
    level: InterventionLevel,
    nudges: u32,
    /// Ordinal of the call at which it was last seen.
    last_call: u64,
    /// Count at the last step.
    count: u32,
}

/// A nudge that waits for a matching call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingNudge {
    /// Id of the finding.
    pub finding: String,
    /// What the agent reads.
    pub message: String,
    pub(crate) nudge_target: NudgeTarget,
    pub(super) outlives_edits: bool,
    /// Ordinal of the call that caused it.
    pub(crate) call: u64,
    /// The outcome that this call is expected to have, while it has none: it was judged when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<Digest>,
}

/// How far a pattern may escalate.
#[derive(Clone, Copy, Debug)]
pub(super) struct LadderLimits {
    /// Number of nudges before a pause.
    pub max_nudges: u32,
    /// Whether ignored nudges lead to a pause, for patterns without a count of their own for it.
    pub escalates: bool,
    /// A nudge waits for a request: until it is delivered, no other one follows.
    pub delivered_by_request: bool,
    /// Whether the evidence must survive a second look.
    pub second_look: bool,
    /// Whether there are nudges between a notice and a pause.
    pub nudges: bool,
}

/// All findings and pending nudges of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingTracker {
    histories: VecDeque<FindingHistory>,
    pending: VecDeque<PendingNudge>,
    /// Ordinal of the call at the last nudge or pause.
    last_intervention: Option<u64>,
    /// Pairs of action and outcome allowed by the operator.
    allowed: Vec<(Digest, Digest)>,
}

fn history_key(name: &str, claim: &Claim) -> ShortDigest {
    let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
    ShortDigest::from(Digest::of_parts([name.as_bytes(), &action, &outcome]))
}

impl FindingTracker {
    /// The history of a claim, if its evidence reaches back to the last step.
    fn find(&self, key: ShortDigest, claim: &Claim) -> Option<&FindingHistory> {
        self.histories.iter().rev().find(|history| history.key == key && history.last_call >= claim.first)
    }

    /// The id of a claim's finding, if it has one.
    pub(super) fn id(&self, name: &str, claim: &Claim) -> Option<&str> {
        self.find(history_key(name, claim), claim).map(|history| history.id.as_str())
    }

    /// The step to take now, given earlier steps; `None` if nothing new is due.
    pub(super) fn next_step(
        &self,
        limits: LadderLimits,
        name: &str,
        claim: &Claim,
        level: InterventionLevel,
        focus: Option<(Digest, Digest)>,
    ) -> Option<InterventionLevel> {
        let key = history_key(name, claim);
        if focus.is_some_and(|pair| self.is_handled(key, pair)) {
            return None;
        }
        let history = self.find(key, claim);
        let nudged = !limits.nudges || history.is_some_and(|history| history.nudges > 0);
        let level = match limits.second_look {
            true => second_look::justified(level, claim.count, claim.strength, nudged),
            false => level,
        };
        let Some(history) = history else {
            return Some(if self.is_covered(claim) { InterventionLevel::Notice } else { level });
        };
        if history.level >= InterventionLevel::Pause
            || level == InterventionLevel::Notice
            || claim.count <= history.count
        {
            return None;
        }
        if history.nudges == 0 && self.is_covered(claim) {
            return None;
        }
        let is_pending = || self.pending.iter().any(|nudge| nudge.finding == history.id);
        match level {
            InterventionLevel::Nudge if limits.delivered_by_request && is_pending() => None,
            // A pause needs more evidence than the nudges that were ignored.
            InterventionLevel::Nudge if history.nudges >= limits.max_nudges => {
                limits.escalates.then_some(InterventionLevel::Pause)
            }
            other => Some(other),
        }
    }

    /// Another pattern has already intervened for this pair of action and outcome.
    fn is_handled(&self, own_key: ShortDigest, pair: (Digest, Digest)) -> bool {
        let intervened = |history: &FindingHistory| {
            history.level >= InterventionLevel::Nudge && (history.action, history.outcome) == pair
        };
        self.histories.iter().any(|history| history.key != own_key && intervened(history))
    }

    /// A nudge covers its evidence: other findings on the same calls need new occurrences.
    fn is_covered(&self, claim: &Claim) -> bool {
        self.last_intervention.is_some_and(|last| {
            claim.first <= last
                && claim.calls.iter().filter(|call| **call > last).count() < MIN_NEW_OCCURRENCES
                && !claim.calls.is_empty()
        })
    }

    /// Records that claims persist, even if no step is due.
    pub(super) fn mark_continuing(&mut self, continuing: &[ShortDigest], call: u64) {
        for history in self.histories.iter_mut().filter(|history| continuing.contains(&history.key)) {
            history.last_call = history.last_call.max(call);
        }
    }

    /// The latest call at which a finding that led to a nudge or a pause was still seen.
    pub(crate) fn last_repetition(&self) -> Option<u64> {
        let intervened = |history: &&FindingHistory| history.level >= InterventionLevel::Nudge;
        self.histories.iter().filter(intervened).map(|history| history.last_call).max()
    }

    /// The key of a claim's history, if it has one.
    pub(super) fn key(&self, name: &str, claim: &Claim) -> Option<ShortDigest> {
        self.find(history_key(name, claim), claim).map(|history| history.key)
    }

    /// Records a step. Returns whether the finding is new.
    pub(super) fn record_step(
        &mut self,
        name: &str,
        claim: &Claim,
        level: InterventionLevel,
        finding: &Finding,
    ) -> bool {
        let key = history_key(name, claim);
        let nudged = u32::from(level == InterventionLevel::Nudge);
        if level >= InterventionLevel::Nudge {
            self.last_intervention = Some(finding.call);
        }
        if let Some(history) =
            self.histories.iter_mut().rev().find(|history| history.key == key && history.last_call >= claim.first)
        {
            history.level = history.level.max(level);
            history.nudges += nudged;
            history.last_call = finding.call.max(claim.first);
            history.count = claim.count;
            return false;
        }
        // The evidence starts over, so earlier steps no longer count.
        self.histories.retain(|history| history.key != key);
        if self.histories.len() == MAX_FINDINGS {
            self.histories.pop_front();
        }
        self.histories.push_back(FindingHistory {
            key,
            id: finding.id.clone(),
            action: claim.action,
            outcome: claim.outcome,
            level,
            nudges: nudged,
            last_call: finding.call.max(claim.first),
            count: claim.count,
        });
        true
    }

    /// Queues a nudge for the next matching call.
    pub(super) fn queue_nudge(&mut self, nudge: PendingNudge) {
        self.pending.retain(|other| other.finding != nudge.finding);
        if self.pending.len() == MAX_PENDING_NUDGES {
            self.pending.pop_front();
        }
        self.pending.push_back(nudge);
    }

    /// Removes and returns the nudge for this call. `batch`: the ordinals of the calls that are made together with it.
    pub(crate) fn take_matching_nudge(&mut self, call: &Call, batch: RangeInclusive<u64>) -> Option<PendingNudge> {
        if self.pending.is_empty() {
            return None;
        }
        // A tool call ends a series of idle turns; other nudges expire.
        self.pending.retain(|nudge| {
            nudge.nudge_target != NudgeTarget::Turn && call.ordinal <= nudge.call + NUDGE_EXPIRES_AFTER_CALLS
        });
        // A call that was judged when it was made runs, and so do those beside it.
        let runs = |nudge: &PendingNudge| nudge.expected.is_some() && batch.contains(&nudge.call);
        let at = self.pending.iter().position(|nudge| nudge.nudge_target.matches(call) && !runs(nudge))?;
        self.pending.remove(at)
    }

    /// Confirms the nudge that a call caused when it was made, or withdraws it if the outcome is not the expected one.
    /// Returns whether it was withdrawn.
    pub(crate) fn confirm_nudge(&mut self, call: u64, outcome: Digest) -> bool {
        let caused = |nudge: &PendingNudge| nudge.call == call && nudge.expected.is_some();
        let Some(at) = self.pending.iter().position(caused) else { return false };
        let nudge = &mut self.pending[at];
        if nudge.expected.take() == Some(outcome) {
            return false;
        }
        let Some(nudge) = self.pending.remove(at) else { return false };
        // A later repetition starts anew.
        self.histories.retain(|history| history.id != nudge.finding);
        self.last_intervention = self.last_intervention.filter(|last| *last != call);
        true
    }

    /// The oldest pending nudge, given the ordinal of the newest call. It stays pending until it is delivered.
    pub(crate) fn next_nudge(&mut self, call: u64) -> Option<PendingNudge> {
        self.pending.retain(|nudge| call <= nudge.call + NUDGE_EXPIRES_AFTER_CALLS);
        self.pending.front().cloned()
    }

    /// Removes and returns the nudge for the next turn.
    pub(crate) fn take_turn_nudge(&mut self) -> Option<PendingNudge> {
        let at = self.pending.iter().position(|nudge| nudge.nudge_target == NudgeTarget::Turn)?;
        self.pending.remove(at)
    }

    /// The call that caused a nudge when it was made will not be answered, which confirms it.
    pub(crate) fn confirm_unanswered(&mut self, call: u64) {
        self.pending.iter_mut().filter(|nudge| nudge.call == call).for_each(|nudge| nudge.expected = None);
    }

    /// A new change invalidates nudges about repetition without change. The outcome decides about those it is awaited for.
    pub(crate) fn on_change(&mut self) {
        self.pending.retain(|nudge| nudge.outlives_edits || nudge.expected.is_some());
    }

    /// Allows a finding's pair and returns it, if the finding is known.
    pub(crate) fn allow(&mut self, id: &str) -> Option<(Digest, Digest)> {
        let history = self.histories.iter().rev().find(|history| history.id == id)?;
        let pair = (history.action, history.outcome);
        self.pending.retain(|nudge| nudge.finding != id);
        if !self.allowed.contains(&pair) {
            if self.allowed.len() == MAX_ALLOWED_PAIRS {
                self.allowed.remove(0);
            }
            self.allowed.push(pair);
        }
        Some(pair)
    }

    /// Whether the operator allowed this pair.
    pub(crate) fn allows(&self, action: Digest, outcome: Digest) -> bool {
        self.allowed.contains(&(action, outcome))
    }

    /// Removes a nudge that was delivered through any channel.
    pub(crate) fn mark_delivered(&mut self, finding: &str) {
        self.pending.retain(|nudge| nudge.finding != finding);
    }

    /// Clears everything but the allowed pairs.
    pub(crate) fn clear(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        // A person's note is not evidence.
        pending.retain(PendingNudge::is_note);
        *self = Self { allowed: std::mem::take(&mut self.allowed), pending, ..Self::default() };
    }

    /// Queues a note of a person for the agent: it is delivered like a nudge, with the next call. `call` is the ordinal
    /// of the newest call.
    pub(crate) fn queue_note(&mut self, id: String, message: String, call: u64) {
        let nudge_target = NudgeTarget::Any;
        self.queue_nudge(PendingNudge {
            finding: id,
            message,
            nudge_target,
            outlives_edits: true,
            call,
            expected: None,
        });
    }
}

/// Prefix of the id under which a person's note is delivered.
pub(crate) const NOTE_PREFIX: &str = "note-";

impl PendingNudge {
    fn is_note(&self) -> bool {
        self.finding.starts_with(NOTE_PREFIX)
    }
}
