//! Assembles one model response from its items and emits it once.

use belay_core::event::{Body, ModelAnswered, ToolCalled, Usage};
use belay_core::{Excerpt, Timestamp};

use crate::transcript::{RecordPosition, TranscriptEventBuilder, append_line};

#[derive(Default)]
pub(super) struct ResponseBuffer {
    /// Position of its first item; `None` without a pending response.
    position: Option<RecordPosition>,
    text: String,
    calls: Vec<(Timestamp, ToolCalled)>,
    final_text: Option<Excerpt>,
}

impl ResponseBuffer {
    pub(super) fn begin(&mut self, builder: &TranscriptEventBuilder<'_>) {
        if self.position.is_none() {
            self.position = Some(builder.position());
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        append_line(&mut self.text, text);
    }

    pub(super) fn push_call(&mut self, at: Timestamp, call: ToolCalled) {
        self.calls.push((at, call));
    }

    pub(super) fn is_pending(&self) -> bool {
        self.position.is_some()
    }

    /// Takes the text of the last response, if it had no tool calls.
    pub(super) fn take_final_text(&mut self) -> Option<Excerpt> {
        self.final_text.take()
    }

    /// Emits the response, then its calls as one batch. An auxiliary response counts only towards the cost.
    pub(super) fn flush(
        &mut self,
        model: Option<&str>,
        usage: Option<(Option<&str>, Usage)>,
        auxiliary: bool,
        builder: &mut TranscriptEventBuilder<'_>,
    ) {
        let Some(position) = self.position.take() else { return };
        let gathered = std::mem::take(self);
        self.final_text = gathered.calls.is_empty().then(|| Excerpt::new(&gathered.text));
        let response = usage.and_then(|(response, _)| response).map(str::to_owned);
        let first = gathered.calls.first().and_then(|(_, call)| call.call.clone());
        builder.at_position(position, |builder| {
            builder.batch = response.clone().or(first);
            let batch = builder.batch.clone();
            builder.push(Body::ModelAnswered(ModelAnswered {
                response,
                model: model.map(str::to_owned),
                usage: usage.map(|(_, usage)| usage),
                tool_calls: Some(u32::try_from(gathered.calls.len()).unwrap_or(u32::MAX)),
                text: Excerpt::new(&gathered.text),
                auxiliary,
                ..ModelAnswered::default()
            }));
            for (at, call) in gathered.calls.into_iter().filter(|_| !auxiliary) {
                builder.at = at;
                builder.batch.clone_from(&batch);
                builder.push(Body::ToolCalled(call));
            }
        });
    }
}
