//! Turns records into events.

use std::sync::Arc;
use std::time::Duration;

use belay_core::event::{
    Delivered, ModelAnswered, ModelAsked, ModelFailed, Prompt, SessionStarted, TextFingerprint, ToolCalled,
    ToolReturned, UsageLimitHit,
};
use belay_core::{Body, CallStatus, Digest, Event, Excerpt, SessionKey, Source, Timestamp};

use super::request_meta::RequestMeta;
use super::session_id::SessionLabels;
use super::wire::{ApiError, MessageItem, ResponseSummary};

/// A request without its messages.
#[derive(Clone, Debug)]
pub(crate) struct RequestRecord {
    pub(crate) session: SessionKey,
    pub(crate) meta: Arc<RequestMeta>,
    /// Chosen by Belay; ties the response to the request.
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    pub(crate) auxiliary: bool,
    pub(crate) labels: SessionLabels,
    pub(crate) model: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) plan: Option<String>,
}

impl RequestRecord {
    fn event(&self, id: String, at: Timestamp, body: Body) -> Event {
        let mut event = Event::new(id, self.session.clone(), Source::Proxy, at, body);
        event.parent.clone_from(&self.meta.sender.identity.parent);
        event.cwd.clone_from(&self.labels.cwd);
        event
    }

    /// The id of an event that belongs to the request.
    fn event_id(&self, suffix: &str) -> String {
        [&self.id, suffix].concat()
    }

    /// The first event of a conversation.
    pub(crate) fn session_started_event(&self) -> Event {
        let started = SessionStarted {
            model: self.model.clone(),
            agent_version: self.meta.sender.identity.version.clone(),
            project: self.labels.project.clone(),
            branch: self.labels.branch.clone(),
            task: self.labels.task.clone(),
            ..SessionStarted::default()
        };
        self.event(self.event_id("-start"), self.at, Body::SessionStarted(started))
    }

    /// Adds the events of the new messages. Their ids contain their position in the conversation, so a prompt that is read
    /// again after a change of history is the same event. Returns a fingerprint of the text if there are only prompts.
    pub(crate) fn events_from_messages<'a>(
        &self,
        messages: impl Iterator<Item = (usize, &'a [u8])>,
        events: &mut Vec<Event>,
    ) -> Option<TextFingerprint> {
        let before = events.len();
        for (position, message) in messages {
            let mut part = 0;
            self.meta.api.format().read_message(message, &mut |item| {
                part += 1;
                events.extend(self.item_event(item, (position, part)));
            });
        }
        let mut prompts = String::new();
        for event in &events[before..] {
            match &event.body {
                Body::Prompt(prompt) => prompts.push_str(prompt.text.as_str()),
                _ => return None,
            }
        }
        (!prompts.is_empty()).then(|| TextFingerprint::from_text(&prompts))
    }

    fn item_event(&self, item: MessageItem<'_>, position: (usize, usize)) -> Option<Event> {
        let named = |id: &str| Some(id.to_owned()).filter(|id| !id.is_empty());
        let (id, body) = match item {
            MessageItem::Call { id, name, input } => {
                let input = input.to_value();
                let kind = self.meta.sender.client.kind_of(&name, &input);
                (id_at("call", position), Body::ToolCalled(ToolCalled::new(named(&id), kind, &name, &input)))
            }
            MessageItem::Result { call, text, failed } => {
                let status = failed.then_some(CallStatus::Error);
                (id_at("result", position), Body::ToolReturned(ToolReturned::new(named(&call), status, None, &text)))
            }
            MessageItem::Prompt { text } => {
                let (by, text) = self.meta.sender.client.user_prompt(&text)?;
                let digest = Digest::from_bytes(text);
                (id_at(&format!("prompt-{digest}"), position), Body::Prompt(Prompt { by, text: Excerpt::new(text) }))
            }
        };
        // Event ids are unique within a session, so the position is enough.
        Some(self.event(id, self.at, body))
    }

    pub(crate) fn model_asked_event(&self, tail: Option<TextFingerprint>) -> Event {
        let asked = ModelAsked {
            request: Some(self.id.clone()),
            model: self.model.clone(),
            auxiliary: self.auxiliary,
            tail,
            bytes: Some(self.bytes),
            account: self.meta.sender.account,
            plan: self.plan.as_deref().map(Excerpt::new).unwrap_or_default(),
            unverified: self.meta.unverified,
        };
        self.event(self.id.clone(), self.at, Body::ModelAsked(asked))
    }

    /// The request carried a nudge.
    pub(crate) fn nudge_delivered_event(&self, finding: String, at: Timestamp) -> Event {
        let delivered = Body::Delivered(Delivered { finding, channel: Source::Proxy });
        self.event(self.event_id("-nudge"), at, delivered)
    }

    /// A note about the response.
    pub(crate) fn note_event(&self, text: &str, at: Timestamp) -> Event {
        let note = Body::Note(belay_core::event::Note { text: Excerpt::new(text.trim()) });
        self.event(self.event_id("-remark"), at, note)
    }

    /// Adds the events of a response or of its failure.
    pub(crate) fn push_response_events(
        &self,
        summary: ResponseSummary,
        degenerate: bool,
        at: Timestamp,
        events: &mut Vec<Event>,
    ) {
        if let Some(failure) = &summary.failure {
            events.push(self.event(self.event_id("-failure"), at, failed(failure, at)));
        }
        if summary.id.is_none() && summary.usage.is_none() && summary.text.is_empty() {
            return;
        }
        let text_fingerprint = (!summary.text.is_empty()).then(|| TextFingerprint::from_text(&summary.text));
        let body = ModelAnswered {
            response: summary.id,
            request: Some(self.id.clone()),
            model: summary.model,
            usage: summary.usage,
            stop: summary.stop,
            cost_micros: summary.cost_micros,
            tool_calls: Some(summary.tool_calls),
            said: text_fingerprint,
            text: Excerpt::new(&summary.text),
            degenerate,
            auxiliary: self.auxiliary,
        };
        events.push(self.event(self.event_id("-answer"), at, Body::ModelAnswered(body)));
    }
}

/// The id of a part of a message, by its position in the conversation.
fn id_at(what: &str, (message, part): (usize, usize)) -> String {
    let (mut first, mut second) = (itoa::Buffer::new(), itoa::Buffer::new());
    [what, "-", first.format(message), ".", second.format(part)].concat()
}

fn failed(failure: &ApiError, at: Timestamp) -> Body {
    let resets_at = failure.resets_at.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
    let retry_at = failure.retry_after.map(|seconds| at + Duration::from_secs(seconds.into()));
    let resets_at = resets_at.or(retry_at);
    if failure.is_usage_limit() {
        return Body::LimitHit(UsageLimitHit { what: Excerpt::new(&failure.message), resets_at });
    }
    let status = Some(failure.status).filter(|status| *status >= 400);
    Body::ModelFailed(ModelFailed { status, message: Excerpt::new(&failure.message), retry_at: resets_at })
}
