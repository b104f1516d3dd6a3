//! What the last messages of a conversation said, each in its place.

use std::collections::VecDeque;

use xxhash_rust::xxh3::xxh3_64;

use super::MessageRef;

/// How many messages are remembered: a kilobyte for each conversation.
const MAX_MESSAGES: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct MessageHashes {
    /// Place of the first one that is remembered.
    first: usize,
    /// Half a hash is enough to tell what one message said from what it says now.
    hashes: VecDeque<u32>,
}

impl MessageHashes {
    /// Hears the messages from the place `first` on, up to the end of the conversation, and leaves those that are others
    /// than were heard before in their places.
    pub(super) fn retain_changed(&mut self, body: &[u8], first: usize, messages: &mut Vec<MessageRef>) {
        let now: Vec<u32> = messages.iter().map(|message| xxh3_64(&body[message.range.clone()]) as u32).collect();
        let mut hashes = now.iter().copied();
        messages.retain(|message| self.at(message.place) != hashes.next());
        match first.checked_sub(self.first) {
            Some(before) if before <= self.hashes.len() => self.hashes.truncate(before),
            _ => self.hashes.clear(),
        }
        let kept = &now[now.len().saturating_sub(MAX_MESSAGES)..];
        let surplus = (self.hashes.len() + kept.len()).saturating_sub(MAX_MESSAGES);
        self.hashes.drain(..surplus);
        self.hashes.extend(kept);
        self.first = first + now.len() - self.hashes.len();
    }

    /// How many bytes are kept for it.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.hashes.capacity() * size_of::<u32>()
    }

    fn at(&self, place: usize) -> Option<u32> {
        self.hashes.get(place.checked_sub(self.first)?).copied()
    }
}
