//! What was done about each finding so far, and the nudges that wait for their call.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::detect::{Claim, Matcher};
use crate::digest::Digest;
use crate::effect::{Finding, Rung};
use crate::session::{Call, Mark};

/// How many findings are remembered.
const KEPT: usize = 24;
/// How many nudges can be due at once.
const DUE: usize = 4;
/// How many pairs a person can call fine.
const FINE: usize = 16;
/// A nudge whose call does not come within so many calls has lost its occasion.
const PATIENCE: u64 = 20;
/// What a nudge about one thing leaves to another: so many occurrences after it.
const FRESH: usize = 2;

/// One finding's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Pattern, action and outcome together.
    mark: Mark,
    id: String,
    action: Digest,
    outcome: Digest,
    /// Highest step taken.
    rung: Rung,
    nudges: u32,
    /// Call at which it was last seen.
    last: u64,
    /// Count when the last step was taken.
    count: u32,
}

/// A nudge that waits for the next matching call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The finding it answers.
    pub finding: String,
    /// What the agent reads.
    pub message: String,
    pub(crate) matcher: Matcher,
    pub(super) outlives_edits: bool,
    /// The call that brought it about.
    pub(crate) call: u64,
}

/// How far a pattern may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// So many nudges, then a pause.
    pub max_nudges: u32,
    /// Or no pause at all.
    pub may_pause: bool,
}

/// All findings and due nudges of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tracks {
    tracks: VecDeque<Track>,
    due: VecDeque<Pending>,
    /// Call at which the agent was last told something.
    told: Option<u64>,
    /// Pairs a person called fine.
    fine: Vec<(Digest, Digest)>,
}

fn mark(name: &str, claim: &Claim) -> Mark {
    let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
    Mark::from(Digest::of_parts([name.as_bytes(), &action, &outcome]))
}

impl Tracks {
    /// The history of a claim, if the evidence goes back to what was answered then.
    fn find(&self, name: &str, claim: &Claim) -> Option<&Track> {
        let mark = mark(name, claim);
        self.tracks.iter().rev().find(|track| track.mark == mark && track.last >= claim.first)
    }

    /// The id a claim's finding already has.
    pub(super) fn id(&self, name: &str, claim: &Claim) -> Option<&str> {
        self.find(name, claim).map(|track| track.id.as_str())
    }

    /// The step to take now, given what was done before; `None` when there is nothing new to do.
    pub(super) fn step(
        &self,
        limits: Limits,
        name: &str,
        claim: &Claim,
        rung: Rung,
        focus: Option<(Digest, Digest)>,
    ) -> Option<Rung> {
        if focus.is_some_and(|pair| self.is_dealt_with(mark(name, claim), pair)) {
            return None;
        }
        let Some(track) = self.find(name, claim) else {
            return Some(if self.is_answered(claim) { Rung::Notice } else { rung });
        };
        if track.rung >= Rung::Pause || rung == Rung::Notice || claim.count <= track.count {
            return None;
        }
        if track.nudges == 0 && self.is_answered(claim) {
            return None;
        }
        match rung {
            Rung::Nudge if track.nudges >= limits.max_nudges => limits.may_pause.then_some(Rung::Pause),
            other => Some(other),
        }
    }

    /// The agent was already told about this very pair of action and outcome, by another name.
    fn is_dealt_with(&self, mine: Mark, pair: (Digest, Digest)) -> bool {
        let told = |track: &Track| track.rung >= Rung::Nudge && (track.action, track.outcome) == pair;
        self.tracks.iter().any(|track| track.mark != mine && told(track))
    }

    /// A nudge answers its evidence: whoever else rests on the same calls waits for new ones.
    fn is_answered(&self, claim: &Claim) -> bool {
        self.told.is_some_and(|told| {
            claim.first <= told
                && claim.calls.iter().filter(|call| **call > told).count() < FRESH
                && !claim.calls.is_empty()
        })
    }

    /// It goes on, whether or not there is something to do about it.
    pub(super) fn goes_on(&mut self, going_on: &[Mark], call: u64) {
        for track in self.tracks.iter_mut().filter(|track| going_on.contains(&track.mark)) {
            track.last = track.last.max(call);
        }
    }

    /// The mark of a claim's history, if it has one.
    pub(super) fn mark(&self, name: &str, claim: &Claim) -> Option<Mark> {
        self.find(name, claim).map(|track| track.mark)
    }

    /// A step was taken. Tells whether the finding is a new one.
    pub(super) fn took(&mut self, name: &str, claim: &Claim, rung: Rung, finding: &Finding) -> bool {
        let mark = mark(name, claim);
        let nudged = u32::from(rung == Rung::Nudge);
        if rung >= Rung::Nudge {
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
        if self.tracks.len() == KEPT {
            self.tracks.pop_front();
        }
        self.tracks.push_back(Track {
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
    pub(super) fn owe(&mut self, due: Pending) {
        self.due.retain(|other| other.finding != due.finding);
        if self.due.len() == DUE {
            self.due.pop_front();
        }
        self.due.push_back(due);
    }

    /// Takes the nudge that answers this call, if one is due.
    pub(crate) fn take_due(&mut self, call: &Call) -> Option<Pending> {
        if self.due.is_empty() {
            return None;
        }
        // A tool call ends idle talk, and what was waited for too long has lost its occasion.
        self.due.retain(|due| due.matcher != Matcher::Turn && call.ordinal <= due.call + PATIENCE);
        let at = self.due.iter().position(|due| due.matcher.fits(call))?;
        self.due.remove(at)
    }

    /// Takes the oldest nudge that is due, whatever it waits for.
    pub(crate) fn take_any_due(&mut self) -> Option<Pending> {
        self.due.pop_front()
    }

    /// Takes the nudge that answers the next turn, if one is due.
    pub(crate) fn take_due_turn(&mut self) -> Option<Pending> {
        let at = self.due.iter().position(|due| due.matcher == Matcher::Turn)?;
        self.due.remove(at)
    }

    /// Something new was changed: nudges about going round without changing anything are void.
    pub(crate) fn changed(&mut self) {
        self.due.retain(|due| due.outlives_edits);
    }

    /// A person said that a finding is fine. Tells its pair, if we know it.
    pub(crate) fn allow(&mut self, id: &str) -> Option<(Digest, Digest)> {
        let track = self.tracks.iter().rev().find(|track| track.id == id)?;
        let pair = (track.action, track.outcome);
        self.due.retain(|due| due.finding != id);
        if !self.fine.contains(&pair) {
            if self.fine.len() == FINE {
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
    pub(crate) fn delivered(&mut self, finding: &str) {
        self.due.retain(|due| due.finding != finding);
    }

    /// A person spoke or the slate was wiped. What was called fine stays fine.
    pub(crate) fn clear(&mut self) {
        *self = Self { fine: std::mem::take(&mut self.fine), ..Self::default() };
    }
}
