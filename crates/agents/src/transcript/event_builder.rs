//! Builds events from the records of a session file, with ids that are stable across reads.

use belay_core::event::{Body, Event, ModelAnswered, Source, ToolCalled};
use belay_core::{SessionKey, Timestamp};

use super::Sink;

/// Builds events of one session at a time and passes them to a [`Sink`].
pub struct TranscriptEventBuilder<'a> {
    sink: &'a mut dyn Sink,
    /// The current session.
    pub session: SessionKey,
    /// The parent session of a sub-agent.
    pub parent: Option<SessionKey>,
    /// Time of the current record.
    pub at: Timestamp,
    /// The model message or turn that the current record belongs to.
    pub batch: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    record: String,
    pushed: u32,
}

/// Session, time and id of a record; see [`TranscriptEventBuilder::at_position`].
#[derive(Clone, Debug)]
pub struct RecordPosition {
    session: SessionKey,
    parent: Option<SessionKey>,
    at: Timestamp,
    record: String,
    pushed: u32,
}

impl std::fmt::Debug for TranscriptEventBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TranscriptEventBuilder")
            .field("session", &self.session)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl<'a> TranscriptEventBuilder<'a> {
    pub fn new(session: SessionKey, sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            session,
            parent: None,
            at: Timestamp::UNKNOWN,
            batch: None,
            cwd: None,
            record: String::new(),
            pushed: 0,
        }
    }

    /// Starts a record. The ids of the following events derive from `id`, which is unique within the session: the record's
    /// own id if it has one, or else its position in the file.
    pub fn start_record(&mut self, id: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        self.record.clear();
        // Writing to a String cannot fail.
        let _ = self.record.write_fmt(id);
        self.pushed = 0;
        self.batch = None;
    }

    /// Emits an event of the current record.
    pub fn push(&mut self, body: Body) {
        let id = if self.pushed == 0 { self.record.clone() } else { format!("{}.{}", self.record, self.pushed) };
        self.pushed += 1;
        let mut event = Event::new(id, self.session.clone(), Source::Transcript, self.at, body);
        event.parent.clone_from(&self.parent);
        event.batch.clone_from(&self.batch);
        event.cwd.clone_from(&self.cwd);
        event.redact_names();
        self.sink.event(event);
    }

    /// Emits an existing event.
    pub(crate) fn push_event(&mut self, mut event: Event) {
        event.redact_names();
        self.sink.event(event);
    }

    /// Emits a model response and its tool calls as one batch.
    pub fn push_answer(&mut self, batch: Option<String>, answer: ModelAnswered, calls: Vec<ToolCalled>) {
        self.batch = batch;
        let tool_calls = Some(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        self.push(Body::ModelAnswered(ModelAnswered { tool_calls, ..answer }));
        for call in calls {
            self.push(Body::ToolCalled(call));
        }
        self.batch = None;
    }

    /// The position of the current record.
    pub fn position(&self) -> RecordPosition {
        RecordPosition {
            session: self.session.clone(),
            parent: self.parent.clone(),
            at: self.at,
            record: self.record.clone(),
            pushed: self.pushed,
        }
    }

    /// Emits events of an earlier record, then returns to the current one.
    pub fn at_position(&mut self, position: RecordPosition, emit: impl FnOnce(&mut Self)) {
        let now = self.position();
        let batch = self.batch.take();
        self.restore(position);
        emit(self);
        self.restore(now);
        self.batch = batch;
    }

    fn restore(&mut self, position: RecordPosition) {
        self.session = position.session;
        self.parent = position.parent;
        self.at = position.at;
        self.record = position.record;
        self.pushed = position.pushed;
    }

    /// Reports that this many more bytes have been read.
    pub(crate) fn progress(&mut self, bytes: u64) {
        self.sink.progress(bytes);
    }
}
