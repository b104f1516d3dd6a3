//! From what was read to events.

use std::sync::Arc;

use belay_core::event::{
    Delivered, LimitHit, ModelAnswered, ModelAsked, ModelFailed, Prompt, SessionStarted, TextSketch, ToolCalled,
    ToolReturned,
};
use belay_core::{Body, Digest, Event, Excerpt, SessionKey, Source, Status, Time};

use super::answer::{Answered, Failure};
use super::identity::Told;
use super::items::{self, Item};
use super::letterhead::Letterhead;

/// What is known about a request beside its messages.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) session: SessionKey,
    pub(crate) letterhead: Arc<Letterhead>,
    /// Minted by us; ties the answer to the question.
    pub(crate) request: String,
    pub(crate) at: Time,
    pub(crate) auxiliary: bool,
    pub(crate) told: Told,
    pub(crate) model: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) plan: Option<String>,
}

impl Asked {
    fn event(&self, id: String, at: Time, body: Body) -> Event {
        let mut event = Event::new(id, self.session.clone(), Source::Proxy, at, body);
        event.parent.clone_from(&self.letterhead.who.sender.parent);
        event.cwd.clone_from(&self.told.cwd);
        event
    }

    /// Id of an event that goes with the request.
    fn id(&self, what: &str) -> String {
        [&self.request, what].concat()
    }

    /// The first event of a conversation.
    pub(crate) fn started(&self) -> Event {
        let started = SessionStarted {
            model: self.model.clone(),
            agent_version: self.letterhead.who.sender.version.clone(),
            project: self.told.project.clone(),
            branch: self.told.branch.clone(),
            task: self.told.task.clone(),
            ..SessionStarted::default()
        };
        self.event(self.id("-start"), self.at, Body::SessionStarted(started))
    }

    /// What the new messages tell, each with its place in the conversation: a prompt that is met again, because the
    /// history around it changed, is the same event. Where no tools are used, a sketch of what was said has to do.
    pub(crate) fn news<'a>(
        &self,
        messages: impl Iterator<Item = (usize, &'a [u8])>,
        events: &mut Vec<Event>,
    ) -> Option<TextSketch> {
        let before = events.len();
        for (place, message) in messages {
            let mut part = 0;
            items::read(self.letterhead.api, message, &mut |item| {
                part += 1;
                events.extend(self.told_by(item, (place, part)));
            });
        }
        let mut said = String::new();
        for event in &events[before..] {
            match &event.body {
                Body::Prompt(prompt) => said.push_str(prompt.text.as_str()),
                _ => return None,
            }
        }
        (!said.is_empty()).then(|| TextSketch::of(&said))
    }

    fn told_by(&self, item: Item<'_>, place: (usize, usize)) -> Option<Event> {
        let named = |id: &str| Some(id.to_owned()).filter(|id| !id.is_empty());
        let (id, body) = match item {
            Item::Call { id, name, input } => {
                let input = input.value();
                let kind = self.letterhead.who.dialect.kind_of(&name, &input);
                (id_of("call", place), Body::ToolCalled(ToolCalled::new(named(&id), kind, &name, &input)))
            }
            Item::Result { call, text, failed } => {
                let status = failed.then_some(Status::Error);
                (id_of("result", place), Body::ToolReturned(ToolReturned::new(named(&call), status, None, &text)))
            }
            Item::Prompt { text } => {
                let (by, text) = self.letterhead.who.dialect.prompt(&text)?;
                let digest = Digest::of(text);
                (id_of(&format!("prompt-{digest}"), place), Body::Prompt(Prompt { by, text: Excerpt::new(text) }))
            }
        };
        // Sessions tell their own ids apart, so a place in the conversation is enough.
        Some(self.event(id, self.at, body))
    }

    /// The question itself.
    pub(crate) fn question(&self, tail: Option<TextSketch>) -> Event {
        let asked = ModelAsked {
            request: Some(self.request.clone()),
            model: self.model.clone(),
            auxiliary: self.auxiliary,
            tail,
            bytes: Some(self.bytes),
            account: self.letterhead.who.account,
            plan: self.plan.as_deref().map(Excerpt::new).unwrap_or_default(),
        };
        self.event(self.request.clone(), self.at, Body::ModelAsked(asked))
    }

    /// A nudge went along with the request.
    pub(crate) fn delivered(&self, finding: String, at: Time) -> Event {
        let delivered = Body::Delivered(Delivered { finding, channel: Source::Proxy });
        self.event(self.id("-nudge"), at, delivered)
    }

    /// Something worth keeping about the answer.
    pub(crate) fn remark(&self, text: &str, at: Time) -> Event {
        let note = Body::Note(belay_core::event::Note { text: Excerpt::new(text.trim()) });
        self.event(self.id("-remark"), at, note)
    }

    /// The answer, and why there is none.
    pub(crate) fn answer(&self, answered: Answered, chanting: bool, at: Time, events: &mut Vec<Event>) {
        if let Some(failure) = &answered.failure {
            events.push(self.event(self.id("-failure"), at, failed(failure)));
        }
        if answered.id.is_none() && answered.usage.is_none() && answered.text.is_empty() {
            return;
        }
        let said = (!answered.text.is_empty()).then(|| TextSketch::of(&answered.text));
        let body = ModelAnswered {
            response: answered.id,
            request: Some(self.request.clone()),
            model: answered.model,
            usage: answered.usage,
            stop: answered.stop,
            cost_micros: answered.cost_micros,
            tool_calls: Some(answered.tool_calls),
            said,
            text: Excerpt::new(&answered.text),
            chanting,
            auxiliary: self.auxiliary,
        };
        events.push(self.event(self.id("-answer"), at, Body::ModelAnswered(body)));
    }
}

/// The id of what stands at a place: a message of the conversation, and a part of it.
fn id_of(what: &str, (message, part): (usize, usize)) -> String {
    let (mut first, mut second) = (itoa::Buffer::new(), itoa::Buffer::new());
    [what, "-", first.format(message), ".", second.format(part)].concat()
}

fn failed(failure: &Failure) -> Body {
    let resets_at = failure.resets_at.map(|seconds| Time::from_millis(seconds.saturating_mul(1000)));
    if failure.is_limit() {
        return Body::LimitHit(LimitHit { what: Excerpt::new(&failure.message), resets_at });
    }
    let status = Some(failure.status).filter(|status| *status >= 400);
    Body::ModelFailed(ModelFailed { status, message: Excerpt::new(&failure.message), retry_at: resets_at })
}
