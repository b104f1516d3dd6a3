//! Builds what a dialect has heard: one session, events with ids made from the hook's own.

use belay_core::event::{Body, Event, Source, ToolCalled, ToolReturned};
use belay_core::{Action, CallStatus, Digest, SessionKey, Timestamp, ToolKind, action};
use serde_json::Value;

use super::payload::HookPayload;
use super::{HookInput, HookPoint, ParsedHook, edited_files};

/// Longest call id that is kept as it is.
const MAX_CALL_ID: usize = 128;

/// Speaks for one session.
pub(crate) struct HookEventBuilder<'a> {
    told: &'a HookInput<'a>,
    /// The session the hook belongs to.
    key: SessionKey,
    /// For a sub-agent: who started it.
    pub(crate) parent: Option<SessionKey>,
    /// When it happened.
    pub(crate) at: Timestamp,
    /// Calls made side by side.
    pub(crate) batch: Option<String>,
    heard: ParsedHook,
}

impl<'a> HookEventBuilder<'a> {
    pub(crate) fn new(told: &'a HookInput<'a>, payload: &HookPayload, moment: HookPoint, key: SessionKey) -> Self {
        let heard = ParsedHook {
            moment,
            session: Some(key.clone()),
            transcript: payload.name(&["transcript_path", "transcriptPath"]),
            cwd: payload.name(&["cwd"]),
            ..ParsedHook::default()
        };
        let at = payload.time("timestamp").unwrap_or(told.at);
        Self { told, key, parent: None, at, batch: None, heard }
    }

    /// The session is a sub-agent's: who started it, and the file that tells of it rather than of those above.
    pub(crate) fn for_session(&mut self, parent: SessionKey, file: impl FnOnce(&str) -> Option<String>) {
        self.heard.transcript = self.heard.transcript.as_deref().and_then(file);
        self.parent = Some(parent);
    }

    /// One thing that happened in this session.
    pub(crate) fn push(&mut self, body: Body) {
        let (key, parent) = (self.key.clone(), self.parent.clone());
        self.push_with_id(key, parent, body);
    }

    /// One thing that happened in another session.
    pub(crate) fn push_with_id(&mut self, key: SessionKey, parent: Option<SessionKey>, body: Body) {
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
    pub(crate) fn tool_called(&mut self, call: Option<String>, kind: Option<ToolKind>, name: &str, input: &Value) {
        let called = ToolCalled::new(call.clone(), kind, short(name), input);
        self.heard.tool = Some(called.tool.kind);
        if self.heard.moment == HookPoint::BeforeTool {
            self.heard.edited = edited_files(called.tool.kind, input, &Value::Null, call);
        }
        self.push(Body::ToolCalled(called));
    }

    /// A tool has answered: notes the files it changed, too.
    pub(crate) fn tool_returned(&mut self, answer: RawToolResult<'_>) {
        let RawToolResult { call, kind, name, input, response, .. } = answer;
        let mut returned = ToolReturned::new(call.clone(), answer.status, answer.exit_code, answer.text);
        returned.duration_ms = answer.duration_ms;
        let kind = kind.unwrap_or_else(|| action::classify(short(name), input));
        self.heard.tool = Some(kind);
        if call.is_none() {
            returned.answers = Some(Action::of(kind, short(name), input).0.key);
        }
        // What a batch tells of was told when it happened, if anything came of it.
        if returned.status == CallStatus::Ok && self.heard.moment != HookPoint::AfterBatch {
            self.heard.edited.extend(edited_files(kind, input, response, call));
        }
        self.push(Body::ToolReturned(returned));
    }

    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(crate) fn transcript(&self) -> Option<String> {
        self.heard.transcript.clone()
    }

    /// It is about a model request, not about what the event's name says.
    pub(crate) fn before_model(mut self, event: &'static str) -> ParsedHook {
        self.heard.moment = HookPoint::BeforeModel;
        self.finish(event)
    }

    pub(crate) fn finish(mut self, event: &'static str) -> ParsedHook {
        self.heard.event = event;
        self.heard
    }
}

/// What a tool answered, before it is condensed.
pub(crate) struct RawToolResult<'a> {
    pub(crate) call: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) name: &'a str,
    pub(crate) input: &'a Value,
    pub(crate) response: &'a Value,
    pub(crate) text: &'a str,
    pub(crate) status: Option<CallStatus>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
}

/// A tool call's own id, in a form that is safe to keep.
pub(crate) fn call_id(payload: &HookPayload, keys: &[&str]) -> Option<String> {
    let id = payload.text(keys)?;
    let fits = id.len() <= MAX_CALL_ID && !id.chars().any(char::is_control);
    Some(if fits { id.to_owned() } else { format!("long-{}", Digest::of(id)) })
}

/// A tool's name as far as it can be one.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(256)]
}
