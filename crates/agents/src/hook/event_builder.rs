//! Builds a [`ParsedHook`]: events of one session with ids derived from the hook call's id.

use belay_core::event::{Body, Event, Source, ToolCalled, ToolReturned};
use belay_core::{Action, CallStatus, Digest, SessionKey, Timestamp, ToolKind, action};
use serde_json::Value;

use super::payload::HookPayload;
use super::{HookInput, HookPoint, ParsedHook, PermissionPrompt, edited_files};

/// Maximum length of a call id; longer ids are replaced by a digest.
const MAX_CALL_ID: usize = 128;

/// Builds the events of one hook call.
pub(crate) struct HookEventBuilder<'a> {
    hook: &'a HookInput<'a>,
    /// The session that the hook reports on.
    key: SessionKey,
    /// The parent session of a sub-agent.
    pub(crate) parent: Option<SessionKey>,
    /// Time of the events.
    pub(crate) at: Timestamp,
    /// Batch of parallel calls.
    pub(crate) batch: Option<String>,
    parsed: ParsedHook,
}

impl<'a> HookEventBuilder<'a> {
    pub(crate) fn new(hook: &'a HookInput<'a>, payload: &HookPayload, point: HookPoint, key: SessionKey) -> Self {
        let parsed = ParsedHook {
            point,
            session: Some(key.clone()),
            transcript: payload.name(&["transcript_path", "transcriptPath"]),
            cwd: payload.name(&["cwd"]),
            ..ParsedHook::default()
        };
        let at = payload.time("timestamp").unwrap_or(hook.at);
        Self { hook, key, parent: None, at, batch: None, parsed }
    }

    /// Marks the session as a sub-agent of `parent`; `file` maps the reported session file to the sub-agent's own.
    pub(crate) fn for_sub_agent(&mut self, parent: SessionKey, file: impl FnOnce(&str) -> Option<String>) {
        self.parsed.transcript = self.parsed.transcript.as_deref().and_then(file);
        self.parent = Some(parent);
    }

    /// Adds an event of this session.
    pub(crate) fn push(&mut self, body: Body) {
        let (key, parent) = (self.key.clone(), self.parent.clone());
        self.push_for(key, parent, body);
    }

    /// Adds an event of another session.
    pub(crate) fn push_for(&mut self, key: SessionKey, parent: Option<SessionKey>, body: Body) {
        let id = match self.parsed.events.len() {
            0 => self.hook.id.to_owned(),
            n => format!("{}.{n}", self.hook.id),
        };
        let mut event = Event::new(id, key, Source::Hook, self.at, body);
        event.parent = parent;
        event.batch.clone_from(&self.batch);
        event.cwd.clone_from(&self.parsed.cwd);
        self.parsed.events.push(event);
    }

    /// Adds a tool call, and before the tool runs the files that it will change.
    pub(crate) fn tool_called(&mut self, call: Option<String>, kind: Option<ToolKind>, name: &str, input: &Value) {
        let called = ToolCalled::new(call.clone(), kind, truncated(name), input);
        self.parsed.tool = Some(called.tool.kind);
        if self.parsed.point == HookPoint::BeforeTool {
            self.parsed.edited = edited_files(called.tool.kind, input, &Value::Null, call);
        }
        self.push(Body::ToolCalled(called));
    }

    /// Adds the result of a tool call, and the files that the call changed.
    pub(crate) fn tool_returned(&mut self, result: RawToolResult<'_>) {
        let RawToolResult { call, kind, name, input, response, .. } = result;
        let mut returned = ToolReturned::new(call.clone(), result.status, result.exit_code, result.text);
        returned.duration_ms = result.duration_ms;
        let kind = kind.unwrap_or_else(|| action::classify(truncated(name), input));
        self.parsed.tool = Some(kind);
        if call.is_none() {
            returned.answers = Some(Action::from_tool_call(kind, truncated(name), input).0.key);
        }
        // The hook of the call itself has already reported the files of a batch.
        if returned.status == CallStatus::Ok && self.parsed.point != HookPoint::AfterBatch {
            self.parsed.edited.extend(edited_files(kind, input, response, call));
        }
        self.push(Body::ToolReturned(returned));
    }

    /// Notes the call that a person is asked to permit.
    pub(crate) fn asks_permission(&mut self, prompt: Option<PermissionPrompt>) {
        self.parsed.permission = prompt;
    }

    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(crate) fn transcript(&self) -> Option<String> {
        self.parsed.transcript.clone()
    }

    /// Finishes with the hook point of a model request instead of the event's own.
    pub(crate) fn before_model(mut self, event: &'static str) -> ParsedHook {
        self.parsed.point = HookPoint::BeforeModel;
        self.finish(event)
    }

    pub(crate) fn finish(mut self, event: &'static str) -> ParsedHook {
        self.parsed.event = event;
        self.parsed
    }
}

/// A tool result before it is condensed.
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

/// The id of a tool call, safe to store.
pub(crate) fn call_id(payload: &HookPayload, keys: &[&str]) -> Option<String> {
    let id = payload.text(keys)?;
    let is_valid = id.len() <= MAX_CALL_ID && !id.chars().any(char::is_control);
    Some(if is_valid { id.to_owned() } else { format!("long-{}", Digest::from_bytes(id)) })
}

/// A tool name, truncated.
fn truncated(name: &str) -> &str {
    &name[..name.floor_char_boundary(256)]
}
