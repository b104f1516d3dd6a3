//! What was done about each finding so far, and the nudges that wait for their call.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::detect::{Claim, Matcher, Pattern};
use crate::digest::Digest;
use crate::effect::Rung;
use crate::key::SessionKey;
use crate::rules::Rules;
use crate::session::{Call, Mark, Traits};

/// How many findings are remembered.
const KEPT: usize = 32;
/// How many nudges can be due at once.
const DUE: usize = 4;
/// A nudge whose call does not come within so many calls has lost its occasion.
const PATIENCE: u64 = 20;

/// One finding's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Pattern, action and outcome together.
    mark: Mark,
    /// The finding's id.
    pub id: String,
    /// The pair, for "this is fine".
    pub action: Digest,
    pub outcome: Digest,
    /// Highest step taken.
    rung: Rung,
    /// Nudges given.
    nudges: u32,
    /// First call of the evidence.
    first: u64,
    /// Call at which the last step was taken.
    last: u64,
    /// Count at that step.
    count: u32,
}

/// A nudge that waits for the next matching call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    pub finding: String,
    pub message: String,
    matcher: Matcher,
    outlives_edits: bool,
    /// The call that brought it about.
    call: u64,
}

/// All findings and due nudges of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tracks {
    tracks: VecDeque<Track>,
    due: VecDeque<Pending>,
    /// Call at which the agent was last told something.
    told: Option<u64>,
}

impl Track {
    /// Derived from what it rests on.
    pub fn finding_id(session: &SessionKey, pattern: &str, claim: &Claim) -> String {
        let session = session.to_string();
        let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
        let first = claim.first.to_le_bytes();
        let digest = Digest::of_parts([session.as_bytes(), pattern.as_bytes(), &action, &outcome, &first]);
        format!("fnd-{:010x}", digest.0 & 0xff_ffff_ffff)
    }

    fn mark(pattern: &Pattern, claim: &Claim) -> Mark {
        let (action, outcome) = (claim.action.0.to_le_bytes(), claim.outcome.0.to_le_bytes());
        Mark::from(Digest::of_parts([pattern.name.as_bytes(), &action, &outcome]))
    }
}

impl Tracks {
    fn find(&self, mark: Mark) -> Option<&Track> {
        self.tracks.iter().rev().find(|track| track.mark == mark)
    }

    /// The step to take now, given what was done before; `None` when there is nothing new to do.
    pub(crate) fn step(&self, rules: &Rules, pattern: &Pattern, claim: &Claim, rung: Rung) -> Option<Rung> {
        let track = self.find(Track::mark(pattern, claim)).filter(|track| track.last >= claim.first);
        let Some(track) = track else {
            return Some(rung);
        };
        if track.rung >= Rung::Pause || (rung == Rung::Notice) || (rung == Rung::Nudge && claim.count <= track.count) {
            return None;
        }
        match rung {
            Rung::Nudge if track.nudges >= rules.max_nudges => Some(Rung::Pause),
            other => Some(other),
        }
    }

    pub(crate) fn took(
        &mut self,
        pattern: &'static Pattern,
        claim: &Claim,
        call: u64,
        rung: Rung,
        id: &str,
        message: Option<String>,
    ) {
        let mark = Track::mark(pattern, claim);
        let nudged = u32::from(rung == Rung::Nudge);
        match self.tracks.iter_mut().rev().find(|track| track.mark == mark && track.last >= claim.first) {
            Some(track) => {
                track.rung = track.rung.max(rung);
                track.nudges += nudged;
                track.last = call;
                track.count = claim.count;
            }
            None => {
                if self.tracks.len() == KEPT {
                    self.tracks.pop_front();
                }
                let track = Track {
                    mark,
                    id: id.to_owned(),
                    action: claim.action,
                    outcome: claim.outcome,
                    rung,
                    nudges: nudged,
                    first: claim.first,
                    last: call,
                    count: claim.count,
                };
                self.tracks.push_back(track);
            }
        }
        if rung >= Rung::Nudge {
            self.told = Some(call);
        }
        if let Some(message) = message {
            if self.due.len() == DUE {
                self.due.pop_front();
            }
            let due = Pending {
                finding: id.to_owned(),
                message,
                matcher: claim.matcher,
                outlives_edits: pattern.outlives_edits,
                call,
            };
            self.due.push_back(due);
        }
    }

    /// Takes the nudge that answers this call, if one is due.
    pub(crate) fn take_due(&mut self, call: &Call) -> Option<Pending> {
        self.due.retain(|due| call.ordinal <= due.call + PATIENCE);
        let at = self.due.iter().position(|due| match due.matcher {
            Matcher::Key(key) => call.key == key,
            Matcher::Target(target) => call.edits() && call.target.same(target),
            Matcher::Tool(tool) => call.tool == tool,
            Matcher::Any => !call.is_neutral(),
            Matcher::Turn => false,
        })?;
        self.due.remove(at)
    }

    /// Something new was changed: nudges about going round without changing anything are void.
    pub(crate) fn changed(&mut self) {
        self.due.retain(|due| due.outlives_edits);
    }

    /// A person spoke or the slate was wiped.
    pub(crate) fn clear(&mut self) {
        self.due.clear();
        self.tracks.clear();
        self.told = None;
    }
}

/// A call that was answered with a nudge.
pub(crate) fn deny(call: &mut Call) {
    call.traits.set(Traits::DENIED, true);
}
