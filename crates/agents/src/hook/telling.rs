//! Builds what a dialect has heard: one session, events with ids made from the hook's own.

use belay_core::event::{Body, Event, Source, ToolCalled, ToolReturned};
use belay_core::{Action, Digest, SessionKey, Status, Time, ToolKind, action};
use serde_json::Value;

use super::payload::Payload;
use super::{Heard, Moment, Told, edited_by};

/// Longest call id that is kept as it is.
const MAX_CALL_ID: usize = 128;

/// Speaks for one session.
pub(crate) struct Telling<'a> {
    told: &'a Told<'a>,
    /// The session the hook belongs to.
    key: SessionKey,
    /// For a sub-agent: who started it.
    pub(crate) parent: Option<SessionKey>,
    /// When it happened.
    pub(crate) at: Time,
    /// Calls made side by side.
    pub(crate) batch: Option<String>,
    heard: Heard,
}

impl<'a> Telling<'a> {
    pub(crate) fn new(told: &'a Told<'a>, payload: &Payload, moment: Moment, key: SessionKey) -> Self {
        let heard = Heard {
            moment,
            session: Some(key.clone()),
            transcript: payload.name(&["transcript_path", "transcriptPath"]),
            cwd: payload.name(&["cwd"]),
            ..Heard::default()
        };
        let at = payload.time("timestamp").unwrap_or(told.at);
        Self { told, key, parent: None, at, batch: None, heard }
    }

    /// The session is a sub-agent's: who started it, and the file that tells of it rather than of those above.
    pub(crate) fn speaks_for(&mut self, parent: SessionKey, file: impl FnOnce(&str) -> Option<String>) {
        self.heard.transcript = self.heard.transcript.as_deref().and_then(file);
        self.parent = Some(parent);
    }

    /// One thing that happened in this session.
    pub(crate) fn tell(&mut self, body: Body) {
        let (key, parent) = (self.key.clone(), self.parent.clone());
        self.tell_of(key, parent, body);
    }

    /// One thing that happened in another session.
    pub(crate) fn tell_of(&mut self, key: SessionKey, parent: Option<SessionKey>, body: Body) {
        let id = match self.heard.events.len() {
            0 => self.told.id.to_owned(),
            n => format!("{}.{n}", self.told.id),
        };
        let mut event = Event::new(id, key, Source::Hook, self.at, body);
        event.parent = parent;
        event.batch.clone_from(&self.batch);
        event.cwd.clone_from(&self.heard.cwd);
        self.heard.events.push(event);
    }

    /// A tool is about to run, or was asked for.
    pub(crate) fn called(&mut self, call: Option<String>, kind: Option<ToolKind>, name: &str, input: &Value) {
        let called = ToolCalled::new(call.clone(), kind, short(name), input);
        self.heard.tool = Some(called.tool.kind);
        if self.heard.moment == Moment::BeforeTool {
            self.heard.edited = edited_by(called.tool.kind, input, &Value::Null, call);
        }
        self.tell(Body::ToolCalled(called));
    }

    /// A tool has answered: notes the files it changed, too.
    pub(crate) fn returned(&mut self, answer: ToolAnswer<'_>) {
        let ToolAnswer { call, kind, name, input, response, .. } = answer;
        let mut returned = ToolReturned::new(call.clone(), answer.status, answer.exit_code, answer.text);
        returned.duration_ms = answer.duration_ms;
        let kind = kind.unwrap_or_else(|| action::classify(short(name), input));
        self.heard.tool = Some(kind);
        if call.is_none() {
            returned.answers = Some(Action::of(kind, short(name), input).0.key);
        }
        // What a batch tells of was told when it happened, if anything came of it.
        if returned.status == Status::Ok && self.heard.moment != Moment::AfterBatch {
            self.heard.edited.extend(edited_by(kind, input, response, call));
        }
        self.tell(Body::ToolReturned(returned));
    }

    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(crate) fn transcript(&self) -> Option<String> {
        self.heard.transcript.clone()
    }

    /// It is about a model request, not about what the event's name says.
    pub(crate) fn at_model(mut self, event: &'static str) -> Heard {
        self.heard.moment = Moment::BeforeModel;
        self.done(event)
    }

    pub(crate) fn done(mut self, event: &'static str) -> Heard {
        self.heard.event = event;
        self.heard
    }
}

/// What a tool answered, before it is condensed.
pub(crate) struct ToolAnswer<'a> {
    pub(crate) call: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) name: &'a str,
    pub(crate) input: &'a Value,
    pub(crate) response: &'a Value,
    pub(crate) text: &'a str,
    pub(crate) status: Option<Status>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
}

/// A tool call's own id, in a form that is safe to keep.
pub(crate) fn call_id(payload: &Payload, keys: &[&str]) -> Option<String> {
    let id = payload.text(keys)?;
    let fits = id.len() <= MAX_CALL_ID && !id.chars().any(char::is_control);
    Some(if fits { id.to_owned() } else { format!("long-{}", Digest::of(id)) })
}

/// A tool's name as far as it can be one.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(256)]
}
