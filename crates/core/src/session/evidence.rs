//! What detectors rest on: calls with their answers, and what is new about them.

use super::call::{Call, CallFlags, ShortDigest};
use super::dialogue::PromptOrigin;
use super::{ProgressClock, Session};
use crate::action::ToolKind;
use crate::detect::{NudgeTarget, Trigger};
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Event, ModelAnswered, ModelAsked, Prompt, Source, ToolCalled, ToolReturned};
use crate::outcome::{CallStatus, Outcome};
use crate::policy::{EvaluationTrigger, PendingNudge};
use crate::rules::Rules;

/// Shorter answers say next to nothing.
const MIN_MEANINGFUL_BYTES: u32 = 4;

impl Session {
    pub(super) fn tool_called(&mut self, event: &Event, called: &ToolCalled, rules: &Rules, effects: &mut Vec<Effect>) {
        let ordinal = self.counters.calls - 1;
        self.meter.mark_call(ordinal, &self.spent);
        let call = self.window.push(ordinal, event.batch.as_deref(), event.at, called);
        call.traits.set(CallFlags::SEEN_BY_PROXY, event.source == Source::Proxy);
        call.traits.set(CallFlags::ALLOWED, rules.allow.allows(called));
        // Who declared a wait may look afterwards how it went.
        if std::mem::take(&mut self.waited) {
            call.traits.set(CallFlags::POLL, true);
        }
        for (at, custom) in rules.matches().iter().enumerate() {
            call.custom |= u32::from(custom.matches_call(called)) << at;
        }
        self.busy_calls += u64::from(!call.is_neutral() && !call.is(CallFlags::POLL));
        for at in self.window.evicted() {
            self.resolve_call(at, rules);
            self.evaluate(evaluation_trigger(Trigger::Answered, at, event), rules, effects);
        }
        let newest = self.last_call_index();
        let Some(call) = self.window.get(newest) else { return };
        self.talk.on_call(call);
        let claims = call.kind == ToolKind::Finish;
        // What the proxy tells of is over: nothing of it can be refused, and nudges wait for a request.
        let is_over = event.source == Source::Proxy;
        let mut due = if is_over { None } else { self.tracks.take_matching_nudge(call) };
        if due.is_none() && (!is_over || claims) {
            let trigger = if claims { Trigger::Claimed } else { Trigger::Answered };
            self.evaluate(
                EvaluationTrigger { asked: !is_over, ..evaluation_trigger(trigger, newest, event) },
                rules,
                effects,
            );
            // What is asked for this very moment can be answered at once.
            due = self.window.get(newest).filter(|_| !is_over).and_then(|call| self.tracks.take_matching_nudge(call));
        }
        if let Some(due) = due {
            self.deny(newest, due, event);
        }
    }

    /// Answers a call with a nudge. Being held back is an occurrence, too: it would have ended as before.
    fn deny(&mut self, at: usize, due: PendingNudge, event: &Event) {
        let repeats = matches!(due.matcher, NudgeTarget::Key(_) | NudgeTarget::Target(_) | NudgeTarget::Tool(_));
        let mut before = self.window.calls().range(..at).rev().filter(|call| due.matcher.matches(call));
        let as_before = before.find_map(|call| call.answer.clone()).filter(|_| repeats);
        let verdict = Verdict::Nudge { finding: due.finding, message: due.message };
        self.remember_answer(event.identity_digest(), verdict);
        if let Some(call) = self.window.get_mut(at) {
            call.traits.set(CallFlags::HELD_BACK, true);
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
        let Some(at) = self.window.match_result(returned) else { return };
        let outage = self.judge(at, returned, rules);
        self.resolve_call(at, rules);
        let since = self.window.get(at).map(|call| (call.kind, event.at.saturating_since(call.at)));
        if let Some((kind, since)) = since {
            self.pace.record_duration(
                kind,
                returned.duration_ms.unwrap_or_else(|| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            );
        }
        if outage {
            self.pace.outages += 1;
            self.evaluate(evaluation_trigger(Trigger::Outage, at, event), rules, effects);
        } else {
            self.pace.outages = 0;
        }
        self.evaluate(evaluation_trigger(Trigger::Answered, at, event), rules, effects);
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
        traits.set(CallFlags::HELD_BACK, false);
        traits.set(CallFlags::NO_OUTPUT, outcome.empty || outcome.acknowledged || outcome.len < MIN_MEANINGFUL_BYTES);
        traits.set(CallFlags::OUTAGE, outage);
        traits.set(CallFlags::PASSED, call.is(CallFlags::CHECK) && call.succeeded() && clean);
        call.traits = traits;
        for (at, custom) in rules.matches().iter().enumerate() {
            if !custom.matches_outcome(returned, status) {
                call.custom &= !(1 << at);
            }
        }
        // A file that is read may be full of words like "error"; what was looked at is not how it went.
        if !failed
            && call.is(CallFlags::READ_ONLY)
            && let Some(answer) = &mut call.answer
        {
            answer.family = ShortDigest::NONE;
            answer.failing = ShortDigest::NONE;
            answer.failure = ShortDigest::NONE;
        }
        outage
    }

    /// Finds out what is new about a call that was answered, or will not be any more.
    pub(super) fn resolve_call(&mut self, at: usize, rules: &Rules) {
        let Some(call) = self.window.get(at) else { return };
        let (ok, outcome, key) = (call.succeeded(), call.outcome(), call.key);
        let bare = call.answer.is_none() || call.is(CallFlags::NO_OUTPUT);
        let changes = ok && call.is(CallFlags::MUTATES);
        let answer = call.answer.as_ref();
        let (family, failing) =
            answer.map_or((ShortDigest::NONE, ShortDigest::NONE), |answer| (answer.family, answer.failing));
        let mut traits = call.traits;
        let fine = traits.has(CallFlags::ALLOWED) || self.is_allowed(key, outcome, rules);
        traits.set(CallFlags::ALLOWED, fine);
        let mut news = |role: u64, a: u64, b: u64| self.seen.insert(seen_key(role, a, b));
        // After a compaction the agent must look again; what it tried and what failed is not forgiven.
        let memory = if ok && call.is(CallFlags::READ_ONLY) { self.counters.compactions << 8 } else { 0 };
        traits.set(CallFlags::NEW_ACTION_OUTCOME, news(1 + memory, key.0, outcome.0));
        traits.set(CallFlags::NEW_CHANGE, changes && news(2, key.0, 0));
        traits.set(CallFlags::FIRST_READ, news(3 + memory, 0, outcome.0) && ok && !bare && !changes);
        let new_error = family.is_some() && news(4, u64::from(family.bits()), 0);
        let new_failures = failing.is_some() && news(5, key.0, u64::from(failing.bits()));
        let edits = call.edits();
        let moved =
            [CallFlags::NEW_CHANGE, CallFlags::FIRST_READ, CallFlags::PASSED].into_iter().any(|new| traits.has(new));
        let commits = ok && traits.has(CallFlags::COMMITS) && traits.has(CallFlags::NEW_ACTION_OUTCOME);
        if let Some(call) = self.window.get_mut(at) {
            call.traits = traits;
        }
        if traits.has(CallFlags::NEW_CHANGE) {
            self.tracks.on_change();
            if edits {
                self.talk.on_change();
            }
        }
        if moved || new_error || new_failures || commits {
            self.mark_progress();
        }
    }

    /// There is evidence that the session moved.
    pub(super) fn mark_progress(&mut self) {
        self.busy_calls = 0;
        self.clock = ProgressClock { at: self.facts.last_at, ..ProgressClock::default() };
    }

    pub(super) fn prompted(&mut self, event: &Event, prompt: &Prompt) {
        self.window.insert_boundary();
        match self.talk.on_prompt(prompt) {
            PromptOrigin::Person => {
                self.mark_progress();
                self.clear_evidence();
            }
            PromptOrigin::Machine => self.answer_turn(event),
            PromptOrigin::News => {}
        }
    }

    pub(super) fn model_asked(&mut self, event: &Event, ask: &ModelAsked, rules: &Rules, effects: &mut Vec<Effect>) {
        if ask.auxiliary {
            return;
        }
        self.asks.on_request(ask.tail);
        self.evaluate(evaluation_trigger(Trigger::Asked, self.last_call_index(), event), rules, effects);
        self.answer_turn(event);
    }

    /// A nudge about talk without deeds is the answer to the next turn; where no hook speaks for the
    /// agent, every nudge is.
    fn answer_turn(&mut self, event: &Event) {
        let only_channel = event.source == Source::Proxy && !self.sensors.hooked;
        let due = if only_channel { self.tracks.take_any_nudge() } else { self.tracks.take_turn_nudge() };
        if let Some(due) = due {
            let verdict = Verdict::Nudge { finding: due.finding, message: due.message };
            self.remember_answer(event.identity_digest(), verdict);
        }
    }

    pub(super) fn model_answered(
        &mut self,
        event: &Event,
        answer: &ModelAnswered,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        self.window.insert_boundary();
        self.pace.outages = 0;
        self.talk.on_response(answer);
        self.evaluate(evaluation_trigger(Trigger::Said, self.last_call_index(), event), rules, effects);
    }

    pub(super) fn last_call_index(&self) -> usize {
        self.window.calls().len().saturating_sub(1)
    }

    /// An exit code that became known only later.
    pub(super) fn on_late_exit_code(
        &mut self,
        event: &Event,
        id: &str,
        code: i32,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let Some(at) = self.window.position(id) else { return };
        let Some(answer) = self.window.get_mut(at).and_then(|call| call.answer.as_mut()) else { return };
        if code != 0 && answer.status == CallStatus::Ok {
            answer.status = CallStatus::Error;
            if let Some(call) = self.window.get_mut(at) {
                call.traits.set(CallFlags::PASSED, false);
                call.traits.set(CallFlags::NEW_CHANGE, false);
            }
            self.evaluate(evaluation_trigger(Trigger::Answered, at, event), rules, effects);
        }
    }

    /// What happened so far is no evidence any more.
    pub(super) fn clear_evidence(&mut self) {
        self.window.drop_evidence(self.counters.calls);
        self.tracks.clear();
        self.talk.clear();
        self.asks = super::RequestHistory::default();
        self.pace.children_started = 0;
    }
}

pub(super) fn evaluation_trigger(trigger: Trigger, focus: usize, event: &Event) -> EvaluationTrigger {
    EvaluationTrigger { trigger, focus, asked: false, at: event.at }
}

/// A mark for the memory of what was seen; `role` keeps kinds of marks apart.
pub(super) fn seen_key(role: u64, a: u64, b: u64) -> Digest {
    let mixed = (a ^ b.rotate_left(23)).wrapping_add(role).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Digest(mixed ^ (mixed >> 29))
}

impl Call {
    /// Stands for "an edit of this file".
    pub(crate) fn target_digest(&self) -> Digest {
        seen_key(6, u64::from(self.target.bits()), u64::from(self.edits()))
    }

    /// Stands for "a call of this tool".
    pub(crate) fn tool_digest(&self) -> Digest {
        seen_key(7, u64::from(self.tool.bits()), 0)
    }

    /// Stands for the class of its error.
    pub(crate) fn family_digest(&self) -> Digest {
        seen_key(8, u64::from(self.family().bits()), 0)
    }
}
