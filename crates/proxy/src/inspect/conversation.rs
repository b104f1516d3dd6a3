//! A conversation that comes again and again, each time a little longer.
//!
//! Every request repeats the whole history. To read only what is new, a few checkpoints are kept:
//! the end of a message, and a hash that tells whether it still ends there. Agents do change their
//! history a little (a cache mark moves, an old result is dropped), so there are several checkpoints:
//! the last few messages, and ever wider apart before.
//!
//! A megabyte of history is not hashed from end to end with every request. Nothing is read again
//! before a checkpoint, so what matters is that nothing has moved: a change that makes the history
//! longer or shorter moves everything behind it. Hashed are the fields before the messages, which are
//! not read again either, the last message with a few thousand bytes before it, and samples of what
//! lies between. A last message that is asked anew with another word in it is new, too.
//!
//! Where the history did change, everything behind the change is walked again, and most of it was told
//! before: a hash of each of the last messages tells.

mod heard;

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::api::Api;
use super::scan::Scan;
use heard::Heard;

/// How many checkpoints are kept at most.
const CHECKPOINTS: usize = 12;
/// So many of them are at the last messages.
const AT_THE_END: usize = 4;
/// How many messages at most count as new when nothing is known of a conversation: it may have gone
/// on for days before we saw it, and only its recent past says how it is doing now.
const RECENT: usize = 64;
/// Most messages that are walked over at once, as each takes room. Nobody has had so much to say.
const MOST: usize = 64 * 1024;

/// How many bytes before a checkpoint are hashed without a gap, at least: the message before it is hashed whole, as long
/// as it is no longer than it should be.
const CLOSE: usize = 4096;
const LONGEST: usize = 128 * 1024;
/// Farther back there is one sample in so many bytes.
const STRIDE: usize = 4096;
const SAMPLE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkpoint {
    /// How many bytes there are up to and including the message.
    offset: usize,
    /// Where the message begins.
    start: usize,
    /// See [`Samples::hash`].
    hash: u64,
    /// How many messages there are up to here.
    messages: usize,
}

/// Where nothing is known yet.
const NOTHING: Checkpoint = Checkpoint { offset: 0, start: 0, hash: 0, messages: 0 };

/// What is kept of one conversation between its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    checkpoints: Vec<Checkpoint>,
    /// What the fields before the messages said; they are part of what the hashes cover.
    before: Fields,
    /// Where the messages begin.
    begin: usize,
    heard: Heard,
}

/// What a request says beside its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    /// It offers tools.
    pub(crate) tools: bool,
}

/// What is new in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) fields: Fields,
    pub(crate) messages: Vec<Fresh>,
    /// Nothing was known of the conversation, or its history has changed altogether.
    pub(crate) afresh: bool,
}

/// A new message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fresh {
    /// Which message of the conversation it is.
    pub(crate) place: usize,
    /// Where it stands in the body.
    pub(crate) range: Range<usize>,
}

impl Conversation {
    /// Reads what is new in a request; `None` when its shape is none we know. One that is no part of the conversation, by
    /// what it says beside its messages, brings nothing new and changes nothing of what is known.
    pub(crate) fn read(&mut self, api: Api, body: &[u8], is_part: impl FnOnce(&Fields) -> bool) -> Option<News> {
        let mut samples = Samples::of(body, self.begin);
        let known = self.known(&mut samples);
        let mut messages = Vec::with_capacity(4);
        let (mut before, mut begin) = (None, self.begin);
        let mut listed = true;
        let mut scan = Scan::new(body, known.offset);
        if known.offset == 0 {
            let mut fields = Fields::default();
            if !scan.eat(b'{') {
                return None;
            }
            loop {
                let name = scan.field()?;
                if name == api.conversation().as_bytes() {
                    break;
                }
                fields.read(name, &body[scan.skip()?]);
            }
            listed = scan.eat(b'[');
            (before, begin) = (Some(fields), scan.at());
            samples = Samples::of(body, begin);
        }
        if listed {
            walk(&mut scan, known.messages, &mut messages)?;
        } else {
            // A whole conversation in one string.
            messages.push(Fresh { place: known.messages, range: scan.skip()? });
        }
        let mut fields = before.as_ref().unwrap_or(&self.before).clone();
        while let Some(name) = scan.field() {
            let value = scan.skip()?;
            fields.read(name, &body[value]);
        }
        // Only now is it known to be a conversation.
        if !is_part(&fields) {
            return Some(News { fields, messages: Vec::new(), afresh: false });
        }
        (self.before, self.begin) = (before.unwrap_or_else(|| std::mem::take(&mut self.before)), begin);
        self.remember(&mut samples, known.messages, if listed { &messages } else { &[] });
        let afresh = known.offset == 0;
        let old = messages.len().saturating_sub(if afresh { RECENT } else { usize::MAX });
        messages.drain(..old);
        self.heard.hear(body, known.messages + old, &mut messages);
        Some(News { fields, messages, afresh })
    }

    /// The last checkpoint that still holds.
    fn known(&self, samples: &mut Samples<'_>) -> Checkpoint {
        let holds = |checkpoint: &&Checkpoint| {
            // A message must also end where it ended: a number may have grown.
            matches!(Scan::new(samples.body, checkpoint.offset).peek(), Some(b',' | b']'))
                && samples.hash(checkpoint.start..checkpoint.offset) == checkpoint.hash
        };
        self.checkpoints.iter().rev().find(holds).copied().unwrap_or(NOTHING)
    }

    /// Keeps the checkpoints that still hold and some of the new ones.
    fn remember(&mut self, samples: &mut Samples<'_>, known: usize, messages: &[Fresh]) {
        self.checkpoints.retain(|checkpoint| checkpoint.messages <= known);
        let total = known + messages.len();
        for Fresh { place, range } in messages {
            let count = place + 1;
            if is_kept(count, total) {
                let Range { start, end: offset } = *range;
                self.checkpoints.push(Checkpoint { offset, start, hash: samples.hash(start..offset), messages: count });
            }
        }
        self.checkpoints.retain(|checkpoint| is_kept(checkpoint.messages, total));
        while self.checkpoints.len() > CHECKPOINTS {
            self.checkpoints.remove(0);
        }
    }
}

/// Tells whether messages still end where they ended.
struct Samples<'b> {
    body: &'b [u8],
    /// Where the messages begin.
    begin: usize,
    /// Hash of the fields before them.
    fields: u64,
    /// Where the next sample is taken, and a hash of the fields and of all samples before it: one message after the
    /// other is asked about, and what lies before both need not be hashed twice.
    next: usize,
    so_far: u64,
}

impl<'b> Samples<'b> {
    fn of(body: &'b [u8], begin: usize) -> Self {
        let fields = xxh3_64(body.get(..begin).unwrap_or_default());
        Self { body, begin, fields, next: begin, so_far: fields }
    }

    /// Hash of everything that matters up to the end of a message.
    fn hash(&mut self, message: Range<usize>) -> u64 {
        let body = self.body;
        let piece = |range: Range<usize>, seed| xxh3_64_with_seed(body.get(range).unwrap_or_default(), seed);
        let Range { start, end } = message;
        let close = start.min(end.saturating_sub(CLOSE)).max(end.saturating_sub(LONGEST)).max(self.begin);
        if self.next >= close + STRIDE {
            (self.next, self.so_far) = (self.begin, self.fields);
        }
        while self.next < close {
            self.so_far = piece(self.next..self.next + SAMPLE, self.so_far);
            self.next += STRIDE;
        }
        piece(close..end, self.so_far.wrapping_add(end as u64))
    }
}

/// Whether a checkpoint at this message is worth keeping when there are `total`: the last few are, and
/// before them one or two at every power of two back, on a raster so that they do not move with each turn.
fn is_kept(messages: usize, total: usize) -> bool {
    let back = total - messages;
    if back < AT_THE_END {
        return true;
    }
    let step = (back + 1).next_power_of_two() / 2;
    messages.is_multiple_of(step)
}

/// Walks over the messages from the current place to the closing bracket.
fn walk(scan: &mut Scan<'_>, first: usize, messages: &mut Vec<Fresh>) -> Option<()> {
    while messages.len() < MOST && scan.element() {
        messages.push(Fresh { place: first + messages.len(), range: scan.skip()? });
    }
    scan.eat(b']').then_some(())
}

impl Fields {
    fn read(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"model" => self.model = super::scan::text(value),
            b"stream" => self.stream = value == b"true",
            b"tools" => self.tools = value.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() != Some(&b']')),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
