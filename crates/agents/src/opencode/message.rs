//! One message and its parts, from the database or an export.

use std::borrow::Cow;

use belay_core::event::{
    Author, Body, ChangeKind, Compacted, FileChanged, ModelAnswered, ModelFailed, Note, Prompt, SubAgent, ToolCalled,
    ToolReturned, TurnEnded, Usage,
};
use belay_core::{CallStatus, Digest, Excerpt, SessionKey, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::{ID, kind_of};
use crate::lenient_json::{LenientBool, LenientOption, LenientString, LenientTime, LenientU64};
use crate::transcript::{TranscriptEventBuilder, append_line};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Info<'a> {
    pub(super) id: LenientString<'a>,
    pub(super) role: LenientString<'a>,
    pub(super) time: LenientOption<Span>,
    #[serde(rename = "modelID")]
    model: LenientString<'a>,
    cost: LenientOption<f64>,
    tokens: LenientOption<Tokens>,
    finish: LenientString<'a>,
    /// Set for a compaction summary. (In user messages this is an unrelated object.)
    summary: LenientBool,
    error: LenientOption<Failure>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Span {
    #[serde(alias = "start")]
    pub(super) created: LenientTime,
    #[serde(alias = "end")]
    completed: LenientTime,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: LenientU64,
    output: LenientU64,
    reasoning: LenientU64,
    cache: LenientOption<Cache>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: LenientU64,
    write: LenientU64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cache = tokens.cache.0.unwrap_or_default();
        Self {
            input: tokens.input.0,
            output: tokens.output.0.saturating_add(tokens.reasoning.0),
            cache_read: cache.read.0,
            cache_write: cache.write.0,
            ..Self::default()
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    name: String,
    data: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    text: LenientString<'a>,
    synthetic: LenientBool,
    tool: LenientString<'a>,
    id: LenientString<'a>,
    #[serde(rename = "callID")]
    call: LenientString<'a>,
    state: LenientOption<State>,
    auto: LenientOption<bool>,
    error: LenientOption<Failure>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    status: String,
    input: Value,
    output: String,
    error: String,
    metadata: Value,
    time: LenientOption<Span>,
}

impl Part<'_> {
    /// The same part under this id.
    pub(super) fn with_id(self, id: &str) -> Self {
        Self { id: LenientString(Cow::Owned(id.to_owned())), ..self }
    }
}

/// Collects the parts of a message, then emits its events.
pub(super) struct MessageBuilder<'a> {
    info: Info<'a>,
    id: String,
    text: String,
    synthetic: bool,
    calls: Vec<ToolCalled>,
    results: Vec<(Timestamp, Vec<Body>)>,
    notes: Vec<Body>,
}

impl<'a> MessageBuilder<'a> {
    pub(super) fn new(id: &str, info: Info<'a>) -> Self {
        Self {
            id: id.to_owned(),
            info,
            text: String::new(),
            synthetic: false,
            calls: Vec::new(),
            results: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn part(&mut self, part: Part<'_>) {
        match &*part.kind {
            "text" => {
                self.synthetic |= part.synthetic.0;
                append_line(&mut self.text, &part.text);
            }
            "tool" => self.tool(part),
            "compaction" => {
                let automatic = part.auto.0.unwrap_or(true);
                self.notes.push(Body::Compacted(Compacted { automatic, before: None }));
            }
            "retry" => self.notes.extend(part.error.0.map(|failure| failure.told())),
            _ => {}
        }
    }

    fn tool(&mut self, part: Part<'_>) {
        let state = part.state.0.unwrap_or_default();
        // Exports may redact call ids; the ids of parts stay, and are the same in every copy.
        let id = part.id.owned().or_else(|| part.call.owned());
        self.calls.push(ToolCalled::new(id.clone(), kind_of(&part.tool), &part.tool, &state.input));
        if !matches!(&*state.status, "completed" | "error") {
            return;
        }
        let at = state.time.0.map(|span| span.completed.or(span.created.0)).unwrap_or_default();
        let exit_code = state.metadata.get("exit").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        let failed = state.status == "error";
        let text = if failed { &state.error } else { &state.output };
        let status = if failed {
            let refused = text.starts_with("The user rejected permission") || text.contains("prevents you from using");
            if refused { CallStatus::Refused } else { CallStatus::Error }
        } else if text.contains("terminated command after exceeding timeout") {
            CallStatus::TimedOut
        } else if exit_code.unwrap_or(0) != 0 {
            CallStatus::Error
        } else {
            CallStatus::Ok
        };
        let mut told = vec![Body::ToolReturned(ToolReturned::new(id.clone(), Some(status), exit_code, text))];
        if status == CallStatus::Ok {
            told.extend(change(&part.tool, &state, id).map(Body::FileChanged));
        }
        if let Some(child) = state.metadata.get("sessionId").and_then(Value::as_str) {
            let role = state.input.get("subagent_type").and_then(Value::as_str).map(str::to_owned);
            let sub = SubAgent { child: SessionKey::new(ID, child), role };
            told.extend([Body::SubAgentStarted(sub.clone()), Body::SubAgentEnded(sub)]);
        }
        self.results.push((at, told));
    }

    pub(super) fn flush(self, builder: &mut TranscriptEventBuilder<'_>) {
        builder.start_record(format_args!("{}", self.id));
        if let Some(span) = self.info.time.0 {
            builder.at = span.created.or(builder.at);
        }
        if &*self.info.role == "user" {
            let by = match (builder.parent.is_some(), self.synthetic) {
                (_, true) => Author::Continuation,
                (true, false) => Author::Agent,
                (false, false) => Author::Person,
            };
            self.notes.into_iter().for_each(|note| builder.push(note));
            if !self.text.is_empty() {
                builder.push(Body::Prompt(Prompt { by, text: Excerpt::new(&self.text) }));
            }
            return;
        }
        let silent = self.calls.is_empty();
        let auxiliary = self.info.summary.0;
        builder.push_answer(
            Some(self.id.clone()),
            ModelAnswered {
                response: Some(self.id.clone()),
                model: self.info.model.owned(),
                usage: self.info.tokens.0.map(Usage::from),
                stop: self.info.finish.owned(),
                cost_micros: self.info.cost.0.filter(|cost| *cost > 0.0).map(|dollars| (dollars * 1e6).round() as u64),
                text: Excerpt::new(&self.text),
                auxiliary,
                ..ModelAnswered::default()
            },
            self.calls,
        );
        for (at, bodies) in self.results {
            builder.at = if at.is_known() { at } else { builder.at };
            bodies.into_iter().for_each(|body| builder.push(body));
        }
        self.notes.into_iter().for_each(|note| builder.push(note));
        let failure = self.info.error.0.filter(|failure| !failure.name.is_empty());
        let failed = failure.is_some();
        if let Some(failure) = failure {
            builder.push(failure.told());
        }
        if silent && !auxiliary {
            let text = Excerpt::new(&self.text);
            builder.push(Body::TurnEnded(TurnEnded { text, failed, ..TurnEnded::default() }));
        }
    }
}

impl Failure {
    fn told(&self) -> Body {
        if self.name == "MessageAbortedError" {
            return Body::Note(Note { text: Excerpt::new("The user interrupted the turn.") });
        }
        let message = self.data.get("message").and_then(Value::as_str).unwrap_or(&self.name);
        let status = self.data.get("statusCode").and_then(Value::as_u64);
        Body::ModelFailed(ModelFailed {
            status: status.and_then(|status| u16::try_from(status).ok()),
            message: Excerpt::with_limit(message, 512),
            retry_at: None,
        })
    }
}

/// The change of a file by a call. Older versions record the complete file before and after an edit.
fn change(tool: &str, state: &State, call: Option<String>) -> Option<FileChanged> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let path = text(&state.input, "filePath")?;
    let diff = state.metadata.get("filediff");
    let before = diff.and_then(|diff| text(diff, "before"));
    let after = match tool {
        "write" => text(&state.input, "content"),
        "edit" | "multiedit" => diff.and_then(|diff| text(diff, "after")),
        _ => return None,
    };
    let count = |name: &str| diff?.get(name)?.as_u64()?.try_into().ok();
    let created = state.metadata.get("exists").and_then(Value::as_bool) == Some(false);
    Some(FileChanged {
        path,
        change: if created { ChangeKind::Created } else { ChangeKind::Modified },
        before: before.map(Digest::from_bytes),
        after: after.map(Digest::from_bytes),
        added: count("additions"),
        removed: count("deletions"),
        call,
    })
}
