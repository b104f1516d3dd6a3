//! One model message, gathered from its lines and told once.

use std::collections::VecDeque;

use belay_core::event::{Body, ModelAnswered, ToolCalled, TurnEnded, Usage};
use belay_core::{Excerpt, Timestamp, ToolKind};
use serde_json::Value;

use super::record::{Block, Content, Record};
use crate::claude_code::kind_of;
use crate::transcript::{RecordPosition, TranscriptEventBuilder};

/// A call that waits for its answer.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) kind: ToolKind,
    /// For a sub-agent: what it is to be.
    pub(super) role: Option<String>,
}

/// How many calls may wait for their answers; older ones have lost theirs.
const MAX_OPEN_CALLS: usize = 256;

/// How much of what a model says in one message is kept to be told.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// What makes a message complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionReason {
    /// The next message begins, or a tool answers: the agent goes on.
    GoesOn,
    /// Somebody else speaks, or nobody any more: the agent's turn is over.
    TurnOver,
}

/// The message whose lines are being read, and the calls that wait for answers.
#[derive(Debug, Default)]
pub(super) struct PendingMessage {
    id: String,
    /// Where its first line stands; `None` when nothing is gathered.
    mark: Option<RecordPosition>,
    /// The answer has been told; only late blocks and a better usage may follow.
    told: bool,
    answer: ModelAnswered,
    said: String,
    calls: Vec<(Timestamp, ToolCalled)>,
    corrections: u32,
    open: VecDeque<Call>,
}

impl PendingMessage {
    /// Takes one line of a message in.
    pub(super) fn take(&mut self, record: Record<'_>, teller: &mut TranscriptEventBuilder<'_>) {
        let message = record.message;
        let id = message.id.non_empty().unwrap_or(&record.uuid);
        if id != self.id || self.mark.is_none() {
            self.complete(CompletionReason::GoesOn, teller);
            let open = std::mem::take(&mut self.open);
            *self = Self { id: id.to_owned(), mark: Some(teller.position()), open, ..Self::default() };
        }
        if let Some(usage) = message.usage {
            self.count(usage.into(), teller);
        }
        if let Some(model) = message.model.non_empty() {
            self.answer.model = Some(model.to_owned());
        }
        if let Some(stop) = message.stop_reason.non_empty() {
            self.answer.stop = Some(stop.to_owned());
        }
        match message.content {
            Content::None => {}
            Content::Text(text) => self.say(&text),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match &*block.kind {
                        "text" => self.say(&block.text),
                        "tool_use" => self.call(&block, teller.at),
                        _ => {}
                    }
                }
            }
        }
        if self.told {
            self.tell_calls(teller);
        }
    }

    fn say(&mut self, text: &str) {
        let room = MAX_TEXT_BYTES.saturating_sub(self.said.len());
        if !self.said.is_empty() && room > 0 {
            self.said.push('\n');
        }
        self.said.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn call(&mut self, block: &Block<'_>, at: Timestamp) {
        let call = ToolCalled::new(block.id.owned(), kind_of(&block.name), &block.name, &block.input);
        let role = match call.tool.kind {
            ToolKind::SubAgent => block.input.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        if self.open.len() == MAX_OPEN_CALLS {
            self.open.pop_front();
        }
        self.open.push_back(Call { id: block.id.to_string(), kind: call.tool.kind, role });
        self.calls.push((at, call));
    }

    /// Every line repeats the usage; early lines may know less of it than late ones.
    fn count(&mut self, usage: Usage, teller: &mut TranscriptEventBuilder<'_>) {
        let known = self.answer.usage.unwrap_or_default();
        if usage.total() < known.total() {
            return;
        }
        self.answer.usage = Some(usage);
        if self.told && usage != known {
            self.corrections += 1;
            teller.push(Body::ModelAnswered(ModelAnswered {
                response: Some(format!("{}+{}", self.id, self.corrections)),
                model: self.answer.model.clone(),
                usage: Some(Usage {
                    input: usage.input.saturating_sub(known.input),
                    output: usage.output.saturating_sub(known.output),
                    cache_read: usage.cache_read.saturating_sub(known.cache_read),
                    cache_write: usage.cache_write.saturating_sub(known.cache_write),
                }),
                auxiliary: true,
                ..ModelAnswered::default()
            }));
        }
    }

    /// Tells what has been gathered: the answer, then its calls.
    pub(super) fn complete(&mut self, because: CompletionReason, teller: &mut TranscriptEventBuilder<'_>) {
        let Some(mark) = self.mark.clone() else { return };
        if !self.told {
            self.told = true;
            let text = Excerpt::new(&self.said);
            let answer = ModelAnswered {
                response: Some(self.id.clone()),
                tool_calls: Some(u32::try_from(self.calls.len()).unwrap_or(u32::MAX)),
                text: text.clone(),
                ..self.answer.clone()
            };
            let silent = self.calls.is_empty();
            teller.set_position(mark, |teller| {
                teller.batch = Some(self.id.clone());
                teller.push(Body::ModelAnswered(answer));
                self.tell_calls(teller);
                if silent && because == CompletionReason::TurnOver {
                    teller.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }));
                }
            });
        }
        if because == CompletionReason::TurnOver {
            self.mark = None;
        }
    }

    fn tell_calls(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        let now = teller.at;
        for (at, call) in self.calls.drain(..) {
            teller.at = at;
            teller.batch = Some(self.id.clone());
            teller.push(Body::ToolCalled(call));
        }
        teller.at = now;
    }

    /// The call an answer belongs to.
    pub(super) fn answered(&mut self, id: &str) -> Option<Call> {
        let at = self.open.iter().position(|call| call.id == id)?;
        self.open.remove(at)
    }
}
