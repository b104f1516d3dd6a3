//! Turns what a dialect has understood into events of the right session, with ids that are the
//! same whenever the same file is read again.

use belay_core::event::{Body, Event, ModelAnswered, Source, ToolCalled};
use belay_core::{SessionKey, Timestamp};

use super::Sink;
use super::bounded_text::bound;

/// Speaks for one session at a time.
pub struct TranscriptEventBuilder<'a> {
    sink: &'a mut dyn Sink,
    /// Whose events these are.
    pub session: SessionKey,
    /// For a sub-agent: who started it.
    pub parent: Option<SessionKey>,
    /// When the current record was written.
    pub at: Timestamp,
    /// The model message or turn the current record belongs to.
    pub batch: Option<String>,
    /// Where the agent works.
    pub cwd: Option<String>,
    record: String,
    told: u32,
}

/// Where and when a record stands; see [`TranscriptEventBuilder::set_position`].
#[derive(Clone, Debug)]
pub struct RecordPosition {
    session: SessionKey,
    parent: Option<SessionKey>,
    at: Timestamp,
    record: String,
    told: u32,
}

impl std::fmt::Debug for TranscriptEventBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Teller").field("session", &self.session).field("record", &self.record).finish_non_exhaustive()
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
            told: 0,
        }
    }

    /// Begins a record: the events that follow take their ids from `id`, which is unique within
    /// the session (the record's own id where it has one, its place in the file otherwise).
    pub fn start_record(&mut self, id: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        self.record.clear();
        // Writing to a String cannot fail.
        let _ = self.record.write_fmt(id);
        self.told = 0;
        self.batch = None;
    }

    /// Tells one event of the current record.
    pub fn push(&mut self, body: Body) {
        let id = if self.told == 0 { self.record.clone() } else { format!("{}.{}", self.record, self.told) };
        self.told += 1;
        let mut event = Event::new(id, self.session.clone(), Source::Transcript, self.at, body);
        event.parent.clone_from(&self.parent);
        event.batch.clone_from(&self.batch);
        event.cwd.clone_from(&self.cwd);
        bound(&mut event);
        self.sink.event(event);
    }

    /// Tells an event that somebody else has made.
    pub(crate) fn push_event(&mut self, mut event: Event) {
        bound(&mut event);
        self.sink.event(event);
    }

    /// Tells a model's answer and then the calls it asks for, as one batch.
    pub fn push_answer(&mut self, batch: Option<String>, answer: ModelAnswered, calls: Vec<ToolCalled>) {
        self.batch = batch;
        let tool_calls = Some(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        self.push(Body::ModelAnswered(ModelAnswered { tool_calls, ..answer }));
        for call in calls {
            self.push(Body::ToolCalled(call));
        }
        self.batch = None;
    }

    /// Where and when the current record stands.
    pub fn position(&self) -> RecordPosition {
        RecordPosition {
            session: self.session.clone(),
            parent: self.parent.clone(),
            at: self.at,
            record: self.record.clone(),
            told: self.told,
        }
    }

    /// Speaks for an earlier record, then goes on with the current one.
    pub fn set_position(&mut self, mark: RecordPosition, speak: impl FnOnce(&mut Self)) {
        let now = self.position();
        let batch = self.batch.take();
        self.go_to(mark);
        speak(self);
        self.go_to(now);
        self.batch = batch;
    }

    fn go_to(&mut self, mark: RecordPosition) {
        self.session = mark.session;
        self.parent = mark.parent;
        self.at = mark.at;
        self.record = mark.record;
        self.told = mark.told;
    }

    /// So many more bytes have been read.
    pub(crate) fn progress(&mut self, bytes: u64) {
        self.sink.progress(bytes);
    }
}
