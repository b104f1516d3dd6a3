//! What only the passing of time shows: nothing happens, a tool hangs, nobody answers a prompt. A
//! person is told; the agent could not read it anyway.

use super::activity::StallNotice;
use super::{Session, SessionState};
use crate::action::ToolKind;
use crate::effect::Effect;
use crate::event::{Body, Event};
use crate::rules::{PatternRule, Rules};
use crate::session::call::CallFlags;
use crate::time::Timestamp;

/// A tool is hung when it takes so many times as long as such tools usually do.
const HUNG_TOOL_FACTOR: u64 = 5;

impl Session {
    /// Keeps track of what goes on.
    pub(super) fn update_activity(&mut self, event: &Event) {
        match &event.body {
            Body::Tick | Body::Operator(_) | Body::Delivered(_) | Body::Note(_) => return,
            Body::TurnEnded(_) | Body::SessionEnded(_) => self.pace.at_work = false,
            Body::Prompt(_)
            | Body::ToolCalled(_)
            | Body::ToolReturned(_)
            | Body::ModelAsked(_)
            | Body::ModelAnswered(_) => {
                self.pace.at_work = true;
            }
            Body::SubAgentStarted(_) => {
                self.pace.children += 1;
                self.pace.children_started += 1;
            }
            Body::SubAgentEnded(_) => self.pace.children = self.pace.children.saturating_sub(1),
            _ => {}
        }
        self.pace.asking_since = match &event.body {
            Body::PermissionAsked(_) => Some(event.at),
            _ => None,
        };
        self.pace.on_activity(event.at);
    }

    /// Time passed: is something wrong?
    pub(super) fn tick(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        if self.state != SessionState::Active || !self.pace.at_work || self.waits(now) {
            return;
        }
        let patterns = &rules.patterns;
        let over = |rule: &PatternRule, since: Timestamp, at_least: u64| {
            let limit = rule.minutes.unwrap_or(u64::MAX).saturating_mul(60_000).max(at_least);
            let millis = u64::try_from(now.saturating_since(since).as_millis()).unwrap_or(u64::MAX);
            (rule.enabled && since.is_known() && millis >= limit).then_some(millis / 60_000)
        };
        let told = if let Some(since) = self.pace.asking_since {
            over(&patterns.permission_prompt, since, 0).map(|minutes| {
                (
                    StallNotice::Permission,
                    "permission_prompt",
                    format!("A permission prompt has been open for {minutes} minutes; nobody has answered it."),
                )
            })
        } else if let Some(call) = self.window.running() {
            // Who waits for a child is not hung, and a poll is meant to take its time.
            let exempt = matches!(call.kind, ToolKind::SubAgent | ToolKind::Ask)
                || call.is(CallFlags::POLL)
                || self.pace.children > 0;
            let usual = self.pace.typical_duration_ms(call.kind).saturating_mul(HUNG_TOOL_FACTOR);
            let over = over(&patterns.hung_tool, call.at, usual).filter(|_| !exempt);
            over.map(|minutes| {
                (
                    StallNotice::HungTool,
                    "hung_tool",
                    format!("`{}` has been running for {minutes} minutes, far longer than usual.", call.what),
                )
            })
        } else if self.pace.children == 0 {
            over(&patterns.stall, self.pace.alive_at, 0).map(|minutes| {
                (StallNotice::Stall, "stall", format!("Nothing has happened for {minutes} minutes, though the agent is in the middle of its work and declared no wait."))
            })
        } else {
            None
        };
        if let Some((what, pattern, sentence)) = told
            && self.pace.should_notify_once(what)
        {
            effects.push(Effect::NotifyOperator { pattern: pattern.to_owned(), sentence });
        }
    }

    /// Whether a declared wait is still on.
    fn waits(&self, now: Timestamp) -> bool {
        self.waiting.as_ref().is_some_and(|wait| wait.until.is_none_or(|until| now < until))
    }
}
