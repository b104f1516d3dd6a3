//! Heads that come again.
//!
//! On one connection an agent sends the same head again and again, byte for byte; only the length of the body is another
//! one each time. To compare it with the last one costs next to nothing, where to read it, to find its way and who sent
//! it took half of all the time we had a request in hand.

use super::{Dispatch, RoutePlan};
use crate::framing::Framing;
use crate::head::{RequestHead, content_length_range};
use crate::relay::Relay;

/// Longest head that is remembered.
const MAX_CACHED_HEAD_BYTES: usize = 8 * 1024;

/// The last head of a connection, and what was made of it.
#[derive(Debug)]
pub(crate) struct HeadCache {
    raw: HeadTemplate,
    relayed: HeadTemplate,
    way: RoutePlan,
    /// As of which edition of the routes.
    edition: u64,
}

impl HeadCache {
    pub(super) fn remember(head: &RequestHead<'_, '_>, relayed: &[u8], way: &RoutePlan, edition: u64) -> Option<Self> {
        let is_fit = head.len() <= MAX_CACHED_HEAD_BYTES && matches!(head.framing(), Framing::Length(_));
        let (raw, relayed) = (HeadTemplate::of(head.raw())?, HeadTemplate::of(relayed)?);
        is_fit.then(|| Self { raw, relayed, way: way.clone(), edition })
    }

    /// The plan for such a head at the beginning of `bytes`, and how long the head is.
    pub(super) fn reuse(&self, relay: &Relay, bytes: &[u8]) -> Option<(Dispatch, usize)> {
        let digits = self.raw.length(bytes)?;
        let length = std::str::from_utf8(digits).ok()?.parse().ok().filter(|length| *length > 0)?;
        if self.edition != relay.routes.generation() {
            return None;
        }
        let head = self.relayed.cast(digits);
        Some((self.way.outgoing(relay, head, Framing::Length(length)), self.raw.len() + digits.len()))
    }
}

/// A head with a gap where the length of the body stands.
#[derive(Debug)]
struct HeadTemplate {
    before: Box<[u8]>,
    after: Box<[u8]>,
}

impl HeadTemplate {
    fn of(head: &[u8]) -> Option<Self> {
        let length = content_length_range(head)?;
        Some(Self { before: head[..length.start].into(), after: head[length.end..].into() })
    }

    fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// What stands in the gap, if `bytes` begin with such a head.
    fn length<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let rest = bytes.strip_prefix(&*self.before)?;
        let (length, rest) = rest.split_at(rest.iter().position(|byte| !byte.is_ascii_digit())?);
        rest.starts_with(&self.after).then_some(length)
    }

    fn cast(&self, length: &[u8]) -> Vec<u8> {
        [&self.before, length, &self.after].concat()
    }
}

#[cfg(test)]
mod tests;
