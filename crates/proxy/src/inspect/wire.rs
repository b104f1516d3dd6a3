//! The model APIs whose conversations Belay can follow.

mod api_error;
mod chat;
mod choices;
mod generate_content;
mod message_item;
mod messages;
mod nudge;
mod responses;
mod summary;
mod tool_input;

use crate::sse::SseEvent;

pub(crate) use api_error::ApiError;
pub(crate) use choices::{Choices, UnreadDeltas};
pub(crate) use message_item::MessageItem;
pub(crate) use summary::ResponseSummary;

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireApi {
    /// OpenAI's Chat Completions and everything compatible with it.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's generateContent.
    GenerateContent,
}

impl WireApi {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::GenerateContent];

    /// The API of which a request asks the next turn of a conversation. `None` for token counts, models, files.
    pub(crate) fn of_turn(method: &str, path: &str) -> Option<Self> {
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
        Self::ALL.into_iter().find(|api| method == "POST" && api.format().is_turn(path))
    }

    pub(crate) fn format(self) -> &'static dyn WireFormat {
        match self {
            Self::Chat => &chat::Chat,
            Self::Responses => &responses::Responses,
            Self::Messages => &messages::Messages,
            Self::GenerateContent => &generate_content::GenerateContent,
        }
    }
}

/// Everything Belay knows about one model API.
pub(crate) trait WireFormat: Sync {
    /// Whether a request to this path asks for a turn of a conversation. The path has no query.
    fn is_turn(&self, path: &str) -> bool;

    /// The model that the path names.
    fn model_in_path<'p>(&self, _path: &'p str) -> Option<&'p str> {
        None
    }

    /// The field of a request that holds the conversation.
    fn messages_field(&self) -> &'static str;

    /// Passes on what a message contains, in order. `false` if its shape is unknown.
    fn read_message<'a>(&self, message: &'a [u8], each: &mut dyn FnMut(MessageItem<'a>)) -> bool;

    /// The body of a request with a text at the end of its conversation. `None` if it has no messages.
    ///
    /// The text goes to the very end, so that the upstream's prompt cache stays valid. No other byte changes.
    fn insert_nudge(&self, body: &[u8], text: &str) -> Option<Vec<u8>>;

    /// Reads one event of a streamed response.
    fn read_stream_event(&self, event: SseEvent<'_>, summary: &mut ResponseSummary);

    /// Reads the body of a response that is not streamed.
    fn read_body(&self, body: &[u8], summary: &mut ResponseSummary);

    /// The events that end a stream after what was read so far.
    ///
    /// The client keeps what it has received, `text` states the reason, and the client's parser sees a complete response.
    ///
    /// A tool call with incomplete input must not run: half a command can do more harm than the full one. Its input is
    /// made invalid ([`tool_input::INVALIDATING_SUFFIX`]), because some clients accept the beginning of an object, and
    /// where the API closes calls one by one the call is never closed. Agents drop such a call and end their turn, or
    /// report invalid input to the model; none of those tested retries or runs it. An error event is not an alternative:
    /// some agents repeat the request at once, and the same response would be cut again.
    ///
    /// Plain-text input cannot be made invalid. Where a Chat Completions tool takes plain text, only an error event
    /// keeps the client from running half of it.
    fn end_stream(&self, summary: &ResponseSummary, text: &str) -> String;
}

#[cfg(test)]
mod tests;
