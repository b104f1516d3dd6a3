//! One event into one session.

use super::evidence::occasion;
use super::{Gate, Session, State, Wait};
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::{Effect, Verdict};
use crate::event::{Author, Body, Event, TaskPhase};
use crate::excerpt::floor;
use crate::outcome::Status;
use crate::rules::Rules;
use crate::time::Time;

impl Session {
    /// Takes one event in and tells what follows from it. An event seen before changes nothing.
    pub fn apply(&mut self, event: &Event, rules: &Rules) -> Vec<Effect> {
        let identity = event.fingerprint();
        if self.has_seen(identity) { Vec::new() } else { self.apply_new(event, identity, rules) }
    }

    /// As [`Session::apply`], for whoever has found that this identity, the event's, was not seen lately.
    pub fn apply_new(&mut self, event: &Event, identity: Digest, rules: &Rules) -> Vec<Effect> {
        self.identities.remember(identity);
        let before = self.state.clone();
        let mut effects = Vec::new();
        self.lift_if_due(event.at, &mut effects);
        self.end_wait_if_due(event.at);
        let told = self.is_told(event);
        self.sensors.note(event);
        self.note_facts(event);
        if !told {
            self.note_pace(event);
            self.count(event, rules);
            self.react(event, rules, &mut effects);
        }
        if self.state != before {
            effects.push(Effect::StateChanged { from: before, to: self.state.clone() });
        }
        if event.asks() && self.standing() != Verdict::Go {
            self.remember_answer(identity, self.standing());
            if matches!(event.body, Body::ToolCalled(_)) && !told {
                self.window.deny_newest();
            }
        }
        effects
    }

    /// A cooldown that a person gave with a resume ends by itself.
    fn lift_if_due(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let State::Paused { until, gate, .. } = &mut self.state else { return };
        if until.is_none_or(|until| now < until) {
            return;
        }
        if *gate == Gate::Plan {
            *until = None;
        } else {
            self.state = State::Active;
            self.close_incident(now, effects);
        }
    }

    /// Who declared a wait and was killed in it cannot say that it is over; its ceiling does.
    fn end_wait_if_due(&mut self, now: Time) {
        if self.waiting.as_ref().and_then(|wait| wait.until).is_some_and(|until| now >= until) {
            self.waiting = None;
            self.waited = true;
        }
    }

    fn note_facts(&mut self, event: &Event) {
        let facts = &mut self.facts;
        if event.at.is_known() {
            if !facts.started_at.is_known() {
                facts.started_at = event.at;
                self.clock.at = event.at;
            }
            // Clocks jump and results come late: the newest time never goes back. That time passes is no
            // sign of life.
            if !matches!(event.body, Body::Tick) {
                facts.last_at = facts.last_at.max(event.at);
            }
        }
        keep(&mut facts.cwd, event.cwd.as_deref(), PATH_BYTES);
        if self.parent.is_none() {
            self.parent.clone_from(&event.parent);
        }
        let model = match &event.body {
            Body::SessionStarted(start) => {
                keep(&mut facts.project, start.project.as_deref(), PATH_BYTES);
                keep(&mut facts.transcript, start.transcript.as_deref(), PATH_BYTES);
                keep(&mut facts.branch, start.branch.as_deref(), NAME_BYTES);
                keep(&mut facts.task, start.task.as_deref(), NAME_BYTES);
                keep(&mut facts.agent_version, start.agent_version.as_deref(), NAME_BYTES);
                facts.pid = start.pid.or(facts.pid);
                &start.model
            }
            Body::ModelAsked(ask) if !ask.auxiliary => &ask.model,
            Body::ModelAnswered(answer) if !answer.auxiliary => &answer.model,
            Body::Learned(fact) => &fact.model,
            _ => &None,
        };
        keep(&mut facts.model, model.as_deref(), NAME_BYTES);
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
                if matches!(result.status, Status::Error | Status::TimedOut) {
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
            Body::ModelAsked(_) => self.know_limits(rules),
            Body::ModelAnswered(answer) => {
                counters.answers += u64::from(!answer.auxiliary);
                self.spend(event, answer.model.as_deref(), answer.usage.as_ref(), answer.cost_micros, rules);
                self.fill(answer, rules);
            }
            Body::Learned(fact) => self.spend(event, fact.model.as_deref(), fact.usage.as_ref(), None, rules),
            Body::SubAgentStarted(_) => counters.sub_agents += 1,
            Body::Compacted(_) => counters.compactions += 1,
            _ => {}
        }
    }

    fn react(&mut self, event: &Event, rules: &Rules, effects: &mut Vec<Effect>) {
        match &event.body {
            Body::Operator(operator) => self.operate(event, operator, effects),
            Body::SessionEnded(_) => {
                self.facts.ended_at = Some(event.at);
                self.waiting = None;
                // A person's decision outlives the agent process.
                if self.state == State::Active {
                    self.state = State::Ended { at: event.at };
                }
            }
            Body::Waiting(wait) => {
                self.window.excuse_wait();
                self.waiting = Some(Wait {
                    since: event.at,
                    until: wait.until,
                    what: floor(wait.what.as_str(), NAME_BYTES).to_owned(),
                });
            }
            Body::WaitEnded(_) => {
                self.waiting = None;
                self.waited = true;
            }
            Body::Prompt(prompt) => {
                self.come_back();
                self.prompted(event, prompt);
                let text = prompt.text.as_str().trim_start();
                if prompt.by == Author::Person
                    && let Some(plan) = text.get(..5).filter(|p| p.eq_ignore_ascii_case("plan:")).and(text.get(5..))
                {
                    self.name_plan(plan, event.at, effects);
                }
            }
            Body::ModelAsked(ask) => {
                self.account = ask.account.or(self.account);
                self.come_back();
                self.model_asked(event, ask, rules, effects);
                if !ask.plan.is_empty() {
                    self.name_plan(ask.plan.as_str(), event.at, effects);
                }
            }
            Body::ToolCalled(called) => {
                self.come_back();
                self.tool_called(event, called, rules, effects);
            }
            Body::ToolReturned(returned) => self.tool_returned(event, returned, rules, effects),
            Body::ModelAnswered(answer) => {
                self.come_back();
                self.model_answered(event, answer, rules, effects);
                self.look_at_spending(event, rules, effects);
            }
            Body::Learned(fact) => {
                if let (Some(call), Some(code)) = (&fact.call, fact.exit_code) {
                    self.learned_exit(event, call, code, rules, effects);
                }
                if fact.usage.is_some() {
                    self.look_at_spending(event, rules, effects);
                }
            }
            Body::FileChanged(change) => self.file_changed(event, change, rules, effects),
            Body::CheckRan(check) => self.check_ran(event, check, rules, effects),
            Body::Committed(_) => self.progressed(),
            Body::Task(task) if task.phase == TaskPhase::Completed => self.progressed(),
            Body::ModelFailed(_) | Body::LimitHit(_) => {
                self.pace.outages += 1;
                self.examine(occasion(Trigger::Outage, self.newest(), event), rules, effects);
            }
            Body::SharedSpent(told) => {
                self.shared = *told;
                self.look_at_spending(event, rules, effects);
            }
            Body::SubAgentsSpent(told) => self.spent_beneath(event, &told.beneath, rules, effects),
            Body::SubAgentStarted(_) => self.examine(occasion(Trigger::Branched, self.newest(), event), rules, effects),
            Body::Tick => self.tick(event.at, rules, effects),
            Body::TurnEnded(_) => {
                self.talk.turn_ended(self.counters.calls.saturating_sub(1));
                self.examine(occasion(Trigger::Claimed, self.newest(), event), rules, effects);
            }
            Body::SessionStarted(_) => self.come_back(),
            Body::Delivered(delivered) => self.tracks_mut().delivered(&delivered.finding),
            _ => {}
        }
    }

    /// Activity after an end: the conversation goes on.
    fn come_back(&mut self) {
        self.facts.ended_at = None;
        if matches!(self.state, State::Ended { .. }) {
            self.state = State::Active;
        }
    }

    /// A plan lifts a pause that waits for one, if it differs from those tried.
    pub(super) fn name_plan(&mut self, plan: &str, at: Time, effects: &mut Vec<Effect>) -> bool {
        let digest = plan_digest(plan);
        // Too early: it may be named again when the cooldown is over.
        let cooling = matches!(self.state, State::Paused { gate: Gate::Plan, until: Some(_), .. });
        if plan.trim().is_empty() || self.plans.contains(&digest) || cooling {
            return false;
        }
        const KEPT: usize = 16;
        if self.plans.len() == KEPT {
            self.plans.remove(0);
        }
        self.plans.push(digest);
        if let State::Paused { gate: Gate::Plan, .. } = self.state {
            self.state = State::Active;
            self.close_incident(at, effects);
        }
        true
    }

    /// The verdict on an event that was just applied.
    pub fn verdict(&self, event: &Event) -> Verdict {
        match event.asks() {
            true if self.answers.is_empty() => self.standing(),
            true => self.answer_again(event.fingerprint()),
            false => Verdict::Go,
        }
    }
}

/// Longest path and longest other name kept of what sensors tell about a session.
const PATH_BYTES: usize = 512;
const NAME_BYTES: usize = 200;

/// Keeps what is new, cut to a bound; most events tell what is known already.
fn keep(slot: &mut Option<String>, new: Option<&str>, bytes: usize) {
    let new = new.map(|new| floor(new, bytes));
    if new.is_some() && slot.as_deref() != new {
        *slot = new.map(str::to_owned);
    }
}

/// Plans differ when their words do: case, punctuation and spacing make no new plan.
fn plan_digest(plan: &str) -> Digest {
    let words: Vec<String> =
        plan.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    Digest::of(words.join(" "))
}
