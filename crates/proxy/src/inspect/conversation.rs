//! A conversation that comes again and again, each time a little longer.
//!
//! Every request repeats the whole history. To read only what is new, a few checkpoints are kept:
//! the end of a message, and the hash of everything before it. If the hash is still the same, so is
//! everything before. Agents do change their history a little (a cache mark moves, an old result is
//! dropped), so there are several checkpoints: the last few messages, and ever wider apart before.

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use super::api::Api;
use super::scan::Scan;

/// How many checkpoints are kept: half of them at the last messages.
const CHECKPOINTS: usize = 8;
/// How many messages at most count as new when nothing is known of a conversation: it may have gone
/// on for days before we saw it, and only its recent past says how it is doing now.
const RECENT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkpoint {
    /// How many bytes there are up to and including the message.
    offset: usize,
    /// Their hash.
    hash: u64,
    /// How many messages there are up to here.
    messages: usize,
}

/// What is kept of one conversation between its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    checkpoints: Vec<Checkpoint>,
    /// What the fields before the messages said; they are part of what the hashes cover.
    before: Fields,
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
    /// Where the new messages stand in the body.
    pub(crate) messages: Vec<Range<usize>>,
    /// Which message of the conversation the first of them is.
    pub(crate) first: usize,
    /// Nothing was known of the conversation, or its history has changed altogether.
    pub(crate) afresh: bool,
}

impl Conversation {
    /// Reads what is new in a request; `None` when its shape is none we know.
    pub(crate) fn read(&mut self, api: Api, body: &[u8]) -> Option<News> {
        let (hasher, known) = self.known(body);
        let mut walk = Walk { body, hasher, hashed: known.offset, ends: Vec::new() };
        let mut fields = Fields::default();
        let mut messages = Vec::new();
        let mut scan;
        if known.offset > 0 {
            fields = self.before.clone();
            scan = Scan::new(body, known.offset);
            walk.messages(&mut scan, &mut messages)?;
        } else {
            scan = Scan::new(body, 0);
            if !scan.eat(b'{') {
                return None;
            }
            loop {
                let name = scan.field()?;
                if name == api.conversation().as_bytes() {
                    self.before = fields.clone();
                    if scan.eat(b'[') {
                        walk.messages(&mut scan, &mut messages)?;
                    } else {
                        // A whole conversation in one string.
                        messages.push(scan.skip()?);
                    }
                    break;
                }
                fields.read(name, &body[scan.skip()?]);
            }
        }
        while let Some(name) = scan.field() {
            let value = scan.skip()?;
            fields.read(name, &body[value]);
        }
        self.remember(walk, known.messages);
        let afresh = known.offset == 0;
        let first = known.messages + messages.len().saturating_sub(if afresh { RECENT } else { usize::MAX });
        messages.drain(..first - known.messages);
        Some(News { fields, messages, first, afresh })
    }

    /// The last checkpoint that still holds, and the hash up to it.
    fn known(&self, body: &[u8]) -> (Xxh3, Checkpoint) {
        let mut hasher = Xxh3::new();
        let mut known = Checkpoint { offset: 0, hash: 0, messages: 0 };
        let mut good = hasher.clone();
        for checkpoint in &self.checkpoints {
            let Some(piece) = body.get(known.offset..checkpoint.offset) else { break };
            hasher.update(piece);
            // A message must also end where it ended: a number may have grown.
            let ends = matches!(Scan::new(body, checkpoint.offset).peek(), Some(b',' | b']'));
            if !ends || hasher.digest() != checkpoint.hash {
                break;
            }
            known = *checkpoint;
            good = hasher.clone();
        }
        (good, known)
    }

    /// Keeps the checkpoints that still hold and some of the new ones.
    fn remember(&mut self, walk: Walk<'_>, known: usize) {
        self.checkpoints.retain(|checkpoint| checkpoint.messages <= known);
        let Walk { body, mut hasher, mut hashed, ends } = walk;
        // Hashing up to an end costs the bytes in between, taking the hash costs extra: only ends that
        // may be kept get one.
        let total = known + ends.len();
        for (index, end) in ends.iter().enumerate() {
            let messages = known + index + 1;
            if !is_kept(messages, total) {
                continue;
            }
            hasher.update(&body[hashed..*end]);
            hashed = *end;
            self.checkpoints.push(Checkpoint { offset: *end, hash: hasher.digest(), messages });
        }
        self.checkpoints.retain(|checkpoint| is_kept(checkpoint.messages, total));
        while self.checkpoints.len() > CHECKPOINTS {
            self.checkpoints.remove(0);
        }
    }
}

/// Whether a checkpoint at this message is worth keeping when there are `total`: the last few are, and
/// before them one at every power of two back, on a raster so that they do not move with each turn.
fn is_kept(messages: usize, total: usize) -> bool {
    let back = total - messages;
    if back < CHECKPOINTS / 2 {
        return true;
    }
    let step = (back + 1).next_power_of_two();
    messages.is_multiple_of(step)
}

struct Walk<'b> {
    body: &'b [u8],
    hasher: Xxh3,
    hashed: usize,
    /// Where each new message ends.
    ends: Vec<usize>,
}

impl Walk<'_> {
    /// Walks over the messages from the current place to the closing bracket.
    fn messages(&mut self, scan: &mut Scan<'_>, messages: &mut Vec<Range<usize>>) -> Option<()> {
        while scan.element() {
            let message = scan.skip()?;
            self.ends.push(message.end);
            messages.push(message);
        }
        scan.eat(b']').then_some(())
    }
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
