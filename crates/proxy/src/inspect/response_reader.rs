//! Reads one response while it streams.

mod repetition_watch;

use belay_core::repetition::{RepetitionFinding, RepetitionRules};

use super::content_encoding::ContentDecoder;
use super::wire::{ApiError, ResponseSummary, WireApi, WireFormat};
use crate::buffer_pool::MemoryCharge;
use crate::sse::SseDecoder;
use repetition_watch::RepetitionWatch;

/// Longest body that is read if it is not a stream.
const MAX_BUFFERED_BODY_BYTES: usize = 8 * 1024 * 1024;

pub(crate) struct ResponseReader {
    format: &'static dyn WireFormat,
    status: u16,
    retry_after: Option<u32>,
    body: BodyFormat,
    decoder: ContentDecoder,
    summary: ResponseSummary,
    watch: RepetitionWatch,
    /// Accounts for what is buffered of the body.
    charge: MemoryCharge,
}

/// The format of the body.
enum BodyFormat {
    Stream(Box<SseDecoder>),
    Plain(Vec<u8>),
    Unreadable,
}

impl std::fmt::Debug for ResponseReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseReader").field("status", &self.status).finish_non_exhaustive()
    }
}

impl BodyFormat {
    fn feed(&mut self, format: &dyn WireFormat, bytes: &[u8], summary: &mut ResponseSummary) {
        match self {
            Self::Stream(decoder) => decoder.feed(bytes, |event| format.read_stream_event(event, summary)),
            Self::Plain(body) if body.len() + bytes.len() <= MAX_BUFFERED_BODY_BYTES => body.extend_from_slice(bytes),
            Self::Plain(_) | Self::Unreadable => {}
        }
    }

    fn buffered_bytes(&self) -> usize {
        match self {
            Self::Stream(decoder) => decoder.buffered_bytes(),
            Self::Plain(body) => body.len(),
            Self::Unreadable => 0,
        }
    }
}

impl ResponseReader {
    /// Without rules the output is not checked for repetition.
    pub(crate) fn new(
        api: WireApi,
        status: u16,
        content_type: &str,
        encoding: Option<&str>,
        repetition: Option<RepetitionRules>,
        charge: MemoryCharge,
    ) -> Self {
        let content_type = content_type.split(';').next().unwrap_or_default().trim();
        let body = if content_type.eq_ignore_ascii_case("text/event-stream") {
            BodyFormat::Stream(Box::default())
        } else if content_type.eq_ignore_ascii_case("application/json") || status >= 400 {
            BodyFormat::Plain(Vec::new())
        } else {
            BodyFormat::Unreadable
        };
        let (decoder, body) = match ContentDecoder::new(encoding) {
            Some(decoder) => (decoder, body),
            None => (ContentDecoder::Plain, BodyFormat::Unreadable),
        };
        let (summary, watch) = (ResponseSummary::default(), RepetitionWatch::new(repetition));
        Self { format: api.format(), status, retry_after: None, body, decoder, summary, watch, charge }
    }

    pub(crate) fn with_retry_after(self, retry_after: Option<u32>) -> Self {
        Self { retry_after, ..self }
    }

    /// Reads the next bytes of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Self { format, body, decoder, summary, .. } = self;
        let readable = decoder.feed(bytes, &mut |bytes| body.feed(*format, bytes, summary));
        if !readable || !self.charge.set(self.body.buffered_bytes() + self.decoder.buffered_bytes()) {
            (self.body, self.decoder) = (BodyFormat::Unreadable, ContentDecoder::Plain);
            self.charge.set(0);
        }
        self.watch.consume(&mut self.summary.choices);
    }

    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.body, BodyFormat::Unreadable)
    }

    /// What has been read so far.
    pub(crate) fn summary(&self) -> &ResponseSummary {
        &self.summary
    }

    /// The repetition in the output, if every unfinished choice repeats itself.
    pub(crate) fn repetition(&self) -> Option<&RepetitionFinding> {
        self.watch.finding(self.summary.choices.open())
    }

    /// Whether another event could follow right here. An encoded stream may still turn out not to allow it.
    pub(crate) fn is_at_event_boundary(&self) -> bool {
        matches!(&self.body, BodyFormat::Stream(decoder) if decoder.is_at_event_boundary())
    }

    /// Whether this is a stream that Belay could end.
    pub(crate) fn can_be_cut(&self) -> bool {
        let is_open = !self.summary.complete && !self.summary.choices.has_untracked_choices();
        matches!(&self.body, BodyFormat::Stream(_)) && self.decoder.can_append() && is_open
    }

    /// The bytes that end the stream right here with `text`: at least `min_bytes` of them.
    pub(crate) fn cut_bytes(&mut self, text: &str, min_bytes: usize) -> Option<Vec<u8>> {
        if !self.is_at_event_boundary() || !self.can_be_cut() {
            return None;
        }
        let events = self.format.end_stream(&self.summary, text);
        self.decoder.append_final_block(&events, min_bytes)
    }

    /// Ends the reading. `complete` is false if the rest of the body will never come.
    pub(crate) fn finish(mut self, complete: bool) -> (ResponseSummary, Option<RepetitionFinding>) {
        if self.status >= 400 {
            let failure = match &self.body {
                BodyFormat::Plain(body) => ApiError::read(self.status, body),
                // The status indicates a failure even if the body is unreadable.
                BodyFormat::Stream(_) | BodyFormat::Unreadable => self.summary.failure.take().unwrap_or_default(),
            };
            self.summary.failure = Some(ApiError { status: self.status, retry_after: self.retry_after, ..failure });
        } else if let BodyFormat::Plain(body) = &self.body
            && complete
        {
            self.format.read_body(body, &mut self.summary);
            self.watch.consume(&mut self.summary.choices);
        }
        self.summary.complete |= complete && !self.is_unreadable();
        let repetition = self.watch.finding(self.summary.choices.all()).cloned();
        (self.summary, repetition)
    }
}

#[cfg(test)]
mod tests;
