//! Which sensors speak for a session, and what two of them tell in words of their own.
//!
//! Most facts carry the agent's own ids and are known again by them. Some agents give their hooks none:
//! then what a hook told is looked for when the same thing passes the proxy, which is always later,
//! because a request repeats what has happened. Each is taken for the other once, so nothing is lost
//! when one of the two falls silent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Session;
use crate::digest::Digest;
use crate::event::{Body, Event, Prompt, Source};
use crate::time::Timestamp;

/// How many prompts wait to be seen on the wire.
const MAX_PENDING_PROMPTS: usize = 8;
/// A hook's word on an answer may come so long before the proxy's own.
const MAX_HOOK_LEAD: Duration = Duration::from_secs(10);

/// Who speaks for a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SensorDedup {
    /// A hook of the agent.
    pub(super) hooked: bool,
    /// The proxy sees its requests.
    proxied: bool,
    /// Prompts a hook told of, not seen on the wire yet.
    prompts: Vec<Digest>,
    /// When a hook told of an answer that the proxy had not told of.
    early: Option<Timestamp>,
}

impl SensorDedup {
    pub(super) fn record_source(&mut self, event: &Event) {
        self.hooked |= event.source == Source::Hook;
        self.proxied |= event.source == Source::Proxy && matches!(event.body, Body::ModelAsked(_));
    }

    fn prompt(&mut self, source: Source, prompt: &Prompt) -> bool {
        let digest = Digest::of(prompt.text.as_str().trim());
        match source {
            Source::Hook => {
                if self.prompts.len() == MAX_PENDING_PROMPTS {
                    self.prompts.remove(0);
                }
                self.prompts.push(digest);
                false
            }
            Source::Proxy => {
                let at = self.prompts.iter().position(|told| *told == digest);
                at.map(|at| self.prompts.remove(at)).is_some()
            }
            _ => false,
        }
    }

    /// The proxy reads what an answer cost from the answer itself.
    fn answer(&mut self, source: Source, at: Timestamp) -> bool {
        match source {
            Source::Hook if self.proxied => true,
            Source::Hook => {
                self.early = Some(at);
                false
            }
            Source::Proxy => self.early.take().is_some_and(|told| at.saturating_since(told) < MAX_HOOK_LEAD),
            _ => false,
        }
    }
}

impl Session {
    /// Whether another sensor has told of this already.
    pub(super) fn is_already_reported(&mut self, event: &Event) -> bool {
        let on_wire = event.source == Source::Proxy && self.sensors.hooked;
        match &event.body {
            Body::Prompt(prompt) => self.sensors.prompt(event.source, prompt),
            Body::ModelAnswered(_) => self.sensors.answer(event.source, event.at),
            Body::Learned(fact) if fact.usage.is_some() => self.sensors.answer(event.source, event.at),
            Body::ModelAsked(_) => event.source == Source::Hook && self.sensors.proxied,
            Body::ToolCalled(called) if on_wire => self.window.take_unmatched(called),
            Body::ToolReturned(returned) if on_wire => self.window.take_unmatched_result(returned),
            _ => false,
        }
    }
}
