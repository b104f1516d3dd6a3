//! The events that Loop Watchdog's clients post, and their mapping to Belay's.
//!
//! Clients post flat events or LWEP v1 envelopes with one of 30 kinds. Each maps to one event of Belay, which keeps the
//! client's own words beside it ([`ClientReport`]), so that it reads back as it was posted. The `manual_*` kinds become notes: posting events needs no token,
//! so they must not resume or kill a session. For the same reason a `user_intervention` is a person's prompt only with the
//! token, and otherwise a note.

use std::collections::BTreeSet;

use belay_core::event::{
    Author, ChangeKind, CheckKind, CheckRan, ClientReport, Committed, EventError, FileChanged, MAX_REPORTED_FILES,
    ModelAnswered, ModelAsked, Note, Prompt, SessionStarted, Task, TaskPhase, ToolCalled, ToolReturned,
};
use belay_core::key::validate_id;
use belay_core::{Body, CallStatus, Digest, Event, Excerpt, Outcome, SessionKey, Source, Timestamp, ToolKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::AGENT_ID;

/// The kinds that a client may post.
pub const KINDS: &[&str] = &[
    "agent_request",
    "agent_response",
    "file_edit",
    "patch_apply",
    "tool_error",
    "test_failure",
    "test_pass",
    "manual_resume",
    "manual_kill",
    "manual_acknowledge",
    "manual_archive",
    "session_note",
    "tool_call",
    "tool_result",
    "file_create",
    "file_delete",
    "command_start",
    "command_end",
    "test_start",
    "build_start",
    "build_success",
    "build_failure",
    "lint_pass",
    "lint_failure",
    "git_diff",
    "git_commit",
    "user_intervention",
    "task_started",
    "task_progress",
    "task_completed",
];

/// How much is kept of one text in the metadata, so that the whole usually fits into an excerpt and stays JSON.
const MAX_METADATA_TEXT_CHARS: usize = 256;

/// The session of a posted event, as its client describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SessionIdentity {
    /// The id by which clients name the session.
    pub watchdog_session_id: String,
    pub repository: String,
    /// The agent's working directory.
    pub workspace: String,
    pub branch: String,
    pub agent: String,
    /// The agent's own session id.
    pub agent_session_id: String,
    pub task_id: String,
}

/// A valid posted event.
#[derive(Clone, Debug, PartialEq)]
pub struct PostedEvent {
    pub identity: SessionIdentity,
    /// One of [`KINDS`].
    pub kind: String,
    /// The client's id of the event.
    pub id: Option<String>,
    /// The client's time of the event.
    pub at: Option<Timestamp>,
    /// A description of what happened.
    pub summary: String,
    /// The affected files.
    pub files: Vec<String>,
    /// Fields that depend on the kind.
    pub metadata: Map<String, Value>,
}

impl PostedEvent {
    /// Turns a person's intervention, which discards evidence, into a note.
    #[must_use]
    pub fn without_intervention(mut self) -> Self {
        if self.kind == "user_intervention" {
            "session_note".clone_into(&mut self.kind);
        }
        self
    }

    /// Parses a flat event or an LWEP v1 envelope (both `session` and `event` present).
    pub fn from_value(value: &Value) -> Result<Self, EventError> {
        let object = value.as_object().ok_or_else(|| invalid("event", "must be a JSON object"))?;
        let (read, session_field) = match (object.get("session"), object.get("event")) {
            (Some(session), Some(event)) => {
                (Self::from_envelope(object, session, event)?, "session.watchdog_session_id")
            }
            _ if object.get("identity").is_some_and(|identity| !identity.is_null()) => {
                (Self::from_flat(object)?, "identity.watchdog_session_id")
            }
            _ => (Self::from_flat(object)?, "session_id"),
        };
        let ids = [(session_field, Some(&read.identity.watchdog_session_id)), ("event.id", read.id.as_ref())];
        for (field, id) in ids {
            id.map_or(Ok(()), |id| validate_id(id)).map_err(|problem| invalid(field, &problem.to_string()))?;
        }
        Ok(read)
    }

    fn from_envelope(object: &Map<String, Value>, session: &Value, event: &Value) -> Result<Self, EventError> {
        match object.get("version") {
            None => {}
            Some(Value::String(version)) if version == "1" => {}
            Some(other) => return Err(invalid("version", &format!("{other} is not supported; send version \"1\""))),
        }
        let event = event.as_object().ok_or_else(|| invalid("event", "must be an object"))?;
        Ok(Self {
            identity: identity(session, "session")?,
            kind: kind(event, "type")?,
            id: text(event, "id").map(str::to_owned),
            at: text(event, "timestamp").and_then(Timestamp::parse),
            summary: text(event, "summary").unwrap_or_default().to_owned(),
            files: files(event)?,
            metadata: metadata(event)?,
        })
    }

    fn from_flat(object: &Map<String, Value>) -> Result<Self, EventError> {
        if let Some(version) = object.get("schema_version")
            && version.as_u64().is_none_or(|v| v == 0)
        {
            return Err(invalid("schema_version", "must be an integer of at least 1"));
        }
        let identity = match (object.get("identity"), text(object, "session_id")) {
            (Some(value), _) if !value.is_null() => identity(value, "identity")?,
            (_, Some(id)) if !id.is_empty() => SessionIdentity {
                watchdog_session_id: id.to_owned(),
                agent_session_id: id.to_owned(),
                agent: AGENT_ID.to_owned(),
                ..SessionIdentity::default()
            },
            _ => return Err(invalid("session_id", "is missing; send session_id or identity")),
        };
        Ok(Self {
            identity,
            kind: kind(object, "kind")?,
            id: None,
            at: None,
            summary: text(object, "summary").unwrap_or_default().to_owned(),
            files: files(object)?,
            metadata: metadata(object)?,
        })
    }

    /// The session it belongs to.
    pub fn key(&self) -> SessionKey {
        let agent = if self.identity.agent.is_empty() { AGENT_ID } else { &self.identity.agent };
        SessionKey::new(agent, &self.identity.watchdog_session_id)
    }

    /// The event as Belay's event. `id` is the default for the event id, `now` for its time.
    pub fn into_event(self, id: &str, now: Timestamp) -> Event {
        let id = self.id.clone().unwrap_or_else(|| id.to_owned());
        let at = self.at.unwrap_or(now);
        let key = self.key();
        let cwd = Some(self.identity.workspace.clone()).filter(|w| !w.is_empty());
        let report = self.report();
        let mut event = Event::new(id.clone(), key, Source::Api, at, self.body(&id));
        event.cwd = cwd;
        event.report = Some(Box::new(report));
        event
    }

    /// What the client said, redacted and bounded.
    fn report(&self) -> ClientReport {
        let short = |value: &Value| match value {
            Value::String(text) if text.chars().nth(MAX_METADATA_TEXT_CHARS).is_some() => {
                Value::from(text.chars().take(MAX_METADATA_TEXT_CHARS).collect::<String>())
            }
            other => other.clone(),
        };
        let metadata: Map<String, Value> =
            self.metadata.iter().map(|(name, value)| (name.clone(), short(value))).collect();
        let metadata = if metadata.is_empty() { String::new() } else { Value::Object(metadata).to_string() };
        ClientReport {
            kind: self.kind.clone(),
            summary: Excerpt::new(&self.summary),
            files: self.files.iter().take(MAX_REPORTED_FILES).cloned().collect(),
            metadata: Excerpt::new(&metadata),
        }
    }

    /// The identity as the first event of the session.
    pub fn started(&self) -> SessionStarted {
        let non_empty = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        SessionStarted {
            project: non_empty(&self.identity.repository).or_else(|| non_empty(&self.identity.workspace)),
            branch: non_empty(&self.identity.branch),
            task: non_empty(&self.identity.task_id),
            ..SessionStarted::default()
        }
    }

    fn body(self, id: &str) -> Body {
        let summary = Excerpt::new(&self.summary);
        let note = |what: &str| Body::Note(Note { text: Excerpt::new(&format!("{what}: {}", self.summary)) });
        match self.kind.as_str() {
            "agent_request" => Body::ModelAsked(ModelAsked { model: self.meta("model"), ..ModelAsked::default() }),
            "agent_response" => Body::ModelAnswered(ModelAnswered {
                model: self.meta("model"),
                text: summary,
                ..ModelAnswered::default()
            }),
            "file_edit" | "patch_apply" => self.change(ChangeKind::Modified),
            "file_create" => self.change(ChangeKind::Created),
            "file_delete" => self.change(ChangeKind::Deleted),
            "git_diff" => self.change(ChangeKind::Modified),
            "tool_call" => {
                let name = self.meta("tool").unwrap_or_else(|| "tool".to_owned());
                let input = if self.metadata.is_empty() { Value::from(self.summary) } else { self.metadata.into() };
                Body::ToolCalled(ToolCalled::new(None, None, &name, &input))
            }
            "command_start" => {
                let command = self.meta("command").unwrap_or(self.summary);
                Body::ToolCalled(ToolCalled::new(None, Some(ToolKind::Shell), "command", &command.into()))
            }
            "tool_result" | "command_end" => self.returned(None),
            "tool_error" => self.returned(Some(CallStatus::Error)),
            "test_start" => self.check(CheckKind::Test, None),
            "test_pass" => self.check(CheckKind::Test, Some(true)),
            "test_failure" => self.check(CheckKind::Test, Some(false)),
            "build_start" => self.check(CheckKind::Build, None),
            "build_success" => self.check(CheckKind::Build, Some(true)),
            "build_failure" => self.check(CheckKind::Build, Some(false)),
            "lint_pass" => self.check(CheckKind::Lint, Some(true)),
            "lint_failure" => self.check(CheckKind::Lint, Some(false)),
            "git_commit" => {
                let sha = self.meta("sha").or_else(|| self.meta("commit")).unwrap_or_else(|| id.to_owned());
                Body::Committed(Committed { sha, files: u32::try_from(self.files.len()).ok() })
            }
            "user_intervention" => Body::Prompt(Prompt { by: Author::Person, text: summary }),
            "task_started" => Body::Task(Task { phase: TaskPhase::Started, what: summary }),
            "task_progress" => Body::Task(Task { phase: TaskPhase::Progress, what: summary }),
            "task_completed" => Body::Task(Task { phase: TaskPhase::Completed, what: summary }),
            other => note(other),
        }
    }

    fn returned(self, status: Option<CallStatus>) -> Body {
        let output = self.meta("error").or_else(|| self.meta("output")).unwrap_or_else(|| self.summary.clone());
        let exit_code = self.metadata.get("exit_code").and_then(Value::as_i64).and_then(|c| i32::try_from(c).ok());
        Body::ToolReturned(ToolReturned::new(None, status, exit_code, &output))
    }

    /// The change of the first file; the report names all of them.
    fn change(self, change: ChangeKind) -> Body {
        let number = |key: &str| self.metadata.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let after = self.metadata.get("diff").and_then(Value::as_str).map(diff_digest);
        let (added, removed) = (number("lines_added"), number("lines_removed"));
        let unnamed = || if self.summary.is_empty() { "(unnamed)".to_owned() } else { self.summary.clone() };
        let path = self.files.first().cloned().unwrap_or_else(unnamed);
        Body::FileChanged(FileChanged { path, change, before: None, after, added, removed, call: None })
    }

    fn check(self, check: CheckKind, ok: Option<bool>) -> Body {
        let failing: BTreeSet<String> =
            if ok == Some(false) { self.meta("test_id").into_iter().collect() } else { BTreeSet::new() };
        let output = self.meta("stacktrace").or_else(|| self.meta("error")).unwrap_or_else(|| self.summary.clone());
        Body::CheckRan(CheckRan {
            check,
            ok,
            command: Excerpt::new(&self.meta("command").unwrap_or_default()),
            passed: None,
            failed: None,
            failing,
            failure: (ok == Some(false)).then(|| Outcome::from_output(&output, None).digest),
            call: None,
        })
    }

    fn meta(&self, key: &str) -> Option<String> {
        self.metadata.get(key).and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_owned)
    }
}

/// A digest of a diff without its volatile lines: `index a..b` and hunk positions.
fn diff_digest(diff: &str) -> Digest {
    let stable: Vec<&str> = diff.lines().filter(|l| !l.starts_with("index ") && !l.starts_with("@@")).collect();
    Digest::from_bytes(stable.join("\n"))
}

fn invalid(field: &str, problem: &str) -> EventError {
    EventError { field: field.to_owned(), problem: problem.to_owned() }
}

fn identity(value: &Value, field: &str) -> Result<SessionIdentity, EventError> {
    SessionIdentity::deserialize(value).map_err(|e| invalid(field, &e.to_string()))
}

fn kind(object: &Map<String, Value>, field: &str) -> Result<String, EventError> {
    let kind = text(object, field).ok_or_else(|| invalid(field, "is missing"))?;
    if KINDS.contains(&kind) {
        return Ok(kind.to_owned());
    }
    Err(invalid(field, &format!("`{kind}` is not an event kind; use one of {}", KINDS.join(", "))))
}

fn text<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Value::as_str)
}

fn files(object: &Map<String, Value>) -> Result<Vec<String>, EventError> {
    match object.get("files") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(files) => Vec::deserialize(files).map_err(|e| invalid("files", &e.to_string())),
    }
}

fn metadata(object: &Map<String, Value>) -> Result<Map<String, Value>, EventError> {
    match object.get("metadata") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(metadata)) => Ok(metadata.clone()),
        Some(_) => Err(invalid("metadata", "must be an object")),
    }
}

#[cfg(test)]
mod tests;
