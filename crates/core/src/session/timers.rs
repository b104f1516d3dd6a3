//! Conditions that only elapsed time reveals: a stall, a hung tool, an open permission prompt. They notify the
//! operator, because the agent could not read a message.

use super::activity::StallNotice;
use super::{Session, SessionState};
use crate::action::ToolKind;
use crate::effect::Effect;
use crate::event::{Body, Event};
use crate::rules::{PatternRule, Rules};
use crate::session::call::CallFlags;
use crate::status::{PhaseContext, RunningCall};
use crate::time::Timestamp;

/// A tool counts as hung after this multiple of its typical duration.
const HUNG_TOOL_FACTOR: u64 = 5;

impl Session {
    /// Tracks what the agent is doing.
    pub(super) fn update_activity(&mut self, event: &Event) {
        match &event.body {
            Body::Tick | Body::Operator(_) | Body::Delivered(_) | Body::Note(_) => return,
            Body::TurnEnded(_) | Body::SessionEnded(_) => self.activity.working = false,
            Body::Prompt(_)
            | Body::ToolCalled(_)
            | Body::ToolReturned(_)
            | Body::ModelAsked(_)
            | Body::ModelAnswered(_) => {
                self.activity.working = true;
            }
            Body::SubAgentStarted(_) => {
                self.activity.running_sub_agents += 1;
                self.activity.sub_agents_started += 1;
            }
            Body::SubAgentEnded(_) => {
                self.activity.running_sub_agents = self.activity.running_sub_agents.saturating_sub(1)
            }
            _ => {}
        }
        self.activity.permission_since = match &event.body {
            Body::PermissionAsked(_) => Some(event.at),
            _ => None,
        };
        self.activity.on_activity(event.at);
    }

    /// Follows what the agent does, after the event has changed the calls.
    pub(super) fn update_phase(&mut self, event: &Event, rules: &Rules) {
        let stall = &rules.patterns.stall;
        let context = PhaseContext {
            running: self
                .window
                .running()
                .map(|call| RunningCall { what: &call.what, is_command: call.kind == ToolKind::Shell }),
            running_sub_agents: self.activity.running_sub_agents,
            stall_minutes: stall.minutes.filter(|_| stall.enabled),
        };
        self.phase.observe(event, context);
    }

    /// Checks the timeouts.
    pub(super) fn tick(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        if self.state != SessionState::Active || !self.activity.working || self.is_waiting(now) {
            return;
        }
        let patterns = &rules.patterns;
        let over = |rule: &PatternRule, since: Timestamp, at_least: u64| {
            let limit = rule.minutes.unwrap_or(u64::MAX).saturating_mul(60_000).max(at_least);
            let millis = u64::try_from(now.saturating_since(since).as_millis()).unwrap_or(u64::MAX);
            (rule.enabled && since.is_known() && millis >= limit).then_some(millis / 60_000)
        };
        let notice = if let Some(since) = self.activity.permission_since {
            over(&patterns.permission_prompt, since, 0).map(|minutes| {
                (
                    StallNotice::Permission,
                    "permission_prompt",
                    format!("A permission prompt has been open for {minutes} minutes without an answer."),
                )
            })
        } else if let Some(call) = self.window.running() {
            // Waiting for a sub-agent is not a hang, and polls are expected to take long.
            let exempt = matches!(call.kind, ToolKind::SubAgent | ToolKind::Ask)
                || call.is(CallFlags::POLL)
                || self.activity.running_sub_agents > 0;
            let at_least = self.activity.typical_duration_ms(call.kind).saturating_mul(HUNG_TOOL_FACTOR);
            let over = over(&patterns.hung_tool, call.at, at_least).filter(|_| !exempt);
            over.map(|minutes| {
                (
                    StallNotice::HungTool,
                    "hung_tool",
                    format!("`{}` has been running for {minutes} minutes, far longer than usual.", call.what),
                )
            })
        } else if self.activity.running_sub_agents == 0 {
            over(&patterns.stall, self.activity.last_activity, 0).map(|minutes| {
                (
                    StallNotice::Stall,
                    "stall",
                    format!("No activity for {minutes} minutes, although the agent is working and declared no wait."),
                )
            })
        } else {
            None
        };
        if let Some((what, pattern, sentence)) = notice
            && self.activity.should_notify_once(what)
        {
            effects.push(Effect::NotifyOperator { pattern: pattern.to_owned(), sentence });
        }
    }

    fn is_waiting(&self, now: Timestamp) -> bool {
        self.waiting.as_ref().is_some_and(|wait| wait.until.is_none_or(|until| now < until))
    }
}
