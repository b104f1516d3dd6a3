//! What a model answered, read from a copy of the bytes as they pass.

mod chat;
mod ending;
mod estimate;
mod failure;
mod generate;
mod input;
mod messages;
mod responses;
mod voices;
mod watch;

use std::borrow::Cow;

use belay_core::chant::{ChantFinding, ChantRules};
use belay_core::event::Usage;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::api::Api;
use super::decode::Decoded;
use crate::buffer::Charge;
use crate::sse::{Decoder, SseEvent};

use ending::ending;
pub(crate) use estimate::{Question, question_tokens};
pub(crate) use failure::Failure;
use input::Input;
use voices::Voices;
use watch::Watch;

/// Most text of an answer that is kept, to compare it with others.
const KEPT_TEXT: usize = 32 * 1024;
/// Longest plain answer that is looked at.
const KEPT_BODY: usize = 8 * 1024 * 1024;

/// What was answered, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answered {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// Cost in millionths of a dollar, where the upstream tells.
    pub(crate) cost_micros: Option<u64>,
    pub(crate) stop: Option<String>,
    /// Of alternatives the first one counts, here and in the text.
    pub(crate) tool_calls: u32,
    pub(crate) text: String,
    pub(crate) failure: Option<Failure>,
    /// The last event has come: nothing is missing.
    pub(crate) complete: bool,
    /// Bytes of text, thoughts and arguments so far: what the output costs can be guessed from it.
    pub(crate) said: u64,
    voices: Voices,
    /// What the stream is in the middle of.
    pub(crate) place: Place,
}

/// What a stream is in the middle of, for whoever has to end it properly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The open block or item: its index, and what it is.
    pub(crate) open: Option<(u64, Open)>,
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
pub(crate) enum Open {
    Text,
    /// The input of a tool call, in JSON.
    Input,
    /// A thought, or something we know nothing about.
    Other,
}

/// How the answer's body is written.
#[derive(Debug)]
enum Form {
    Stream(Box<Decoder>),
    Plain(Vec<u8>),
    /// Nothing we can read.
    Blind,
}

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    api: Api,
    status: u16,
    form: Form,
    decoded: Decoded,
    answered: Answered,
    chant: Watch,
    /// What is kept of the body.
    charge: Charge,
}

impl Form {
    fn take(&mut self, api: Api, bytes: &[u8], answered: &mut Answered) {
        match self {
            Self::Stream(decoder) => decoder.feed(bytes, |event| read_event(api, event, answered)),
            Self::Plain(body) if body.len() + bytes.len() <= KEPT_BODY => body.extend_from_slice(bytes),
            Self::Plain(_) | Self::Blind => {}
        }
    }
}

impl Reader {
    /// Reads an answer with this head. Without `chant` nobody watches for degenerate output.
    pub(crate) fn new(
        api: Api,
        status: u16,
        kind: &str,
        encoding: Option<&str>,
        chant: Option<ChantRules>,
        charge: Charge,
    ) -> Self {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let form = if kind.eq_ignore_ascii_case("text/event-stream") {
            Form::Stream(Box::default())
        } else if kind.eq_ignore_ascii_case("application/json") || status >= 400 {
            Form::Plain(Vec::new())
        } else {
            Form::Blind
        };
        let (decoded, form) = match Decoded::new(encoding) {
            Some(decoded) => (decoded, form),
            None => (Decoded::Plain, Form::Blind),
        };
        let chant = Watch::new(chant);
        Self { api, status, form, decoded, answered: Answered::default(), chant, charge }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Self { api, form, decoded, answered, .. } = self;
        let readable = decoded.feed(bytes, &mut |bytes| form.take(*api, bytes, answered));
        let in_form = match &self.form {
            Form::Stream(decoder) => decoder.kept(),
            Form::Plain(body) => body.len(),
            Form::Blind => 0,
        };
        if !readable || !self.charge.set(in_form + self.decoded.kept()) {
            (self.form, self.decoded) = (Form::Blind, Decoded::Plain);
            self.charge.set(0);
        }
        self.chant.look(&mut self.answered.voices);
    }

    /// Takes all of the body at once.
    pub(crate) fn feed_all(&mut self, bytes: Vec<u8>) {
        match (&mut self.form, &self.decoded) {
            (Form::Plain(body), Decoded::Plain)
                if body.is_empty() && bytes.len() <= KEPT_BODY && self.charge.set(bytes.len()) =>
            {
                *body = bytes;
            }
            _ => self.feed(&bytes),
        }
    }

    /// Whether nothing of the answer can be read.
    pub(crate) fn is_blind(&self) -> bool {
        matches!(self.form, Form::Blind)
    }

    /// What has come so far.
    pub(crate) fn so_far(&self) -> &Answered {
        &self.answered
    }

    /// The output degenerated: all of it that still comes.
    pub(crate) fn chanting(&self) -> Option<&ChantFinding> {
        self.chant.finding(self.answered.voices.open())
    }

    /// Whether another event could be added to the stream right here. Packed, it may turn out not to be possible.
    pub(crate) fn may_end_here(&self) -> bool {
        matches!(&self.form, Form::Stream(decoder) if decoder.is_between_events())
    }

    /// Whether this is a stream that could be ended by an event of ours.
    pub(crate) fn is_open_stream(&self) -> bool {
        let answered = &self.answered;
        let is_open = !answered.complete && !answered.voices.is_crowded();
        matches!(&self.form, Form::Stream(_)) && self.decoded.may_end() && is_open
    }

    /// The bytes that end the stream right here, with events that say `note`: at least so many of them.
    pub(crate) fn ending(&mut self, note: &str, at_least: usize) -> Option<Vec<u8>> {
        if !self.may_end_here() || !self.is_open_stream() {
            return None;
        }
        let text = ending(self.api, &self.answered, note);
        self.decoded.ending(&text, at_least)
    }

    /// The body is complete, or will never be.
    pub(crate) fn finish(mut self, whole: bool) -> (Answered, Option<ChantFinding>) {
        if self.status >= 400 {
            let failure = match &self.form {
                Form::Plain(body) => Failure::read(self.status, body),
                // That it failed is known, whatever it says.
                Form::Stream(_) | Form::Blind => self.answered.failure.take().unwrap_or_default(),
            };
            self.answered.failure = Some(Failure { status: self.status, ..failure });
        } else if let Form::Plain(body) = &self.form
            && whole
        {
            read_plain(self.api, body, &mut self.answered);
            self.chant.look(&mut self.answered.voices);
        }
        // Who stopped reading on the way has not seen the end.
        self.answered.complete |= whole && !matches!(self.form, Form::Blind);
        let chant = self.chant.finding(self.answered.voices.all()).cloned();
        (self.answered, chant)
    }
}

fn read_event(api: Api, event: SseEvent<'_>, answered: &mut Answered) {
    let read = match api {
        Api::Chat => chat::read_event,
        Api::Responses => responses::read_event,
        Api::Messages => messages::read_event,
        Api::Generate => generate::read_event,
    };
    read(event, answered);
}

fn read_plain(api: Api, body: &[u8], answered: &mut Answered) {
    let read = match api {
        Api::Chat => chat::read_plain,
        Api::Responses => responses::read_plain,
        Api::Messages => messages::read_plain,
        Api::Generate => generate::read_plain,
    };
    read(body, answered);
}

/// Some servers say `null` where others say nothing.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Answered {
    /// Adds a piece of the text.
    fn say(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.speaking() {
            voice.fresh.text.push_str(piece);
        }
        if self.voices.is_first() {
            let room = KEPT_TEXT.saturating_sub(self.text.len());
            self.text.push_str(&piece[..piece.floor_char_boundary(room.min(piece.len()))]);
        }
    }

    /// Adds a piece of a call's input.
    fn ask_for(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.speaking() {
            voice.fresh.input.push_str(piece);
        }
    }

    /// Adds a piece of a thought: it costs as much as any other output, and can run in circles, too.
    fn think(&mut self, piece: &str) {
        self.said += piece.len() as u64;
        if let Some(voice) = self.voices.speaking() {
            voice.fresh.thought.push_str(piece);
        }
    }

    /// Adds a call that came in one piece: it can be counted, and is too late to be watched.
    fn ask_at_once(&mut self, input: Option<&RawValue>) {
        self.tool_calls += u32::from(self.voices.is_first());
        self.said += input.map_or(0, |input| input.get().len() as u64);
    }

    /// Whoever speaks has come to an end, for this reason.
    fn finish(&mut self, reason: Option<Cow<'_, str>>) {
        if self.voices.is_first() {
            Self::set(&mut self.stop, reason);
        }
        if let Some(voice) = self.voices.speaking() {
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
