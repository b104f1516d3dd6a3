//! Deduplicates facts that two sensors report without a common id.
//!
//! Most facts carry the agent's ids and are deduplicated by identity. Some agents' hooks have no ids. Their
//! reports are then matched when the same fact passes the proxy, which is always later because a request
//! repeats the history. Each report is matched once, so nothing is lost if one sensor stops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Session;
use crate::digest::Digest;
use crate::event::{Author, Body, Event, Prompt, Source};
use crate::time::Timestamp;

/// Maximum number of prompts not yet seen by the proxy.
const MAX_PENDING_PROMPTS: usize = 8;
/// Maximum time by which a hook's report of a response may precede the proxy's.
const MAX_HOOK_LEAD: Duration = Duration::from_secs(10);

/// The sensors that report on a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SensorDedup {
    /// A hook has reported.
    pub(super) hooked: bool,
    /// The proxy has seen a request.
    pub(super) proxied: bool,
    /// A sender without the API token, or of an unknown user, has reported.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unverified: bool,
    /// Prompts reported by a hook and not yet seen by the proxy.
    pending_prompts: Vec<Digest>,
    /// Time of a hook's report of a response that the proxy has not reported yet.
    response_from_hook: Option<Timestamp>,
}

impl SensorDedup {
    pub(super) fn record_source(&mut self, event: &Event) {
        self.hooked |= event.source == Source::Hook;
        self.unverified |=
            event.source == Source::Unverified || matches!(&event.body, Body::ModelAsked(asked) if asked.unverified);
        self.proxied |= event.source == Source::Proxy && matches!(event.body, Body::ModelAsked(_));
    }

    fn is_reported_prompt(&mut self, source: Source, prompt: &Prompt) -> bool {
        let digest = Digest::from_bytes(prompt.text.as_str().trim());
        match source {
            Source::Hook => {
                if self.pending_prompts.len() == MAX_PENDING_PROMPTS {
                    self.pending_prompts.remove(0);
                }
                self.pending_prompts.push(digest);
                false
            }
            Source::Proxy => {
                let at = self.pending_prompts.iter().position(|reported| *reported == digest);
                let is_reported = at.map(|at| self.pending_prompts.remove(at)).is_some();
                // The hook reports a person's prompt before the agent sends it. A message that only the request contains
                // was written by a program, or is an old one that has moved in the history.
                is_reported || self.hooked && prompt.by == Author::Person
            }
            _ => false,
        }
    }

    /// The proxy's report wins, because it reads the usage from the response itself.
    fn is_reported_response(&mut self, source: Source, at: Timestamp) -> bool {
        match source {
            Source::Hook if self.proxied => true,
            Source::Hook => {
                self.response_from_hook = Some(at);
                false
            }
            Source::Proxy => {
                self.response_from_hook.take().is_some_and(|reported| at.saturating_since(reported) < MAX_HOOK_LEAD)
            }
            _ => false,
        }
    }
}

impl Session {
    /// Whether events of this session came from a sender that did not prove who it is.
    pub fn has_unverified_events(&self) -> bool {
        self.sensor_dedup.unverified
    }

    /// Whether another sensor has already reported this event.
    pub(super) fn is_already_reported(&mut self, event: &Event) -> bool {
        let from_proxy = event.source == Source::Proxy && self.sensor_dedup.hooked;
        // Requests of a sub-agent may not name it, and then seem to be its parent's. Its hooks report its calls under its own
        // id.
        let may_be_of_sub_agent = self.counters.sub_agents > 0;
        match &event.body {
            Body::Prompt(prompt) => self.sensor_dedup.is_reported_prompt(event.source, prompt),
            Body::ModelAnswered(_) => self.sensor_dedup.is_reported_response(event.source, event.at),
            Body::Learned(fact) if fact.usage.is_some() => {
                self.sensor_dedup.is_reported_response(event.source, event.at)
            }
            Body::ModelAsked(_) => event.source == Source::Hook && self.sensor_dedup.proxied,
            Body::ToolCalled(called) if from_proxy => self.window.take_unmatched(called) || may_be_of_sub_agent,
            Body::ToolReturned(returned) if from_proxy => {
                self.window.take_unmatched_result(returned) || may_be_of_sub_agent
            }
            _ => false,
        }
    }
}
