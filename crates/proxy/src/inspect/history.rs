//! Finds the new messages of a conversation.
//!
//! Every request repeats the complete history. To read only the new part, a few checkpoints are retained: the end of a
//! message, and a hash that shows whether the message still ends there. Agents change their history (a cache mark
//! moves, an old result is dropped), so there are several checkpoints: at the last few messages, and at growing
//! distances before them.
//!
//! A megabyte of history is not hashed completely for every request. Nothing before a checkpoint is read again, so it only
//! matters that nothing has moved: an insertion or a deletion moves everything behind it. The hash covers the fields before
//! the messages, which are not read again either, the last message with some kilobytes before it, and samples of the rest.
//! A last message that was edited in place counts as new.
//!
//! Behind a change, all messages are scanned again, and hashes of the last messages filter out those reported before.

mod message_hashes;

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::json_scan::JsonCursor;
use super::wire::WireApi;
use message_hashes::MessageHashes;

const MAX_CHECKPOINTS: usize = 12;
/// How many checkpoints are at the last messages.
const TRAILING_CHECKPOINTS: usize = 4;
/// How many messages of an unknown conversation count as new. It may be days old, and only its recent past matters now.
const MAX_NEW_MESSAGES: usize = 64;
/// How many messages of one request are scanned, since each takes memory.
const MAX_MESSAGES: usize = 64 * 1024;

/// How many bytes before a checkpoint are hashed without gaps: the last message, but at least and at most this much.
const DENSE_HASH_BYTES: usize = 4096;
const MAX_DENSE_HASH_BYTES: usize = 128 * 1024;
/// One sample per stride is hashed before that.
const SAMPLE_STRIDE: usize = 4096;
const SAMPLE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkpoint {
    /// Where the message ends.
    offset: usize,
    /// Where the message starts.
    start: usize,
    /// See [`SampledHash::hash`].
    hash: u64,
    /// How many messages end here or before.
    messages: usize,
}

/// The checkpoint of an unknown conversation.
const START: Checkpoint = Checkpoint { offset: 0, start: 0, hash: 0, messages: 0 };

/// The state of one conversation between its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryTracker {
    checkpoints: Vec<Checkpoint>,
    /// The fields before the messages, which the hashes cover.
    before: RequestFields,
    /// Where the messages start.
    begin: usize,
    hashes: MessageHashes,
}

/// The fields of a request besides its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestFields {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    /// It offers tools.
    pub(crate) tools: bool,
}

/// What is new in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewMessages {
    pub(crate) fields: RequestFields,
    pub(crate) messages: Vec<MessageRef>,
    /// The conversation was unknown, or its history has changed completely.
    pub(crate) afresh: bool,
}

/// A new message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageRef {
    /// Which message of the conversation it is.
    pub(crate) place: usize,
    /// Its range in the body.
    pub(crate) range: Range<usize>,
}

/// The new messages of a request, copied out of its body.
#[derive(Debug)]
pub(crate) struct NewMessageBytes {
    bytes: Vec<u8>,
    /// The ranges are those in `bytes`.
    messages: Vec<MessageRef>,
    afresh: bool,
}

impl NewMessageBytes {
    pub(crate) fn copy(body: &[u8], NewMessages { mut messages, afresh, .. }: NewMessages) -> Self {
        let mut bytes = Vec::with_capacity(messages.iter().map(|message| message.range.len()).sum());
        for message in &mut messages {
            let start = bytes.len();
            bytes.extend_from_slice(&body[message.range.clone()]);
            message.range = start..bytes.len();
        }
        Self { bytes, messages, afresh }
    }

    /// The index and the text of each message.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.messages.iter().map(|message| (message.place, &self.bytes[message.range.clone()]))
    }

    /// Whether the conversation was unknown before, or its complete history has changed.
    pub(crate) fn is_new_conversation(&self) -> bool {
        self.afresh
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + size_of_val(self.messages.as_slice())
    }
}

impl HistoryTracker {
    /// Reads the new messages of a request. `None` if its shape is unknown. A request that is not part of the
    /// conversation, by its other fields, has no new messages and does not change the tracker.
    pub(crate) fn read_new(
        &mut self,
        api: WireApi,
        body: &[u8],
        is_part: impl FnOnce(&RequestFields) -> bool,
    ) -> Option<NewMessages> {
        let mut samples = SampledHash::from_message(body, self.begin);
        let known = self.known(&mut samples);
        let mut messages = Vec::with_capacity(4);
        let (mut before, mut begin) = (None, self.begin);
        let mut listed = true;
        let mut scan = JsonCursor::new(body, known.offset);
        if known.offset == 0 {
            let mut fields = RequestFields::default();
            if !scan.consume_byte(b'{') {
                return None;
            }
            loop {
                let name = scan.next_field()?;
                if name == api.format().messages_field().as_bytes() {
                    break;
                }
                fields.read(name, &body[scan.skip_value()?]);
            }
            listed = scan.consume_byte(b'[');
            (before, begin) = (Some(fields), scan.at());
            samples = SampledHash::from_message(body, begin);
        }
        if listed {
            walk(&mut scan, known.messages, &mut messages)?;
        } else {
            // The complete conversation is one string.
            messages.push(MessageRef { place: known.messages, range: scan.skip_value()? });
        }
        let mut fields = before.as_ref().unwrap_or(&self.before).clone();
        while let Some(name) = scan.next_field() {
            let value = scan.skip_value()?;
            fields.read(name, &body[value]);
        }
        // The request is a conversation; update the tracker.
        if !is_part(&fields) {
            return Some(NewMessages { fields, messages: Vec::new(), afresh: false });
        }
        (self.before, self.begin) = (before.unwrap_or_else(|| std::mem::take(&mut self.before)), begin);
        self.remember(&mut samples, known.messages, if listed { &messages } else { &[] });
        let afresh = known.offset == 0;
        let old = messages.len().saturating_sub(if afresh { MAX_NEW_MESSAGES } else { usize::MAX });
        messages.drain(..old);
        self.hashes.retain_changed(body, known.messages + old, &mut messages);
        Some(NewMessages { fields, messages, afresh })
    }

    /// The last checkpoint that still holds.
    fn known(&self, samples: &mut SampledHash<'_>) -> Checkpoint {
        let holds = |checkpoint: &&Checkpoint| {
            // A message must also end where it ended: a number may have grown.
            matches!(JsonCursor::new(samples.body, checkpoint.offset).peek(), Some(b',' | b']'))
                && samples.hash(checkpoint.start..checkpoint.offset) == checkpoint.hash
        };
        self.checkpoints.iter().rev().find(holds).copied().unwrap_or(START)
    }

    /// Keeps the checkpoints that still hold and some of the new ones.
    fn remember(&mut self, samples: &mut SampledHash<'_>, known: usize, messages: &[MessageRef]) {
        self.checkpoints.retain(|checkpoint| checkpoint.messages <= known);
        let total = known + messages.len();
        for MessageRef { place, range } in messages {
            let count = place + 1;
            if is_retained(count, total) {
                let Range { start, end: offset } = *range;
                self.checkpoints.push(Checkpoint { offset, start, hash: samples.hash(start..offset), messages: count });
            }
        }
        self.checkpoints.retain(|checkpoint| is_retained(checkpoint.messages, total));
        while self.checkpoints.len() > MAX_CHECKPOINTS {
            self.checkpoints.remove(0);
        }
    }
}

/// Checks whether messages still end at the same offsets.
struct SampledHash<'b> {
    body: &'b [u8],
    /// Where the messages begin.
    begin: usize,
    /// Hash of the fields before them.
    fields: u64,
    /// Position of the next sample, and a hash of the fields and all samples before it: messages are checked in order,
    /// so nothing is hashed twice.
    next: usize,
    so_far: u64,
}

impl<'b> SampledHash<'b> {
    fn from_message(body: &'b [u8], begin: usize) -> Self {
        let fields = xxh3_64(body.get(..begin).unwrap_or_default());
        Self { body, begin, fields, next: begin, so_far: fields }
    }

    /// Hash of everything that matters up to the end of a message.
    fn hash(&mut self, message: Range<usize>) -> u64 {
        let body = self.body;
        let piece = |range: Range<usize>, seed| xxh3_64_with_seed(body.get(range).unwrap_or_default(), seed);
        let Range { start, end } = message;
        let close = start
            .min(end.saturating_sub(DENSE_HASH_BYTES))
            .max(end.saturating_sub(MAX_DENSE_HASH_BYTES))
            .max(self.begin);
        if self.next >= close + SAMPLE_STRIDE {
            (self.next, self.so_far) = (self.begin, self.fields);
        }
        while self.next < close {
            self.so_far = piece(self.next..self.next + SAMPLE_BYTES, self.so_far);
            self.next += SAMPLE_STRIDE;
        }
        piece(close..end, self.so_far.wrapping_add(end as u64))
    }
}

/// Whether to retain a checkpoint at this message, given `total` messages: the last few, and one or two per power of
/// two before them, aligned to a grid so that they do not move with each turn.
fn is_retained(messages: usize, total: usize) -> bool {
    let back = total - messages;
    if back < TRAILING_CHECKPOINTS {
        return true;
    }
    let step = (back + 1).next_power_of_two() / 2;
    messages.is_multiple_of(step)
}

/// Iterates over the messages from the current position to the closing bracket.
fn walk(scan: &mut JsonCursor<'_>, first: usize, messages: &mut Vec<MessageRef>) -> Option<()> {
    while messages.len() < MAX_MESSAGES && scan.next_element() {
        messages.push(MessageRef { place: first + messages.len(), range: scan.skip_value()? });
    }
    scan.consume_byte(b']').then_some(())
}

impl RequestFields {
    fn read(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"model" => self.model = super::json_scan::parse_string(value),
            b"stream" => self.stream = value == b"true",
            b"tools" => self.tools = value.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() != Some(&b']')),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
