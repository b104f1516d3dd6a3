//! What a response contains, as far as it has been read.

use std::borrow::Cow;

use belay_core::event::Usage;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::api_error::ApiError;
use super::choices::Choices;

/// How much text of a response is retained for comparison with others.
const MAX_RETAINED_TEXT_BYTES: usize = 32 * 1024;
/// Longest id, model name or stop reason.
const MAX_FIELD_BYTES: usize = 512;

/// What a response contains, as far as it has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResponseSummary {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// Cost in millionths of a US dollar, if the upstream reports it.
    pub(crate) cost_micros: Option<u64>,
    pub(crate) stop: Option<String>,
    /// Tool calls of the first choice.
    pub(crate) tool_calls: u32,
    /// Text of the first choice.
    pub(crate) text: String,
    pub(crate) failure: Option<ApiError>,
    /// The last event has been read.
    pub(crate) complete: bool,
    /// Bytes of text, reasoning and tool input so far, from which the output tokens are estimated.
    pub(crate) output_bytes: u64,
    pub(crate) choices: Choices,
    pub(crate) position: StreamPosition,
}

/// The open parts of a stream, on which a valid ending depends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The index and the kind of the open block or item.
    pub(super) open: Option<(u64, OpenBlock)>,
    /// The id of the open item.
    pub(super) item_id: String,
    /// Blocks or items so far.
    pub(super) count: u64,
    /// The number of the last event.
    pub(super) sequence: u64,
    /// Finished items as JSON.
    pub(super) finished: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenBlock {
    Text,
    /// The JSON input of a tool call.
    ToolInput,
    /// Reasoning or an unknown kind.
    Other,
}

impl ResponseSummary {
    /// Adds a piece of text to the current choice.
    pub(super) fn push_text(&mut self, piece: &str) {
        self.output_bytes += piece.len() as u64;
        if let Some(choice) = self.choices.current_mut() {
            choice.unread.text.push_str(piece);
        }
        if self.choices.is_first_choice() {
            let capacity = MAX_RETAINED_TEXT_BYTES.saturating_sub(self.text.len());
            self.text.push_str(&piece[..piece.floor_char_boundary(capacity.min(piece.len()))]);
        }
    }

    /// Adds a piece of a tool call's input.
    pub(super) fn push_tool_input(&mut self, piece: &str) {
        self.output_bytes += piece.len() as u64;
        if let Some(choice) = self.choices.current_mut() {
            choice.unread.tool_input.push_str(piece);
        }
    }

    /// Adds a piece of reasoning. It costs as much as other output and can repeat itself as well.
    pub(super) fn push_reasoning(&mut self, piece: &str) {
        self.output_bytes += piece.len() as u64;
        if let Some(choice) = self.choices.current_mut() {
            choice.unread.reasoning.push_str(piece);
        }
    }

    /// Counts a tool call that came in one piece. It is complete, so it is not checked for repetition.
    pub(super) fn count_tool_call(&mut self, input: Option<&RawValue>) {
        self.tool_calls += u32::from(self.choices.is_first_choice());
        self.output_bytes += input.map_or(0, |input| input.get().len() as u64);
    }

    /// Ends the current choice.
    pub(super) fn finish_choice(&mut self, reason: Option<Cow<'_, str>>) {
        if self.choices.is_first_choice() {
            set_once(&mut self.stop, reason);
        }
        if let Some(choice) = self.choices.current_mut() {
            // Its tool calls are complete now.
            (choice.finished, choice.has_opaque_call) = (true, false);
        }
    }
}

/// Retains the first value.
pub(super) fn set_once(slot: &mut Option<String>, value: Option<Cow<'_, str>>) {
    if slot.is_none()
        && let Some(value) = value.filter(|value| !value.is_empty() && value.len() <= MAX_FIELD_BYTES)
    {
        *slot = Some(value.into_owned());
    }
}

/// Reads `null`, which some servers send for a missing value, as the default.
pub(super) fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_bounded() {
        let mut summary = ResponseSummary::default();
        for _ in 0..100_000 {
            summary.push_text("ä text ");
        }
        assert!(summary.text.len() <= MAX_RETAINED_TEXT_BYTES);
        assert_eq!(summary.output_bytes, 100_000 * "ä text ".len() as u64);
    }
}
