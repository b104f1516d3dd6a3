//! What is new in a request, on its way to the recorder.

use std::borrow::Cow;

use super::history::MessageRef;
use crate::buffer_pool::CopiedRanges;

/// Longest body that is kept as it is.
const SHORT: usize = 16 * 1024;
/// Most room of a body that is kept for another.
const ROOM: usize = 4 * 1024;

/// The new messages of a request, with the bytes they stand in.
#[derive(Debug)]
pub(crate) struct NewMessageBytes {
    bytes: Storage,
    /// Where each message stands now, and which one of the conversation it is.
    messages: Vec<MessageRef>,
    afresh: bool,
}

#[derive(Debug)]
enum Storage {
    Pieces(CopiedRanges),
    /// A short body that nobody else needs is as good as a copy of what matters in it.
    Whole(Vec<u8>),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Pieces(pieces) => pieces,
            Self::Whole(body) => body,
        }
    }
}

impl NewMessageBytes {
    pub(crate) fn of(body: Cow<'_, [u8]>, mut messages: Vec<MessageRef>, afresh: bool) -> Self {
        let body = match body {
            Cow::Owned(body) if body.len() <= SHORT => return Self { bytes: Storage::Whole(body), messages, afresh },
            body => body,
        };
        let bytes = CopiedRanges::of(&body, messages.iter().map(|message| message.range.clone()));
        let mut start = 0;
        for message in &mut messages {
            let end = start + message.range.len();
            message.range = start..end;
            start = end;
        }
        Self { bytes: Storage::Pieces(bytes), messages, afresh }
    }

    /// Place and text of each message.
    pub(super) fn messages(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.messages.iter().map(|message| (message.place, &self.bytes.bytes()[message.range.clone()]))
    }

    /// Whether nothing was known of the conversation, or its history has changed altogether.
    pub(super) fn is_new_conversation(&self) -> bool {
        self.afresh
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.bytes().len() + size_of_val(self.messages.as_slice())
    }

    /// Room for the next body, where it is not too much to keep.
    pub(super) fn into_room(self) -> Option<Vec<u8>> {
        match self.bytes {
            Storage::Whole(mut room) if room.capacity() <= ROOM => {
                room.clear();
                Some(room)
            }
            _ => None,
        }
    }
}
