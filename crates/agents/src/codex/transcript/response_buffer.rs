//! One model response, gathered from its items and told once.

use belay_core::event::{Body, ModelAnswered, ToolCalled, Usage};
use belay_core::{Excerpt, Timestamp};

use crate::transcript::{RecordPosition, TranscriptEventBuilder};

/// How much of what a model says in one response is kept to be told.
const MAX_TEXT_BYTES: usize = 256 * 1024;

#[derive(Default)]
pub(super) struct ResponseBuffer {
    /// Where its first item stands; `None` when nothing waits to be told.
    mark: Option<RecordPosition>,
    said: String,
    calls: Vec<(Timestamp, ToolCalled)>,
    last_words: Option<Excerpt>,
}

impl ResponseBuffer {
    pub(super) fn begin(&mut self, teller: &TranscriptEventBuilder<'_>) {
        if self.mark.is_none() {
            self.mark = Some(teller.position());
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        let room = MAX_TEXT_BYTES.saturating_sub(self.said.len());
        if !self.said.is_empty() && room > 0 {
            self.said.push('\n');
        }
        self.said.push_str(&text[..text.floor_char_boundary(room)]);
    }

    pub(super) fn call(&mut self, at: Timestamp, call: ToolCalled) {
        self.calls.push((at, call));
    }

    pub(super) fn is_pending(&self) -> bool {
        self.mark.is_some()
    }

    /// What the answer told last said, if it asked for nothing; once.
    pub(super) fn last_text(&mut self) -> Option<Excerpt> {
        self.last_words.take()
    }

    /// Tells the answer, then its calls as one batch. An auxiliary response only costs.
    pub(super) fn flush(
        &mut self,
        model: Option<&str>,
        usage: Option<(Option<&str>, Usage)>,
        auxiliary: bool,
        teller: &mut TranscriptEventBuilder<'_>,
    ) {
        let Some(mark) = self.mark.take() else { return };
        let gathered = std::mem::take(self);
        self.last_words = gathered.calls.is_empty().then(|| Excerpt::new(&gathered.said));
        let response = usage.and_then(|(response, _)| response).map(str::to_owned);
        let first = gathered.calls.first().and_then(|(_, call)| call.call.clone());
        teller.set_position(mark, |teller| {
            teller.batch = response.clone().or(first);
            let batch = teller.batch.clone();
            teller.push(Body::ModelAnswered(ModelAnswered {
                response,
                model: model.map(str::to_owned),
                usage: usage.map(|(_, usage)| usage),
                tool_calls: Some(u32::try_from(gathered.calls.len()).unwrap_or(u32::MAX)),
                text: Excerpt::new(&gathered.said),
                auxiliary,
                ..ModelAnswered::default()
            }));
            for (at, call) in gathered.calls.into_iter().filter(|_| !auxiliary) {
                teller.at = at;
                teller.batch.clone_from(&batch);
                teller.push(Body::ToolCalled(call));
            }
        });
    }
}
