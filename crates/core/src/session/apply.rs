//! Applies one event to a session.

use std::borrow::Cow;

use super::evidence::evaluation;
use super::{DeclaredWait, KnownWords, ResumeCondition, Session, SessionState};
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Author, Body, Event, OperatorDecision, TaskPhase};
use crate::excerpt::floor;
use crate::outcome::CallStatus;
use crate::rules::Rules;
use crate::time::Timestamp;

impl Session {
    /// Applies an event and returns its effects. A duplicate changes nothing.
    pub fn apply(&mut self, event: &Event, rules: &Rules) -> Vec<Effect> {
        let identity = event.identity_digest();
        if self.is_duplicate(identity) { Vec::new() } else { self.apply_unseen(event, identity, rules) }
    }

    /// Like [`Session::apply`], for callers that have already ruled out a duplicate of `identity`.
    pub fn apply_unseen(&mut self, event: &Event, identity: Digest, rules: &Rules) -> Vec<Effect> {
        self.identities.insert(identity);
        let before = self.state.clone();
        let mut effects = Vec::new();
        self.expire_cooldown(event.at, &mut effects);
        self.expire_wait(event.at);
        let already_reported = self.is_already_reported(event);
        self.sensor_dedup.record_source(event);
        self.record_facts(event);
        if !already_reported {
            self.update_activity(event);
            self.count(event, rules);
            self.dispatch(event, rules, &mut effects);
            self.update_phase(event, rules);
        }
        if self.state != before {
            effects.push(Effect::StateChanged { from: before, to: self.state.clone() });
        }
        if event.is_question() && self.is_held() {
            self.record_verdict(identity, self.hold_verdict());
            if matches!(event.body, Body::ToolCalled(_)) && !already_reported {
                self.window.mark_newest_held_back();
            }
        }
        effects
    }

    /// The event as it may be stored: the result of a call that shows an environment file loses every value.
    pub fn redact_env_result<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
        match &event.body {
            Body::ToolReturned(returned) if self.window.shows_env_file(returned) => {
                let body = Body::ToolReturned(returned.with_env_values_redacted());
                Cow::Owned(Event { body, ..event.clone() })
            }
            _ => Cow::Borrowed(event),
        }
    }

    /// Ends a pause whose cooldown is over.
    fn expire_cooldown(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let SessionState::Paused { until, gate, .. } = &mut self.state else { return };
        if until.is_none_or(|until| now < until) {
            return;
        }
        if *gate == ResumeCondition::Plan {
            *until = None;
        } else {
            self.state = SessionState::Active;
            self.close_incident(now, effects);
        }
    }

    /// An agent that is killed while it waits never reports the end of the wait, so the wait expires.
    fn expire_wait(&mut self, now: Timestamp) {
        if self.waiting.as_ref().and_then(|wait| wait.until).is_some_and(|until| now >= until) {
            self.waiting = None;
            self.wait_just_ended = true;
        }
    }

    fn record_facts(&mut self, event: &Event) {
        let facts = &mut self.facts;
        if event.at.is_known() {
            if !facts.started_at.is_known() {
                facts.started_at = event.at;
                self.clock.at = event.at;
            }
            // Clocks jump and results arrive late, so the newest time never decreases. A tick is not activity, nor is
            // a person's look at the session.
            let looks =
                matches!(&event.body, Body::Operator(operator) if operator.decision == OperatorDecision::MarkSeen);
            if !matches!(event.body, Body::Tick) && !looks {
                facts.last_at = facts.last_at.max(event.at);
                let span = facts.last_at.saturating_since(facts.started_at);
                self.spent.millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
            }
        }
        update(&mut facts.cwd, event.cwd.as_deref(), MAX_PATH_BYTES);
        if let Body::Prompt(prompt) = &event.body
            && prompt.by == Author::Person
            && facts.first_prompt.is_none()
        {
            let line = prompt.text.as_str().lines().map(str::trim).find(|line| !line.is_empty());
            update(&mut facts.first_prompt, line, MAX_TITLE_BYTES);
        }
        if self.parent.is_none() {
            self.parent.clone_from(&event.parent);
        }
        let model = match &event.body {
            Body::SessionStarted(start) => {
                update(&mut facts.project, start.project.as_deref(), MAX_PATH_BYTES);
                update(&mut facts.transcript, start.transcript.as_deref(), MAX_PATH_BYTES);
                update(&mut facts.branch, start.branch.as_deref(), MAX_NAME_BYTES);
                update(&mut facts.task, start.task.as_deref(), MAX_NAME_BYTES);
                update(&mut facts.agent_version, start.agent_version.as_deref(), MAX_NAME_BYTES);
                facts.pid = start.pid.or(facts.pid);
                &start.model
            }
            Body::ModelAsked(ask) if !ask.auxiliary => &ask.model,
            Body::ModelAnswered(answer) if !answer.auxiliary => &answer.model,
            Body::Learned(fact) => &fact.model,
            _ => &None,
        };
        update(&mut facts.model, model.as_deref(), MAX_NAME_BYTES);
    }

    fn count(&mut self, event: &Event, rules: &Rules) {
        let counters = &mut self.counters;
        counters.events += 1;
        match &event.body {
            Body::ToolCalled(_) => {
                counters.calls += 1;
                self.spent.calls += 1;
                self.clock.since.calls += 1;
            }
            Body::ToolReturned(result) => {
                counters.results += 1;
                if matches!(result.status, CallStatus::Error | CallStatus::TimedOut) {
                    counters.errors += 1;
                }
            }
            Body::Prompt(prompt) if prompt.by == Author::Person => counters.human_turns += 1,
            Body::FileChanged(_) => counters.edits += 1,
            Body::CheckRan(check) => match check.ok {
                Some(true) => counters.passed_checks += 1,
                Some(false) => counters.failed_checks += 1,
                None => {}
            },
            Body::ModelAsked(_) => self.load_limits(rules),
            Body::ModelAnswered(answer) => {
                counters.answers += u64::from(!answer.auxiliary);
                self.record_spend(event, rules);
            }
            Body::Learned(_) => self.record_spend(event, rules),
            Body::SubAgentStarted(_) => counters.sub_agents += 1,
            Body::Compacted(_) => {
                self.counters.compactions += 1;
                // The agent no longer knows what it read.
                self.known_words = KnownWords::default();
                self.window.compact(self.counters.calls);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, event: &Event, rules: &Rules, effects: &mut Vec<Effect>) {
        match &event.body {
            Body::Operator(operator) => self.apply_operator_decision(event, operator, effects),
            Body::SessionEnded(_) => {
                effects.extend(self.settle_unanswered(rules));
                self.facts.ended_at = Some(event.at);
                self.waiting = None;
                self.settings.clear();
                // An operator's decision outlives the agent process.
                if self.state == SessionState::Active {
                    self.state = SessionState::Ended { at: event.at };
                }
            }
            Body::Waiting(wait) => {
                self.window.ignore_declared_wait();
                self.waiting = Some(DeclaredWait {
                    since: event.at,
                    until: wait.until,
                    what: floor(wait.what.as_str(), MAX_NAME_BYTES).to_owned(),
                    all: wait.all.clone(),
                });
            }
            Body::WaitEnded(_) => {
                self.waiting = None;
                self.wait_just_ended = true;
            }
            Body::Prompt(prompt) => {
                self.reopen(event.at);
                self.prompted(event, prompt, rules, effects);
                let text = prompt.text.as_str().trim_start();
                if prompt.by == Author::Person
                    && let Some(plan) = text.get(..5).filter(|p| p.eq_ignore_ascii_case("plan:")).and(text.get(5..))
                {
                    self.record_plan(plan, event.at, effects);
                }
            }
            Body::ModelAsked(ask) => {
                self.account = ask.account.or(self.account);
                self.reopen(event.at);
                self.refuse_unpriced_model(event, ask, rules, effects);
                self.model_asked(event, ask, rules, effects);
                if !ask.plan.is_empty() {
                    self.record_plan(ask.plan.as_str(), event.at, effects);
                }
            }
            Body::ToolCalled(called) => {
                self.reopen(event.at);
                self.tool_called(event, called, rules, effects);
            }
            Body::ToolReturned(returned) => self.tool_returned(event, returned, rules, effects),
            Body::ModelAnswered(answer) => {
                self.reopen(event.at);
                self.model_answered(event, answer, rules, effects);
                self.check_budgets(event, rules, effects);
            }
            Body::Learned(fact) => {
                if let (Some(call), Some(code)) = (&fact.call, fact.exit_code) {
                    self.on_late_exit_code(event, call, code, rules, effects);
                }
                if fact.usage.is_some() {
                    self.check_budgets(event, rules, effects);
                }
            }
            Body::FileChanged(change) => self.file_changed(event, change, rules, effects),
            Body::CheckRan(check) => self.check_ran(event, check, rules, effects),
            Body::Committed(_) => self.mark_progress(),
            Body::Task(task) if task.phase == TaskPhase::Completed => self.mark_progress(),
            Body::ModelFailed(_) | Body::LimitHit(_) => {
                self.activity.outages += 1;
                self.evaluate(evaluation(Trigger::Outage, self.last_call_index(), event), rules, effects);
            }
            Body::SharedSpent(spend) => {
                self.shared = *spend;
                self.check_budgets(event, rules, effects);
            }
            Body::SubAgentsSpent(spend) => self.descendant_spend(event, &spend.beneath, rules, effects),
            Body::SubAgentStarted(_) => {
                self.evaluate(evaluation(Trigger::SubAgentStarted, self.last_call_index(), event), rules, effects)
            }
            Body::Tick => self.tick(event.at, rules, effects),
            // The agent claims nothing.
            Body::TurnEnded(turn) if turn.interrupted || turn.failed => {}
            Body::TurnEnded(_) => {
                effects.extend(self.settle_unanswered(rules));
                self.dialogue.turn_ended(self.counters.calls.saturating_sub(1), event.at);
                self.evaluate(evaluation(Trigger::CompletionClaimed, self.last_call_index(), event), rules, effects);
            }
            Body::SessionStarted(_) => self.reopen(event.at),
            Body::Delivered(delivered) => self.findings_mut().mark_delivered(&delivered.finding),
            _ => {}
        }
    }

    /// Activity after the end means that the conversation was resumed. What happened before the end may arrive later.
    fn reopen(&mut self, at: Timestamp) {
        if self.facts.ended_at.is_some_and(|ended| at < ended) {
            return;
        }
        self.facts.ended_at = None;
        if matches!(self.state, SessionState::Ended { .. }) {
            self.state = SessionState::Active;
        }
    }

    /// Records a plan. A new plan ends a pause that requires one.
    pub(super) fn record_plan(&mut self, plan: &str, at: Timestamp, effects: &mut Vec<Effect>) -> bool {
        let digest = plan_digest(plan);
        // The plan does not count before the cooldown is over, so it must not be recorded as used.
        let cooling = matches!(self.state, SessionState::Paused { gate: ResumeCondition::Plan, until: Some(_), .. });
        if plan.trim().is_empty() || self.plans.contains(&digest) || cooling {
            return false;
        }
        const MAX_PLANS: usize = 16;
        if self.plans.len() == MAX_PLANS {
            self.plans.remove(0);
        }
        self.plans.push(digest);
        if let SessionState::Paused { gate: ResumeCondition::Plan, .. } = self.state {
            self.state = SessionState::Active;
            self.close_incident(at, effects);
        }
        true
    }

    /// The verdict on an event that has just been applied.
    pub fn verdict(&self, event: &Event) -> Verdict {
        match event.is_question() {
            true if self.verdicts.is_empty() => self.hold_verdict(),
            true => self.repeat_verdict(event.identity_digest()),
            false => Verdict::Go,
        }
    }
}

/// Maximum length of paths and of other names in the facts.
const MAX_PATH_BYTES: usize = 512;
const MAX_NAME_BYTES: usize = 200;

/// Stores a new value, truncated. Avoids an allocation when the value is unchanged, as it is for most events.
fn update(slot: &mut Option<String>, new: Option<&str>, bytes: usize) {
    let new = new.map(|new| floor(new, bytes));
    if new.is_some() && slot.as_deref() != new {
        *slot = new.map(str::to_owned);
    }
}

/// Digest of the words only, so that case, punctuation and spacing do not make a new plan.
fn plan_digest(plan: &str) -> Digest {
    let words: Vec<String> =
        plan.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    Digest::from_bytes(words.join(" "))
}

/// Maximum length of the first prompt that is kept as a title.
const MAX_TITLE_BYTES: usize = 120;
