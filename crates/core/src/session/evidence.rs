//! What detectors rest on: calls with their answers, and what is new about them.

use super::call::{Call, Mark, Traits};
use super::talk::Voice;
use super::{Session, Talk, Window};
use crate::action::ToolKind;
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Event, ModelAnswered, Prompt, ToolCalled, ToolReturned};
use crate::outcome::Outcome;
use crate::policy::{Tracks, deny};
use crate::rules::Rules;

/// Shorter answers say next to nothing.
const BARE_BYTES: u32 = 4;

impl Session {
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn talk(&self) -> &Talk {
        &self.talk
    }

    pub(crate) fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    pub(crate) fn tracks_mut(&mut self) -> &mut Tracks {
        &mut self.tracks
    }

    pub(super) fn tool_called(&mut self, event: &Event, called: &ToolCalled, rules: &Rules, effects: &mut Vec<Effect>) {
        let ordinal = self.counters.calls - 1;
        self.window.push(ordinal, event.batch.as_deref(), event.at, called);
        for at in self.window.left_behind() {
            self.settle(at);
            self.examine(Trigger::Answered, at, false, event.at, rules, effects);
        }
        let newest = self.newest();
        let Some(call) = self.window.get_mut(newest) else { return };
        self.talk.called(call);
        let claimed = call.kind == ToolKind::Finish;
        if let Some(due) = self.tracks.take_due(call) {
            deny(call);
            let identity = Digest::of(event.identity());
            self.remember_answer(identity, Verdict::Nudge { finding: due.finding, message: due.message });
        } else {
            let trigger = if claimed { Trigger::Claimed } else { Trigger::Answered };
            self.examine(trigger, newest, true, event.at, rules, effects);
        }
    }

    pub(super) fn tool_returned(
        &mut self,
        event: &Event,
        returned: &ToolReturned,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let Some(at) = self.window.attach(returned) else { return };
        self.judge(at, &returned.outcome);
        self.settle(at);
        self.examine(Trigger::Answered, at, false, event.at, rules, effects);
    }

    /// What the text of an answer means, given what was asked.
    fn judge(&mut self, at: usize, outcome: &Outcome) {
        let Some(call) = self.window.get_mut(at) else { return };
        let failed = call.failed();
        let clean = outcome.checks.as_ref().map_or(outcome.family.is_none(), |checks| checks.failed == 0);
        let mut traits = call.traits;
        traits.set(Traits::BARE, outcome.empty || outcome.acknowledged || outcome.len < BARE_BYTES);
        traits.set(Traits::OUTAGE, outcome.outage && failed);
        traits.set(Traits::PASSED, call.is(Traits::CHECK) && call.succeeded() && clean);
        call.traits = traits;
        // A file that is read may be full of words like "error"; what was looked at is not how it went.
        if !failed
            && call.is(Traits::LOOKS)
            && let Some(answer) = &mut call.answer
        {
            answer.family = Mark::NONE;
            answer.failing = Mark::NONE;
            answer.failure = Mark::NONE;
        }
    }

    /// Finds out what is new about an answered call.
    fn settle(&mut self, at: usize) {
        let Some(call) = self.window.get(at) else { return };
        let mut traits = call.traits;
        let ok = call.succeeded();
        let outcome = call.outcome();
        let bare = call.answer.is_none() || call.is(Traits::BARE);
        traits.set(Traits::NEW_PAIR, self.seen.insert(mix(1, call.key, outcome)));
        let changes = ok && call.is(Traits::MUTATES);
        traits.set(Traits::NEW_CHANGE, changes && self.seen.insert(mix(2, call.key, Digest(0))));
        traits.set(Traits::NEW_SIGHT, self.seen.insert(mix(3, Digest(0), outcome)) && ok && !bare && !changes);
        if let Some(call) = self.window.get_mut(at) {
            call.traits = traits;
        }
        if traits.has(Traits::NEW_CHANGE) {
            self.tracks.changed();
            if self.window.get(at).is_some_and(Call::edits) {
                self.talk.changed();
            }
        }
        if traits.has(Traits::NEW_CHANGE) || traits.has(Traits::NEW_SIGHT) {
            self.progressed();
        }
    }

    /// There is evidence that the session moved.
    pub(super) fn progressed(&mut self) {
        self.clock = super::ProgressClock { at: self.facts.last_at, ..Default::default() };
    }

    pub(super) fn prompted(&mut self, prompt: &Prompt) {
        self.window.separate();
        if self.talk.prompted(prompt) == Voice::Person {
            self.progressed();
            self.wipe();
        }
    }

    pub(super) fn model_answered(
        &mut self,
        event: &Event,
        answer: &ModelAnswered,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        self.window.separate();
        self.talk.answered(answer);
        self.examine(Trigger::Said, self.newest(), false, event.at, rules, effects);
    }

    fn newest(&self) -> usize {
        self.window.calls().len().saturating_sub(1)
    }

    /// What happened so far is no evidence any more.
    pub(super) fn wipe(&mut self) {
        self.window.forgive(self.counters.calls);
        self.tracks.clear();
    }
}

/// A mark for the memory of what was seen; `role` keeps kinds of marks apart.
fn mix(role: u64, a: Digest, b: Digest) -> Digest {
    let mixed = (a.0 ^ b.0.rotate_left(23)).wrapping_add(role).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Digest(mixed ^ (mixed >> 29))
}

impl Call {
    pub(crate) fn shape_bytes(&self) -> [u8; 8] {
        Digest::of(format!("{:?}{:?}", self.kind, self.target)).0.to_le_bytes()
    }

    pub(crate) fn tool_bytes(&self) -> [u8; 8] {
        Digest::of(format!("{:?}", self.tool)).0.to_le_bytes()
    }

    pub(crate) fn family_digest(&self) -> Digest {
        Digest::of(format!("{:?}", self.family()))
    }
}
