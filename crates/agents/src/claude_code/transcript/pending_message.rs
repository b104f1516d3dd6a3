//! Assembles one model message from its lines and emits it once.

use std::collections::VecDeque;

use belay_core::event::{Body, ModelAnswered, ToolCalled, TurnEnded, Usage};
use belay_core::{Excerpt, Timestamp, ToolKind};
use serde_json::Value;

use super::record::{Block, Content, Record};
use crate::claude_code::kind_of;
use crate::transcript::{RecordPosition, TranscriptEventBuilder, append_line};

/// A call without a result yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) kind: ToolKind,
    /// Role of a started sub-agent.
    pub(super) role: Option<String>,
}

/// Maximum number of open calls; the oldest are dropped.
const MAX_OPEN_CALLS: usize = 256;

/// Why a message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionReason {
    /// The next message or a tool result follows: the turn continues.
    GoesOn,
    /// A prompt or the end of the file follows: the turn is over.
    TurnOver,
}

/// The current message and the open calls.
#[derive(Debug, Default)]
pub(super) struct PendingMessage {
    id: String,
    /// Position of its first line; `None` without a message.
    position: Option<RecordPosition>,
    /// The response has been emitted; only late blocks and updated usage may follow.
    flushed: bool,
    answer: ModelAnswered,
    text_buffer: String,
    calls: Vec<(Timestamp, ToolCalled)>,
    corrections: u32,
    open_calls: VecDeque<Call>,
    /// Messages that another one interrupted. Their later lines complete them.
    interrupted: VecDeque<InterruptedMessage>,
}

/// An emitted message of which more lines may follow.
#[derive(Debug)]
struct InterruptedMessage {
    id: String,
    position: RecordPosition,
    answer: ModelAnswered,
    corrections: u32,
}

/// Maximum number of interrupted messages. Parallel sub-agents in one file interleave a few.
const MAX_INTERRUPTED: usize = 8;

impl PendingMessage {
    /// Adds one line of a message.
    pub(super) fn push_line(&mut self, record: Record<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let message = record.message;
        let id = message.id.non_empty().unwrap_or(&record.uuid);
        if id != self.id || self.position.is_none() {
            self.complete(CompletionReason::GoesOn, builder);
            self.switch_to(id, builder);
        }
        if let Some(usage) = message.usage {
            self.update_usage(usage.into(), builder);
        }
        if let Some(model) = message.model.non_empty() {
            self.answer.model = Some(model.to_owned());
        }
        if let Some(stop) = message.stop_reason.non_empty() {
            self.answer.stop = Some(stop.to_owned());
        }
        match message.content {
            Content::None => {}
            Content::Text(text) => self.push_text(&text),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match &*block.kind {
                        "text" => self.push_text(&block.text),
                        "tool_use" => self.push_call(&block, builder.at),
                        _ => {}
                    }
                }
            }
        }
        if self.flushed {
            self.push_calls(builder);
        }
    }

    /// Continues an interrupted message, or starts a new one.
    fn switch_to(&mut self, id: &str, builder: &TranscriptEventBuilder<'_>) {
        let open_calls = std::mem::take(&mut self.open_calls);
        let mut interrupted = std::mem::take(&mut self.interrupted);
        if let Some(position) = self.position.take() {
            if interrupted.len() == MAX_INTERRUPTED {
                interrupted.pop_front();
            }
            let (id, corrections) = (std::mem::take(&mut self.id), self.corrections);
            let answer = ModelAnswered { text: Excerpt::default(), ..std::mem::take(&mut self.answer) };
            interrupted.push_back(InterruptedMessage { id, position, answer, corrections });
        }
        let known = interrupted.iter().position(|message| message.id == id).and_then(|at| interrupted.remove(at));
        *self = match known {
            Some(InterruptedMessage { id, position, answer, corrections }) => {
                Self { id, position: Some(position), flushed: true, answer, corrections, ..Self::default() }
            }
            None => Self { id: id.to_owned(), position: Some(builder.position()), ..Self::default() },
        };
        self.open_calls = open_calls;
        self.interrupted = interrupted;
    }

    fn push_text(&mut self, text: &str) {
        append_line(&mut self.text_buffer, text);
    }

    fn push_call(&mut self, block: &Block<'_>, at: Timestamp) {
        let call = ToolCalled::new(block.id.owned(), kind_of(&block.name), &block.name, &block.input);
        let role = match call.tool.kind {
            ToolKind::SubAgent => block.input.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        if self.open_calls.len() == MAX_OPEN_CALLS {
            self.open_calls.pop_front();
        }
        self.open_calls.push_back(Call { id: block.id.to_string(), kind: call.tool.kind, role });
        self.calls.push((at, call));
    }

    /// Updates the usage, which every line repeats and later lines may increase.
    fn update_usage(&mut self, usage: Usage, builder: &mut TranscriptEventBuilder<'_>) {
        let known = self.answer.usage.unwrap_or_default();
        if usage.total() < known.total() {
            return;
        }
        self.answer.usage = Some(usage);
        if self.flushed && usage != known {
            self.corrections += 1;
            builder.push(Body::ModelAnswered(ModelAnswered {
                response: Some(format!("{}+{}", self.id, self.corrections)),
                model: self.answer.model.clone(),
                usage: Some(usage.saturating_sub(&known)),
                auxiliary: true,
                ..ModelAnswered::default()
            }));
        }
    }

    /// Emits the response, then its calls.
    pub(super) fn complete(&mut self, reason: CompletionReason, builder: &mut TranscriptEventBuilder<'_>) {
        let Some(position) = self.position.clone() else { return };
        if !self.flushed {
            self.flushed = true;
            let text = Excerpt::new(&self.text_buffer);
            let answer = ModelAnswered {
                response: Some(self.id.clone()),
                tool_calls: Some(u32::try_from(self.calls.len()).unwrap_or(u32::MAX)),
                text: text.clone(),
                ..self.answer.clone()
            };
            let silent = self.calls.is_empty();
            builder.at_position(position, |builder| {
                builder.batch = Some(self.id.clone());
                builder.push(Body::ModelAnswered(answer));
                self.push_calls(builder);
                if silent && reason == CompletionReason::TurnOver {
                    builder.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }));
                }
            });
        }
        if reason == CompletionReason::TurnOver {
            self.position = None;
        }
    }

    fn push_calls(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        let now = builder.at;
        for (at, call) in self.calls.drain(..) {
            builder.at = at;
            builder.batch = Some(self.id.clone());
            builder.push(Body::ToolCalled(call));
        }
        builder.at = now;
    }

    /// Removes and returns the open call with this id.
    pub(super) fn take_call(&mut self, id: &str) -> Option<Call> {
        let at = self.open_calls.iter().position(|call| call.id == id)?;
        self.open_calls.remove(at)
    }
}
