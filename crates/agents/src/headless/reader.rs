//! Reads the output of a headless run.

use std::collections::BTreeMap;

use belay_core::Timestamp;
use belay_core::event::Usage;
use serde_json::Value;

use super::{HeadlessEvent, HeadlessProtocol};

/// A longer line is not progress: it is skipped, and the run goes on.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Kept at the end of a message that comes in pieces.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Longest tool input in an event.
const MAX_INPUT_CHARS: usize = 300;

/// Turns the stdout of an agent into events, and keeps its answer.
#[derive(Debug)]
pub struct OutputReader {
    /// `None` for agents whose output is text.
    protocol: Option<&'static dyn HeadlessProtocol>,
    partial: Vec<u8>,
    state: ReaderState,
}

/// What was read so far.
#[derive(Debug, Default)]
pub struct ReaderState {
    events: Vec<HeadlessEvent>,
    session: Option<String>,
    answer: String,
    /// The next delta starts a new message.
    message_ended: bool,
    /// Usage by message, for agents that repeat a message with every block.
    by_message: BTreeMap<String, Usage>,
    /// The run's own total, if the agent reports one.
    total: Option<(Usage, Option<u64>)>,
    /// The total that was reported last.
    emitted: Option<(Usage, Option<u64>)>,
    last_tool: String,
    /// How the agent itself says it failed.
    failure: Option<String>,
    /// The usage limit that it reports, and its end if that is known.
    limit: Option<(String, Option<Timestamp>)>,
    /// The last tool that needed a permission.
    denied: Option<String>,
}

impl OutputReader {
    pub fn new(protocol: Option<&'static dyn HeadlessProtocol>) -> Self {
        Self { protocol, partial: Vec::new(), state: ReaderState::default() }
    }

    /// Reads a piece of the output.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<HeadlessEvent> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.partial.len() + piece.len() <= MAX_LINE_BYTES {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.line(&line);
            }
        }
        std::mem::take(&mut self.state.events)
    }

    /// Reads what is left at the end of the output.
    pub fn finish(&mut self) -> Vec<HeadlessEvent> {
        let line = std::mem::take(&mut self.partial);
        self.line(&line);
        std::mem::take(&mut self.state.events)
    }

    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        match self.protocol {
            Some(protocol) => {
                // Warnings in between are not JSON.
                if let Ok(value) = serde_json::from_str::<Value>(text.trim())
                    && value.is_object()
                {
                    protocol.read(&value, &mut self.state);
                }
            }
            None if text.is_empty() => {}
            None => self.state.delta(&text),
        }
    }

    /// The agent's session id.
    pub fn session(&self) -> Option<&str> {
        self.state.session.as_deref()
    }

    /// The agent's last message.
    pub fn answer(&self) -> &str {
        self.state.answer.trim()
    }

    /// Tokens of the run, and its cost if the agent reports it.
    pub fn usage(&self) -> (Usage, Option<u64>) {
        self.state.usage()
    }

    /// The usage limit that the agent reports.
    pub fn limit(&self) -> Option<(&str, Option<Timestamp>)> {
        self.state.limit.as_ref().map(|(message, until)| (message.as_str(), *until))
    }

    /// The last tool that needed a permission.
    pub fn denied(&self) -> Option<&str> {
        self.state.denied.as_deref()
    }

    /// How the agent itself says it failed.
    pub fn failure(&self) -> Option<&str> {
        self.state.failure.as_deref()
    }
}

impl ReaderState {
    pub(crate) fn emit(&mut self, event: HeadlessEvent) {
        match &event {
            HeadlessEvent::Limit { message, until } => {
                let known = self.limit.take().and_then(|(_, until)| until);
                self.limit = Some((message.clone(), until.or(known)));
            }
            HeadlessEvent::PermissionDenied { tool, .. } => self.denied = Some(tool.clone()),
            _ => {}
        }
        self.events.push(event);
    }

    pub(crate) fn session(&mut self, id: &str) {
        if self.session.as_deref() != Some(id) && !id.is_empty() {
            self.session = Some(id.to_owned());
            self.emit(HeadlessEvent::Session { id: id.to_owned() });
        }
    }

    /// A complete message. Some agents repeat the last one in their result.
    pub(crate) fn message(&mut self, text: &str) {
        let is_repeat = self.message_ended && self.answer == text;
        if !text.trim().is_empty() && !is_repeat {
            text.clone_into(&mut self.answer);
            self.message_ended = true;
            self.emit(HeadlessEvent::Text { text: text.to_owned() });
        }
    }

    /// A part of a message.
    pub(crate) fn delta(&mut self, text: &str) {
        if std::mem::take(&mut self.message_ended) {
            self.answer.clear();
        }
        // The beginning is kept: it has the verdict.
        let room = MAX_ANSWER_BYTES.saturating_sub(self.answer.len());
        let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.answer.push_str(&text[..end]);
        self.emit(HeadlessEvent::TextDelta { text: text.to_owned() });
    }

    pub(crate) fn tool_call(&mut self, tool: &str, input: &Value) {
        self.message_ended = true;
        tool.clone_into(&mut self.last_tool);
        self.emit(HeadlessEvent::ToolCall { tool: tool.to_owned(), input: summary(input) });
    }

    /// Usage of one message, which may be reported several times.
    pub(crate) fn message_usage(&mut self, id: &str, usage: Usage) {
        if usage.total() > 0 {
            self.by_message.insert(id.to_owned(), usage);
            self.emit_usage();
        }
    }

    /// The run's total, which replaces the sum of its messages.
    pub(crate) fn total_usage(&mut self, usage: Usage, micros: Option<u64>) {
        self.total = Some((usage, micros));
        self.emit_usage();
    }

    fn usage(&self) -> (Usage, Option<u64>) {
        self.total.unwrap_or_else(|| {
            let mut sum = Usage::default();
            self.by_message.values().for_each(|usage| sum.add(usage));
            (sum, None)
        })
    }

    fn emit_usage(&mut self) {
        let (usage, micros) = self.usage();
        if self.emitted != Some((usage, micros)) {
            self.emitted = Some((usage, micros));
            self.emit(HeadlessEvent::Usage { usage, micros });
        }
    }

    /// The tool that was called last.
    pub(crate) fn last_tool(&self) -> &str {
        &self.last_tool
    }

    pub(crate) fn fail(&mut self, message: &str) {
        self.failure = Some(message.to_owned());
        self.emit(HeadlessEvent::Error { message: message.to_owned() });
    }
}

/// One line that shows what a tool call does: its command, path, pattern or URL, otherwise its input as JSON.
fn summary(input: &Value) -> String {
    let known = ["command", "cmd", "file_path", "filePath", "absolute_path", "path", "pattern", "query", "url"];
    let text = match known.iter().find_map(|key| input.get(key)) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => input.as_str().map_or_else(|| input.to_string(), str::to_owned),
    };
    let mut line: String = text.lines().next().unwrap_or_default().chars().take(MAX_INPUT_CHARS).collect();
    if line.len() < text.trim_end().len() {
        line.push_str(" ...");
    }
    line
}

/// Tokens from an object with the names of Anthropic's API.
pub(crate) fn anthropic_usage(usage: &Value) -> Usage {
    let field = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input: field("input_tokens"),
        output: field("output_tokens"),
        cache_read: field("cache_read_input_tokens"),
        cache_write: field("cache_creation_input_tokens"),
        cache_write_1h: usage.pointer("/cache_creation/ephemeral_1h_input_tokens").and_then(Value::as_u64).unwrap_or(0),
    }
}

/// US dollars as millionths.
pub(crate) fn micros(dollars: &Value) -> Option<u64> {
    let dollars = dollars.as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0)?;
    Some((dollars * 1e6).round() as u64)
}
