//! What was done about each finding so far, and the nudges that wait for their call.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::detect::{Claim, NudgeTarget};
use crate::digest::Digest;
use crate::effect::{Finding, InterventionLevel};
use crate::session::{Call, ShortDigest};

/// How many findings are remembered.
const MAX_FINDINGS: usize = 24;
/// How many nudges can be due at once.
const MAX_PENDING_NUDGES: usize = 4;
/// How many pairs a person can call fine.
const MAX_ALLOWED_PAIRS: usize = 16;
/// A nudge whose call does not come within so many calls has lost its occasion.
const NUDGE_EXPIRES_AFTER_CALLS: u64 = 20;
/// What a nudge about one thing leaves to another: so many occurrences after it.
const MIN_NEW_OCCURRENCES: usize = 2;

/// One finding's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingHistory {
    /// Pattern, action and outcome together.
    mark: ShortDigest,
    id: String,
    action: Digest,
    outcome: Digest,
    /// Highest step taken.
    rung: InterventionLevel,
    nudges: u32,
    /// Call at which it was last seen.
    last: u64,
    /// Count when the last step was taken.
    count: u32,
}

/// A nudge that waits for the next matching call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingNudge {
    /// The finding it answers.
    pub finding: String,
    /// What the agent reads.
    pub message: String,
    pub(crate) matcher: NudgeTarget,
    pub(super) outlives_edits: bool,
    /// The call that brought it about.
    pub(crate) call: u64,
}

/// How far a pattern may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct LadderLimits {
    /// So many nudges, then a pause.
    pub max_nudges: u32,
    /// Or no pause at all.
    pub may_pause: bool,
}

/// All findings and due nudges of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingTracker {
    tracks: VecDeque<FindingHistory>,
    due: VecDeque<PendingNudge>,
    /// Call at which the agent was last told something.
    told: Option<u64>,
    /// Pairs a person called fine.
    fine: Vec<(Digest, Digest)>,
}

fn history_key(name: &str, claim: &Claim) -> ShortDigest {
    let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
    ShortDigest::from(Digest::of_parts([name.as_bytes(), &action, &outcome]))
}

impl FindingTracker {
    /// The history of a claim, if the evidence goes back to what was answered then.
    fn find(&self, name: &str, claim: &Claim) -> Option<&FindingHistory> {
        let mark = history_key(name, claim);
        self.tracks.iter().rev().find(|track| track.mark == mark && track.last >= claim.first)
    }

    /// The id a claim's finding already has.
    pub(super) fn id(&self, name: &str, claim: &Claim) -> Option<&str> {
        self.find(name, claim).map(|track| track.id.as_str())
    }

    /// The step to take now, given what was done before; `None` when there is nothing new to do.
    pub(super) fn next_step(
        &self,
        limits: LadderLimits,
        name: &str,
        claim: &Claim,
        rung: InterventionLevel,
        focus: Option<(Digest, Digest)>,
    ) -> Option<InterventionLevel> {
        if focus.is_some_and(|pair| self.is_dealt_with(history_key(name, claim), pair)) {
            return None;
        }
        let Some(track) = self.find(name, claim) else {
            return Some(if self.is_answered(claim) { InterventionLevel::Notice } else { rung });
        };
        if track.rung >= InterventionLevel::Pause || rung == InterventionLevel::Notice || claim.count <= track.count {
            return None;
        }
        if track.nudges == 0 && self.is_answered(claim) {
            return None;
        }
        match rung {
            InterventionLevel::Nudge if track.nudges >= limits.max_nudges => {
                limits.may_pause.then_some(InterventionLevel::Pause)
            }
            other => Some(other),
        }
    }

    /// The agent was already told about this very pair of action and outcome, by another name.
    fn is_dealt_with(&self, mine: ShortDigest, pair: (Digest, Digest)) -> bool {
        let told =
            |track: &FindingHistory| track.rung >= InterventionLevel::Nudge && (track.action, track.outcome) == pair;
        self.tracks.iter().any(|track| track.mark != mine && told(track))
    }

    /// A nudge answers its evidence: whoever else rests on the same calls waits for new ones.
    fn is_answered(&self, claim: &Claim) -> bool {
        self.told.is_some_and(|told| {
            claim.first <= told
                && claim.calls.iter().filter(|call| **call > told).count() < MIN_NEW_OCCURRENCES
                && !claim.calls.is_empty()
        })
    }

    /// It goes on, whether or not there is something to do about it.
    pub(super) fn mark_continuing(&mut self, going_on: &[ShortDigest], call: u64) {
        for track in self.tracks.iter_mut().filter(|track| going_on.contains(&track.mark)) {
            track.last = track.last.max(call);
        }
    }

    /// The mark of a claim's history, if it has one.
    pub(super) fn mark(&self, name: &str, claim: &Claim) -> Option<ShortDigest> {
        self.find(name, claim).map(|track| track.mark)
    }

    /// A step was taken. Tells whether the finding is a new one.
    pub(super) fn record_step(
        &mut self,
        name: &str,
        claim: &Claim,
        rung: InterventionLevel,
        finding: &Finding,
    ) -> bool {
        let mark = history_key(name, claim);
        let nudged = u32::from(rung == InterventionLevel::Nudge);
        if rung >= InterventionLevel::Nudge {
            self.told = Some(finding.call);
        }
        if let Some(track) = self.tracks.iter_mut().rev().find(|track| track.mark == mark && track.last >= claim.first)
        {
            track.rung = track.rung.max(rung);
            track.nudges += nudged;
            track.last = finding.call.max(claim.first);
            track.count = claim.count;
            return false;
        }
        // The same thing begins anew: what was done about it then is history.
        self.tracks.retain(|track| track.mark != mark);
        if self.tracks.len() == MAX_FINDINGS {
            self.tracks.pop_front();
        }
        self.tracks.push_back(FindingHistory {
            mark,
            id: finding.id.clone(),
            action: claim.action,
            outcome: claim.outcome,
            rung,
            nudges: nudged,
            last: finding.call.max(claim.first),
            count: claim.count,
        });
        true
    }

    /// A nudge is due at the next call that matches.
    pub(super) fn queue_nudge(&mut self, due: PendingNudge) {
        self.due.retain(|other| other.finding != due.finding);
        if self.due.len() == MAX_PENDING_NUDGES {
            self.due.pop_front();
        }
        self.due.push_back(due);
    }

    /// Takes the nudge that answers this call, if one is due.
    pub(crate) fn take_matching_nudge(&mut self, call: &Call) -> Option<PendingNudge> {
        if self.due.is_empty() {
            return None;
        }
        // A tool call ends idle talk, and what was waited for too long has lost its occasion.
        self.due.retain(|due| due.matcher != NudgeTarget::Turn && call.ordinal <= due.call + NUDGE_EXPIRES_AFTER_CALLS);
        let at = self.due.iter().position(|due| due.matcher.matches(call))?;
        self.due.remove(at)
    }

    /// Takes the oldest nudge that is due, whatever it waits for.
    pub(crate) fn take_any_nudge(&mut self) -> Option<PendingNudge> {
        self.due.pop_front()
    }

    /// Takes the nudge that answers the next turn, if one is due.
    pub(crate) fn take_turn_nudge(&mut self) -> Option<PendingNudge> {
        let at = self.due.iter().position(|due| due.matcher == NudgeTarget::Turn)?;
        self.due.remove(at)
    }

    /// Something new was changed: nudges about going round without changing anything are void.
    pub(crate) fn on_change(&mut self) {
        self.due.retain(|due| due.outlives_edits);
    }

    /// A person said that a finding is fine. Tells its pair, if we know it.
    pub(crate) fn allow(&mut self, id: &str) -> Option<(Digest, Digest)> {
        let track = self.tracks.iter().rev().find(|track| track.id == id)?;
        let pair = (track.action, track.outcome);
        self.due.retain(|due| due.finding != id);
        if !self.fine.contains(&pair) {
            if self.fine.len() == MAX_ALLOWED_PAIRS {
                self.fine.remove(0);
            }
            self.fine.push(pair);
        }
        Some(pair)
    }

    /// Whether a person said that this is fine.
    pub(crate) fn allows(&self, action: Digest, outcome: Digest) -> bool {
        self.fine.contains(&(action, outcome))
    }

    /// The agent has read it, through whichever channel: it is not due any more.
    pub(crate) fn mark_delivered(&mut self, finding: &str) {
        self.due.retain(|due| due.finding != finding);
    }

    /// A person spoke or the slate was wiped. What was called fine stays fine.
    pub(crate) fn clear(&mut self) {
        *self = Self { fine: std::mem::take(&mut self.fine), ..Self::default() };
    }
}
