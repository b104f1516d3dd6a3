//! Maintains the evidence for detectors: calls with their results, and what is new about them.

use super::call::{Call, CallFlags, ShortDigest};
use super::dialogue::{PromptOrigin, is_outage};
use super::external_facts::reported_id;
use super::word_novelty::Novelty;
use super::{ProgressClock, Session};
use crate::action::ToolKind;
use crate::detect::{NudgeTarget, Trigger};
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Author, Event, ModelAnswered, ModelAsked, Prompt, Source, ToolCalled, ToolReturned};
use crate::outcome::{CallStatus, Outcome};
use crate::policy::{Evaluation, PendingNudge};
use crate::rules::Rules;

/// Shorter outputs count as empty.
const MIN_MEANINGFUL_BYTES: u32 = 4;

impl Session {
    pub(super) fn tool_called(&mut self, event: &Event, called: &ToolCalled, rules: &Rules, effects: &mut Vec<Effect>) {
        let ordinal = self.counters.calls - 1;
        self.strip.record_call(ordinal);
        self.meter.mark_call(ordinal, &self.spent);
        let call = self.window.push(ordinal, event.batch.as_deref(), event.at, called);
        call.flags.set(CallFlags::SEEN_BY_PROXY, event.source == Source::Proxy);
        call.flags.set(CallFlags::ALLOWED, rules.allow.allows(called));
        call.id = call.id.take().or_else(|| reported_id(event));
        // The first call after a declared wait checks its result, so it counts as a poll.
        if std::mem::take(&mut self.wait_just_ended) {
            call.flags.set(CallFlags::POLL, true);
        }
        // Without an id, the result is matched by the fingerprint of the whole input.
        if let Some(key) =
            rules.identity.iter().find_map(|identity| identity.key(called)).filter(|_| called.call.is_some())
        {
            call.key = key;
        }
        for (at, custom) in rules.matches().iter().enumerate() {
            call.custom |= u32::from(custom.matches_call(called)) << at;
        }
        self.calls_since_progress += u64::from(!call.is_neutral() && !call.is(CallFlags::POLL));
        for at in self.window.abandoned() {
            self.resolve_unanswered(at, rules);
            self.evaluate(evaluation(Trigger::CallUpdated, at, event), rules, effects);
        }
        let newest = self.last_call_index();
        // What the agent wrote itself is not new when an output shows it.
        let novelty = self.known_words.read(called.input.as_str());
        if let Some(call) = self.window.get_mut(newest) {
            call.flags.set(CallFlags::NOTHING_NEW, call.is(CallFlags::NOTES) && novelty == Novelty::No);
        }
        let Some(call) = self.window.get(newest) else { return };
        self.dialogue.on_call(call);
        self.complaints.on_answer();
        let claims = call.kind == ToolKind::Finish;
        // A call seen by the proxy has already run, so it cannot be held back; its nudge waits for a request.
        let already_ran = event.source == Source::Proxy;
        // While the session is held, its calls are denied anyway.
        let batch = self.window.newest_batch();
        let mut nudge = match already_ran || self.is_held() {
            true => None,
            false => self.findings.take_matching_nudge(call, batch.clone()),
        };
        if nudge.is_none() && (!already_ran || claims) {
            let trigger = if claims { Trigger::CompletionClaimed } else { Trigger::CallUpdated };
            self.evaluate(Evaluation { pending: !already_ran, ..evaluation(trigger, newest, event) }, rules, effects);
            // This call has not run yet, so the nudge can be delivered now.
            nudge = self
                .window
                .get(newest)
                .filter(|_| !already_ran)
                .and_then(|call| self.findings.take_matching_nudge(call, batch));
        }
        if let Some(nudge) = nudge {
            self.hold_back(newest, nudge, event);
        }
    }

    /// Holds a call back and delivers a nudge instead. The call counts as another occurrence with the previous
    /// result.
    fn hold_back(&mut self, at: usize, nudge: PendingNudge, event: &Event) {
        let repeats = !matches!(nudge.nudge_target, NudgeTarget::Any | NudgeTarget::Turn);
        let mut before = self.window.calls().range(..at).rev().filter(|call| nudge.nudge_target.matches(call));
        let previous_result = before.find_map(|call| call.result.clone()).filter(|_| repeats);
        let verdict = Verdict::Nudge { finding: nudge.finding, message: nudge.message };
        self.record_verdict(event.identity_digest(), verdict);
        if let Some(call) = self.window.get_mut(at) {
            call.flags.set(CallFlags::HELD_BACK, true);
            call.result = previous_result;
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
        let outage = self.interpret_result(at, returned, rules);
        self.resolve_call(at, rules);
        let ended = self.window.get(at).map(|call| (call.ordinal, call.outcome()));
        if ended.is_some_and(|(call, outcome)| self.findings.confirm_nudge(call, outcome)) {
            self.counters.nudges = self.counters.nudges.saturating_sub(1);
        }
        self.check_novelty(at, returned);
        if let Some(call) = self.window.get(at).filter(|call| call.kind == ToolKind::Finish && call.failed()) {
            self.dialogue.claim_refused(call.ordinal, call.outcome());
        }
        let since = self.window.get(at).map(|call| (call.kind, event.at.saturating_since(call.at)));
        if let Some((kind, since)) = since {
            self.activity.record_duration(
                kind,
                returned.duration_ms.unwrap_or_else(|| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            );
        }
        if outage {
            self.activity.outages += 1;
            self.evaluate(evaluation(Trigger::Outage, at, event), rules, effects);
        } else {
            self.activity.outages = 0;
        }
        self.evaluate(evaluation(Trigger::CallUpdated, at, event), rules, effects);
    }

    /// Sets the flags that follow from the result. Returns whether an external system failed.
    fn interpret_result(&mut self, at: usize, returned: &ToolReturned, rules: &Rules) -> bool {
        let outcome: &Outcome = &returned.outcome;
        let Some(call) = self.window.get_mut(at) else { return false };
        // A probe that exits non-zero has answered: nothing found, files differ, not there.
        if call.is(CallFlags::PROBE)
            && returned.exit_code.or(outcome.exit_code).is_some_and(|code| code == 1 || code == 2)
            && let Some(result) = call.result.as_mut().filter(|result| result.status == CallStatus::Error)
        {
            result.status = CallStatus::Ok;
        }
        let failed = call.failed();
        let status = call.status().unwrap_or_default();
        let clean = outcome.checks.as_ref().map_or(outcome.family.is_none(), |checks| checks.failed == 0);
        let outage = outcome.outage && failed;
        let mut flags = call.flags;
        flags.set(CallFlags::HELD_BACK, false);
        flags.set(CallFlags::NO_OUTPUT, outcome.empty || outcome.acknowledged || outcome.len < MIN_MEANINGFUL_BYTES);
        flags.set(CallFlags::OUTAGE, outage);
        flags.set(CallFlags::EXIT_CODE_KNOWN, returned.exit_code.or(outcome.exit_code).is_some());
        flags.set(CallFlags::STARTS, !failed && (flags.intersects(CallFlags::STARTS) || outcome.started));
        flags.set(CallFlags::PASSED, call.is(CallFlags::CHECK) && call.succeeded() && clean);
        call.flags = flags;
        for (at, custom) in rules.matches().iter().enumerate() {
            if !custom.matches_outcome(returned, status) {
                call.custom &= !(1 << at);
            }
        }
        // File content may contain words like "error"; they say nothing about the read itself.
        if !failed
            && call.is(CallFlags::READ_ONLY)
            && let Some(result) = &mut call.result
        {
            result.family = ShortDigest::NONE;
            result.failing = ShortDigest::NONE;
            result.failure = ShortDigest::NONE;
        }
        outage
    }

    /// Marks a call whose output says nothing new. Environment files are not read.
    fn check_novelty(&mut self, at: usize, returned: &ToolReturned) {
        let Some(call) = self.window.get_mut(at) else { return };
        if call.is(CallFlags::NOTES) || call.is(CallFlags::ENV_FILE) {
            return;
        }
        let known = match self.known_words.read(returned.output.as_str()) {
            Novelty::Yes => false,
            Novelty::No => true,
            Novelty::Unknown => !call.is(CallFlags::FIRST_READ),
        };
        call.flags.set(CallFlags::NOTHING_NEW, known);
    }

    /// Sets the novelty flags of a call once it has a result or will never get one.
    pub(super) fn resolve_call(&mut self, at: usize, rules: &Rules) {
        let Some(call) = self.window.get(at) else { return };
        let (ok, failed, call_status) = (call.succeeded(), call.failed(), call.status());
        let (outcome, key) = (call.outcome(), call.key);
        let empty = call.result.is_none() || call.is(CallFlags::NO_OUTPUT);
        let changes = ok && call.is(CallFlags::MUTATES);
        let result = call.result.as_ref();
        let (family, failing) =
            result.map_or((ShortDigest::NONE, ShortDigest::NONE), |result| (result.family, result.failing));
        let known_lines = self.window.shows_known_lines(at);
        let mut flags = call.flags;
        let allowed = flags.intersects(CallFlags::ALLOWED) || self.is_allowed(key, outcome, rules);
        flags.set(CallFlags::ALLOWED, allowed);
        let mut is_new = |role: u64, a: u64, b: u64| self.seen.insert(seen_key(role, a, b));
        // After a compaction the agent has to read files again, and a new request by a person may be about what was
        // read for the last one. What it tried and what failed still counts.
        let reads_anew = self.counters.compactions + self.dialogue.person_prompts;
        let compaction = if ok && call.is(CallFlags::READ_ONLY) { reads_anew << 8 } else { 0 };
        // What was started is something of its own each time, and its receipt shows nothing.
        let starts = flags.intersects(CallFlags::STARTS) && call_status.is_some() && !failed;
        flags.set(CallFlags::NEW_ACTION_OUTCOME, is_new(1 + compaction, key.0, outcome.0) || starts);
        flags.set(CallFlags::NEW_CHANGE, changes && is_new(2, key.0, 0));
        flags.set(CallFlags::KNOWN_LINES, known_lines);
        let new_output = is_new(3 + compaction, 0, outcome.0) && !known_lines;
        flags.set(CallFlags::FIRST_READ, new_output && ok && !empty && !changes && !starts);
        let new_error = family.is_some() && is_new(4, u64::from(family.bits()), 0);
        let new_failures = failing.is_some() && is_new(5, key.0, u64::from(failing.bits()));
        let changes_file = call.changes_file();
        let progressed = [CallFlags::NEW_CHANGE, CallFlags::FIRST_READ, CallFlags::PASSED]
            .into_iter()
            .any(|new| flags.intersects(new));
        let is_new_pair = flags.intersects(CallFlags::NEW_ACTION_OUTCOME);
        let commits = ok && flags.intersects(CallFlags::COMMITS) && is_new_pair;
        let progress = progressed || new_error || new_failures || commits;
        flags.set(CallFlags::PROGRESS, progress);
        if let Some(call) = self.window.get_mut(at) {
            call.flags = flags;
            if is_new_pair && !call.is(CallFlags::EXTERNAL) {
                self.strip.record_new(call.ordinal);
            }
        }
        if self.window.get(at).is_some_and(Call::may_restore_files) {
            self.file_history.clear();
        }
        if flags.intersects(CallFlags::NEW_CHANGE) {
            self.findings.on_change();
            if changes_file {
                self.dialogue.on_change();
            }
        }
        if progress {
            self.mark_progress();
        }
    }

    /// Resets the progress clock.
    pub(super) fn mark_progress(&mut self) {
        self.calls_since_progress = 0;
        self.clock = ProgressClock { at: self.facts.last_at, ..ProgressClock::default() };
    }

    pub(super) fn prompted(&mut self, event: &Event, prompt: &Prompt, rules: &Rules, effects: &mut Vec<Effect>) {
        self.window.insert_boundary();
        let origin = self.dialogue.on_prompt(prompt, event.at);
        // A long paste that comes again looks like a harness's text; from a person, it is a complaint all the same.
        if prompt.by == Author::Person {
            self.complaints.on_message(prompt.text.as_str(), self.counters.calls);
        }
        match origin {
            PromptOrigin::Person => {
                self.mark_progress();
                self.clear_evidence();
            }
            PromptOrigin::Harness => self.deliver_turn_nudge(event),
            PromptOrigin::GoOn => self.deliver_turn_nudge(event),
            PromptOrigin::Notification => {}
        }
        self.evaluate(evaluation(Trigger::PersonPrompted, self.last_call_index(), event), rules, effects);
    }

    pub(super) fn model_asked(&mut self, event: &Event, ask: &ModelAsked, rules: &Rules, effects: &mut Vec<Effect>) {
        if ask.auxiliary {
            return;
        }
        self.request_history.on_request(ask.tail);
        self.evaluate(evaluation(Trigger::ModelAsked, self.last_call_index(), event), rules, effects);
        self.deliver_turn_nudge(event);
    }

    /// Delivers a nudge with the next turn: those about turns without tool calls, or any nudge if the agent
    /// has no hook.
    fn deliver_turn_nudge(&mut self, event: &Event) {
        let only_channel = event.source == Source::Proxy && !self.sensor_dedup.hooked;
        let nudge = match only_channel {
            // The proxy reports the delivery once the request carries the nudge.
            true => self.findings.next_nudge(self.counters.calls.saturating_sub(1)),
            false => self.findings.take_turn_nudge(),
        };
        if let Some(nudge) = nudge {
            let verdict = Verdict::Nudge { finding: nudge.finding, message: nudge.message };
            self.record_verdict(event.identity_digest(), verdict);
        }
    }

    /// Whether nudges are delivered with model requests, because no hook reports.
    pub(crate) fn is_nudged_by_requests(&self) -> bool {
        self.sensor_dedup.proxied && !self.sensor_dedup.hooked
    }

    pub(super) fn model_answered(
        &mut self,
        event: &Event,
        answer: &ModelAnswered,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        self.window.insert_boundary();
        if !is_outage(answer) {
            self.activity.outages = 0;
        }
        let is_idle = !answer.auxiliary && answer.tool_calls.is_none_or(|calls| calls == 0);
        let says_nothing_new = is_idle && self.known_words.read(answer.text.as_str()) == Novelty::No;
        self.dialogue.on_response(answer, says_nothing_new, event.at);
        if !is_outage(answer) && !answer.auxiliary {
            self.complaints.on_answer();
        }
        self.evaluate(evaluation(Trigger::ModelAnswered, self.last_call_index(), event), rules, effects);
    }

    pub(super) fn last_call_index(&self) -> usize {
        self.window.calls().len().saturating_sub(1)
    }

    /// Applies an exit code that arrived after the result.
    pub(super) fn on_late_exit_code(
        &mut self,
        event: &Event,
        id: &str,
        code: i32,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let Some(at) = self.window.position(id) else { return };
        let Some(call) = self.window.get_mut(at) else { return };
        // The source that knows the exit code decides, and it decides once.
        let decided = call.is(CallFlags::EXIT_CODE_KNOWN);
        let Some(result) = call.result.as_mut().filter(|_| !decided) else { return };
        let status = match (code, result.status) {
            (0, CallStatus::Error) => CallStatus::Ok,
            (_, CallStatus::Ok) if code != 0 => CallStatus::Error,
            (_, as_it_was) => as_it_was,
        };
        let changed = std::mem::replace(&mut result.status, status) != status;
        call.flags.set(CallFlags::EXIT_CODE_KNOWN, true);
        if changed {
            if status == CallStatus::Error {
                call.flags.set(CallFlags::PASSED, false);
                call.flags.set(CallFlags::NEW_CHANGE, false);
                // The output of a failed call is not a read.
                call.flags.set(CallFlags::FIRST_READ, false);
            }
            self.evaluate(evaluation(Trigger::CallUpdated, at, event), rules, effects);
        }
    }

    /// Discards the evidence collected so far.
    pub(super) fn clear_evidence(&mut self) {
        self.window.drop_evidence(self.counters.calls);
        self.findings.clear();
        self.dialogue.clear();
        self.request_history = super::RequestHistory::default();
        self.activity.sub_agents_started = 0;
    }
}

pub(super) fn evaluation(trigger: Trigger, focus: usize, event: &Event) -> Evaluation {
    Evaluation { trigger, focus, pending: false, at: event.at }
}

/// Key for [`SeenSet`](super::SeenSet); `role` separates the kinds of keys.
pub(super) fn seen_key(role: u64, a: u64, b: u64) -> Digest {
    let mixed = (a ^ b.rotate_left(23)).wrapping_add(role).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Digest(mixed ^ (mixed >> 29))
}

impl Call {
    /// Identifies "an edit of this file".
    pub(crate) fn target_digest(&self) -> Digest {
        seen_key(6, u64::from(self.target.bits()), u64::from(self.edits()))
    }

    /// Identifies "a call of this tool".
    pub(crate) fn tool_digest(&self) -> Digest {
        seen_key(7, u64::from(self.tool.bits()), 0)
    }

    /// Identifies the error family.
    pub(crate) fn family_digest(&self) -> Digest {
        seen_key(8, u64::from(self.family().bits()), 0)
    }
}
