//! What detectors rest on: calls with their answers, and what is new about them.

use super::call::{Call, Mark, Traits};
use super::talk::Voice;
use super::{ProgressClock, Session};
use crate::action::ToolKind;
use crate::detect::{Matcher, Trigger};
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Event, ModelAnswered, ModelAsked, Prompt, Source, ToolCalled, ToolReturned};
use crate::outcome::{Outcome, Status};
use crate::policy::{Occasion, Pending};
use crate::rules::Rules;

/// Shorter answers say next to nothing.
const BARE_BYTES: u32 = 4;

impl Session {
    pub(super) fn tool_called(&mut self, event: &Event, called: &ToolCalled, rules: &Rules, effects: &mut Vec<Effect>) {
        let ordinal = self.counters.calls - 1;
        self.meter.mark(ordinal, &self.spent);
        let call = self.window.push(ordinal, event.batch.as_deref(), event.at, called);
        call.traits.set(Traits::ON_WIRE, event.source == Source::Proxy);
        call.traits.set(Traits::ALLOWED, rules.allow.allows(called));
        // Who declared a wait may look afterwards how it went.
        if std::mem::take(&mut self.waited) {
            call.traits.set(Traits::POLL, true);
        }
        for (at, custom) in rules.matches().iter().enumerate() {
            call.custom |= u32::from(custom.call(called)) << at;
        }
        self.busy_calls += u64::from(!call.is_neutral() && !call.is(Traits::POLL));
        for at in self.window.left_behind() {
            self.settle(at, rules);
            self.examine(occasion(Trigger::Answered, at, event), rules, effects);
        }
        let newest = self.newest();
        let Some(call) = self.window.get(newest) else { return };
        self.talk.called(call);
        let claims = call.kind == ToolKind::Finish;
        // What the proxy tells of is over: nothing of it can be refused, and nudges wait for a request.
        let is_over = event.source == Source::Proxy;
        let mut due = if is_over { None } else { self.tracks.take_due(call) };
        if due.is_none() && (!is_over || claims) {
            let trigger = if claims { Trigger::Claimed } else { Trigger::Answered };
            self.examine(Occasion { asked: !is_over, ..occasion(trigger, newest, event) }, rules, effects);
            // What is asked for this very moment can be answered at once.
            due = self.window.get(newest).filter(|_| !is_over).and_then(|call| self.tracks.take_due(call));
        }
        if let Some(due) = due {
            self.deny(newest, due, event);
        }
    }

    /// Answers a call with a nudge. Being held back is an occurrence, too: it would have ended as before.
    fn deny(&mut self, at: usize, due: Pending, event: &Event) {
        let repeats = matches!(due.matcher, Matcher::Key(_) | Matcher::Target(_) | Matcher::Tool(_));
        let mut before = self.window.calls().range(..at).rev().filter(|call| due.matcher.fits(call));
        let as_before = before.find_map(|call| call.answer.clone()).filter(|_| repeats);
        let verdict = Verdict::Nudge { finding: due.finding, message: due.message };
        self.remember_answer(event.fingerprint(), verdict);
        if let Some(call) = self.window.get_mut(at) {
            call.traits.set(Traits::DENIED, true);
            call.answer = as_before;
        }
    }

    pub(super) fn tool_returned(
        &mut self,
        event: &Event,
        returned: &ToolReturned,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        if self.window.held_back(returned) {
            return;
        }
        let Some(at) = self.window.attach(returned) else { return };
        let outage = self.judge(at, returned, rules);
        self.settle(at, rules);
        let since = self.window.get(at).map(|call| (call.kind, event.at.since(call.at)));
        if let Some((kind, since)) = since {
            self.pace.took(
                kind,
                returned.duration_ms.unwrap_or_else(|| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            );
        }
        if outage {
            self.pace.outages += 1;
            self.examine(occasion(Trigger::Outage, at, event), rules, effects);
        } else {
            self.pace.outages = 0;
        }
        self.examine(occasion(Trigger::Answered, at, event), rules, effects);
    }

    /// What the text of an answer means, given what was asked. Tells whether something outside failed.
    fn judge(&mut self, at: usize, returned: &ToolReturned, rules: &Rules) -> bool {
        let outcome: &Outcome = &returned.outcome;
        let Some(call) = self.window.get_mut(at) else { return false };
        let failed = call.failed();
        let status = call.status().unwrap_or_default();
        let clean = outcome.checks.as_ref().map_or(outcome.family.is_none(), |checks| checks.failed == 0);
        let outage = outcome.outage && failed;
        let mut traits = call.traits;
        traits.set(Traits::DENIED, false);
        traits.set(Traits::BARE, outcome.empty || outcome.acknowledged || outcome.len < BARE_BYTES);
        traits.set(Traits::OUTAGE, outage);
        traits.set(Traits::PASSED, call.is(Traits::CHECK) && call.succeeded() && clean);
        call.traits = traits;
        for (at, custom) in rules.matches().iter().enumerate() {
            if !custom.answer(returned, status) {
                call.custom &= !(1 << at);
            }
        }
        // A file that is read may be full of words like "error"; what was looked at is not how it went.
        if !failed
            && call.is(Traits::LOOKS)
            && let Some(answer) = &mut call.answer
        {
            answer.family = Mark::NONE;
            answer.failing = Mark::NONE;
            answer.failure = Mark::NONE;
        }
        outage
    }

    /// Finds out what is new about a call that was answered, or will not be any more.
    pub(super) fn settle(&mut self, at: usize, rules: &Rules) {
        let Some(call) = self.window.get(at) else { return };
        let (ok, outcome, key) = (call.succeeded(), call.outcome(), call.key);
        let bare = call.answer.is_none() || call.is(Traits::BARE);
        let changes = ok && call.is(Traits::MUTATES);
        let answer = call.answer.as_ref();
        let (family, failing) = answer.map_or((Mark::NONE, Mark::NONE), |answer| (answer.family, answer.failing));
        let mut traits = call.traits;
        let fine = traits.has(Traits::ALLOWED) || self.is_fine(key, outcome, rules);
        traits.set(Traits::ALLOWED, fine);
        let mut news = |role: u64, a: u64, b: u64| self.seen.insert(mix(role, a, b));
        // After a compaction the agent must look again; what it tried and what failed is not forgiven.
        let memory = if ok && call.is(Traits::LOOKS) { self.counters.compactions << 8 } else { 0 };
        traits.set(Traits::NEW_PAIR, news(1 + memory, key.0, outcome.0));
        traits.set(Traits::NEW_CHANGE, changes && news(2, key.0, 0));
        traits.set(Traits::NEW_SIGHT, news(3 + memory, 0, outcome.0) && ok && !bare && !changes);
        let new_error = family.is_some() && news(4, u64::from(family.bits()), 0);
        let new_failures = failing.is_some() && news(5, key.0, u64::from(failing.bits()));
        let edits = call.edits();
        let moved = [Traits::NEW_CHANGE, Traits::NEW_SIGHT, Traits::PASSED].into_iter().any(|new| traits.has(new));
        let commits = ok && traits.has(Traits::COMMITS) && traits.has(Traits::NEW_PAIR);
        if let Some(call) = self.window.get_mut(at) {
            call.traits = traits;
        }
        if traits.has(Traits::NEW_CHANGE) {
            self.tracks.changed();
            if edits {
                self.talk.changed();
            }
        }
        if moved || new_error || new_failures || commits {
            self.progressed();
        }
    }

    /// There is evidence that the session moved.
    pub(super) fn progressed(&mut self) {
        self.busy_calls = 0;
        self.clock = ProgressClock { at: self.facts.last_at, ..ProgressClock::default() };
    }

    pub(super) fn prompted(&mut self, event: &Event, prompt: &Prompt) {
        self.window.separate();
        match self.talk.prompted(prompt) {
            Voice::Person => {
                self.progressed();
                self.wipe();
            }
            Voice::Machine => self.answer_turn(event),
            Voice::News => {}
        }
    }

    pub(super) fn model_asked(&mut self, event: &Event, ask: &ModelAsked, rules: &Rules, effects: &mut Vec<Effect>) {
        if ask.auxiliary {
            return;
        }
        self.asks.asked(ask.tail);
        self.examine(occasion(Trigger::Asked, self.newest(), event), rules, effects);
        self.answer_turn(event);
    }

    /// A nudge about talk without deeds is the answer to the next turn; where no hook speaks for the
    /// agent, every nudge is.
    fn answer_turn(&mut self, event: &Event) {
        let only_channel = event.source == Source::Proxy && !self.sensors.hooked;
        let due = if only_channel { self.tracks.take_any_due() } else { self.tracks.take_due_turn() };
        if let Some(due) = due {
            let verdict = Verdict::Nudge { finding: due.finding, message: due.message };
            self.remember_answer(event.fingerprint(), verdict);
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
        self.pace.outages = 0;
        self.talk.answered(answer);
        self.examine(occasion(Trigger::Said, self.newest(), event), rules, effects);
    }

    pub(super) fn newest(&self) -> usize {
        self.window.calls().len().saturating_sub(1)
    }

    /// An exit code that became known only later.
    pub(super) fn learned_exit(
        &mut self,
        event: &Event,
        id: &str,
        code: i32,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let Some(at) = self.window.position(id) else { return };
        let Some(answer) = self.window.get_mut(at).and_then(|call| call.answer.as_mut()) else { return };
        if code != 0 && answer.status == Status::Ok {
            answer.status = Status::Error;
            if let Some(call) = self.window.get_mut(at) {
                call.traits.set(Traits::PASSED, false);
                call.traits.set(Traits::NEW_CHANGE, false);
            }
            self.examine(occasion(Trigger::Answered, at, event), rules, effects);
        }
    }

    /// What happened so far is no evidence any more.
    pub(super) fn wipe(&mut self) {
        self.window.forgive(self.counters.calls);
        self.tracks.clear();
        self.talk.wipe();
        self.asks = super::Asks::default();
        self.pace.children_started = 0;
    }
}

pub(super) fn occasion(trigger: Trigger, focus: usize, event: &Event) -> Occasion {
    Occasion { trigger, focus, asked: false, at: event.at }
}

/// A mark for the memory of what was seen; `role` keeps kinds of marks apart.
pub(super) fn mix(role: u64, a: u64, b: u64) -> Digest {
    let mixed = (a ^ b.rotate_left(23)).wrapping_add(role).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Digest(mixed ^ (mixed >> 29))
}

impl Call {
    /// Stands for "an edit of this file".
    pub(crate) fn target_digest(&self) -> Digest {
        mix(6, u64::from(self.target.bits()), u64::from(self.edits()))
    }

    /// Stands for "a call of this tool".
    pub(crate) fn tool_digest(&self) -> Digest {
        mix(7, u64::from(self.tool.bits()), 0)
    }

    /// Stands for the class of its error.
    pub(crate) fn family_digest(&self) -> Digest {
        mix(8, u64::from(self.family().bits()), 0)
    }
}
