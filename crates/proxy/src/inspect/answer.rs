//! What a model answered, read from a copy of the bytes as they pass.

mod api_error;
mod chat;
mod choices;
mod ending;
mod generate;
mod messages;
mod repetition_watch;
mod responses;
mod token_estimate;
mod tool_input;

use std::borrow::Cow;

use belay_core::event::Usage;
use belay_core::repetition::{RepetitionFinding, RepetitionRules};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::content_encoding::ContentDecoder;
use super::wire::WireApi;
use crate::buffer_pool::MemoryCharge;
use crate::sse::{SseDecoder, SseEvent};

pub(crate) use api_error::ApiError;
use choices::Choices;
use ending::ending;
use repetition_watch::RepetitionWatch;
pub(crate) use token_estimate::{PromptTokens, estimate_prompt_tokens};
use tool_input::ToolInput;

/// Most text of an answer that is kept, to compare it with others.
const MAX_KEPT_TEXT_BYTES: usize = 32 * 1024;
/// Longest plain answer that is looked at.
const MAX_BUFFERED_BODY_BYTES: usize = 8 * 1024 * 1024;

/// What was answered, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResponseSummary {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// Cost in millionths of a dollar, where the upstream tells.
    pub(crate) cost_micros: Option<u64>,
    pub(crate) stop: Option<String>,
    /// Of alternatives the first one counts, here and in the text.
    pub(crate) tool_calls: u32,
    pub(crate) text: String,
    pub(crate) failure: Option<ApiError>,
    /// The last event has come: nothing is missing.
    pub(crate) complete: bool,
    /// Bytes of text, thoughts and arguments so far: what the output costs can be guessed from it.
    pub(crate) said: u64,
    voices: Choices,
    /// What the stream is in the middle of.
    pub(crate) place: StreamPosition,
}

/// What a stream is in the middle of, for whoever has to end it properly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    /// The open block or item: its index, and what it is.
    pub(crate) open: Option<(u64, OpenBlock)>,
    /// Id of the open item.
    pub(crate) item: String,
    /// Blocks and items so far.
    pub(crate) count: u64,
    /// Number of the last event.
    pub(crate) sequence: u64,
    /// Finished items, as they were sent.
    pub(crate) finished: Vec<String>,
}

/// What an open block or item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenBlock {
    Text,
    /// The input of a tool call, in JSON.
    Input,
    /// A thought, or something we know nothing about.
    Other,
}

/// How the answer's body is written.
#[derive(Debug)]
enum BodyFormat {
    Stream(Box<SseDecoder>),
    Plain(Vec<u8>),
    /// Nothing we can read.
    Unreadable,
}

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    api: WireApi,
    status: u16,
    form: BodyFormat,
    decoded: ContentDecoder,
    answered: ResponseSummary,
    chant: RepetitionWatch,
    /// What is kept of the body.
    charge: MemoryCharge,
}

impl BodyFormat {
    fn take(&mut self, api: WireApi, bytes: &[u8], answered: &mut ResponseSummary) {
        match self {
            Self::Stream(decoder) => decoder.feed(bytes, |event| read_event(api, event, answered)),
            Self::Plain(body) if body.len() + bytes.len() <= MAX_BUFFERED_BODY_BYTES => body.extend_from_slice(bytes),
            Self::Plain(_) | Self::Unreadable => {}
        }
    }
}

impl ResponseReader {
    /// Reads an answer with this head. Without `chant` nobody watches for degenerate output.
    pub(crate) fn new(
        api: WireApi,
        status: u16,
        kind: &str,
        encoding: Option<&str>,
        chant: Option<RepetitionRules>,
        charge: MemoryCharge,
    ) -> Self {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let form = if kind.eq_ignore_ascii_case("text/event-stream") {
            BodyFormat::Stream(Box::default())
        } else if kind.eq_ignore_ascii_case("application/json") || status >= 400 {
            BodyFormat::Plain(Vec::new())
        } else {
            BodyFormat::Unreadable
        };
        let (decoded, form) = match ContentDecoder::new(encoding) {
            Some(decoded) => (decoded, form),
            None => (ContentDecoder::Plain, BodyFormat::Unreadable),
        };
        let chant = RepetitionWatch::new(chant);
        Self { api, status, form, decoded, answered: ResponseSummary::default(), chant, charge }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Self { api, form, decoded, answered, .. } = self;
        let readable = decoded.feed(bytes, &mut |bytes| form.take(*api, bytes, answered));
        let in_form = match &self.form {
            BodyFormat::Stream(decoder) => decoder.buffered_bytes(),
            BodyFormat::Plain(body) => body.len(),
            BodyFormat::Unreadable => 0,
        };
        if !readable || !self.charge.set(in_form + self.decoded.buffered_bytes()) {
            (self.form, self.decoded) = (BodyFormat::Unreadable, ContentDecoder::Plain);
            self.charge.set(0);
        }
        self.chant.consume(&mut self.answered.voices);
    }

    /// Whether nothing of the answer can be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.form, BodyFormat::Unreadable)
    }

    /// What has come so far.
    pub(crate) fn summary(&self) -> &ResponseSummary {
        &self.answered
    }

    /// The output degenerated: all of it that still comes.
    pub(crate) fn repetition(&self) -> Option<&RepetitionFinding> {
        self.chant.finding(self.answered.voices.open())
    }

    /// Whether another event could be added to the stream right here. Packed, it may turn out not to be possible.
    pub(crate) fn is_at_event_boundary(&self) -> bool {
        matches!(&self.form, BodyFormat::Stream(decoder) if decoder.is_at_event_boundary())
    }

    /// Whether this is a stream that could be ended by an event of ours.
    pub(crate) fn can_be_cut(&self) -> bool {
        let answered = &self.answered;
        let is_open = !answered.complete && !answered.voices.has_untracked_choices();
        matches!(&self.form, BodyFormat::Stream(_)) && self.decoded.can_append() && is_open
    }

    /// The bytes that end the stream right here, with events that say `note`: at least so many of them.
    pub(crate) fn cut_bytes(&mut self, note: &str, at_least: usize) -> Option<Vec<u8>> {
        if !self.is_at_event_boundary() || !self.can_be_cut() {
            return None;
        }
        let text = ending(self.api, &self.answered, note);
        self.decoded.append_final_block(&text, at_least)
    }

    /// The body is complete, or will never be.
    pub(crate) fn finish(mut self, whole: bool) -> (ResponseSummary, Option<RepetitionFinding>) {
        if self.status >= 400 {
            let failure = match &self.form {
                BodyFormat::Plain(body) => ApiError::read(self.status, body),
                // That it failed is known, whatever it says.
                BodyFormat::Stream(_) | BodyFormat::Unreadable => self.answered.failure.take().unwrap_or_default(),
            };
            self.answered.failure = Some(ApiError { status: self.status, ..failure });
        } else if let BodyFormat::Plain(body) = &self.form
            && whole
        {
            read_plain(self.api, body, &mut self.answered);
            self.chant.consume(&mut self.answered.voices);
        }
        // Who stopped reading on the way has not seen the end.
        self.answered.complete |= whole && !matches!(self.form, BodyFormat::Unreadable);
        let chant = self.chant.finding(self.answered.voices.all()).cloned();
        (self.answered, chant)
    }
}

fn read_event(api: WireApi, event: SseEvent<'_>, answered: &mut ResponseSummary) {
    let read = match api {
        WireApi::Chat => chat::read_event,
        WireApi::Responses => responses::read_event,
        WireApi::Messages => messages::read_event,
        WireApi::GenerateContent => generate::read_event,
    };
    read(event, answered);
}

fn read_plain(api: WireApi, body: &[u8], answered: &mut ResponseSummary) {
    let read = match api {
        WireApi::Chat => chat::read_plain,
        WireApi::Responses => responses::read_plain,
        WireApi::Messages => messages::read_plain,
        WireApi::GenerateContent => generate::read_plain,
    };
    read(body, answered);
}

/// Some servers say `null` where others say nothing.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl ResponseSummary {
    /// Adds a piece of the text.
    fn say(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.current_mut() {
            voice.fresh.text.push_str(piece);
        }
        if self.voices.is_first_choice() {
            let room = MAX_KEPT_TEXT_BYTES.saturating_sub(self.text.len());
            self.text.push_str(&piece[..piece.floor_char_boundary(room.min(piece.len()))]);
        }
    }

    /// Adds a piece of a call's input.
    fn ask_for(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.current_mut() {
            voice.fresh.input.push_str(piece);
        }
    }

    /// Adds a piece of a thought: it costs as much as any other output, and can run in circles, too.
    fn think(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.current_mut() {
            voice.fresh.thought.push_str(piece);
        }
    }

    /// Adds a call that came in one piece: it can be counted, and is too late to be watched.
    fn ask_at_once(&mut self, input: Option<&RawValue>) {
        self.tool_calls += u32::from(self.voices.is_first_choice());
        self.said += input.map_or(0, |input| input.get().len() as u64);
    }

    /// Whoever speaks has come to an end, for this reason.
    fn finish(&mut self, reason: Option<Cow<'_, str>>) {
        if self.voices.is_first_choice() {
            Self::set(&mut self.stop, reason);
        }
        if let Some(voice) = self.voices.current_mut() {
            // Whatever was asked for, now it is all there.
            (voice.done, voice.unsure) = (true, false);
        }
    }

    /// Keeps the first value that is told.
    fn set(slot: &mut Option<String>, value: Option<Cow<'_, str>>) {
        if slot.is_none()
            && let Some(value) = value.filter(|value| !value.is_empty() && value.len() <= 512)
        {
            *slot = Some(value.into_owned());
        }
    }
}

#[cfg(test)]
mod tests;
