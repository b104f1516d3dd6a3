//! Hashes of the last messages of a conversation.

use std::collections::VecDeque;

use xxhash_rust::xxh3::xxh3_64;

use super::MessageRef;

/// How many hashes are retained: a kilobyte per conversation.
const MAX_MESSAGES: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct MessageHashes {
    /// The index of the first retained message.
    first: usize,
    /// Half a hash is enough to detect a changed message.
    hashes: VecDeque<u32>,
}

impl MessageHashes {
    /// Stores the messages from the index `first` to the end of the conversation, and removes those from `messages` that
    /// have not changed.
    pub(super) fn retain_changed(&mut self, body: &[u8], first: usize, messages: &mut Vec<MessageRef>) {
        let now: Vec<u32> = messages.iter().map(|message| xxh3_64(&body[message.range.clone()]) as u32).collect();
        let mut hashes = now.iter().copied();
        messages.retain(|message| self.at(message.place) != hashes.next());
        match first.checked_sub(self.first) {
            Some(before) if before <= self.hashes.len() => self.hashes.truncate(before),
            _ => self.hashes.clear(),
        }
        let retained = &now[now.len().saturating_sub(MAX_MESSAGES)..];
        let surplus = (self.hashes.len() + retained.len()).saturating_sub(MAX_MESSAGES);
        self.hashes.drain(..surplus);
        self.hashes.extend(retained);
        self.first = first + now.len() - self.hashes.len();
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.hashes.capacity() * size_of::<u32>()
    }

    fn at(&self, place: usize) -> Option<u32> {
        self.hashes.get(place.checked_sub(self.first)?).copied()
    }
}
