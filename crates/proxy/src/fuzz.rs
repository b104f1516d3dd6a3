//! What the fuzz targets in `fuzz/` reach for; compiled for them only. Whatever the bytes are, nothing panics, and
//! what was understood in one piece is understood in many.

use std::ops::Range;

use crate::buffer::Buffers;
use crate::framing::{Framer, Framing};
use crate::head::{MAX_LINES, RequestHead, ResponseHead, Rewrite, Room};
use crate::inspect::{fuzz_answer, fuzz_conversation};
use crate::sse::Decoder;

/// A head that is accepted is accepted again as it is passed on, and says the same.
pub fn heads(bytes: &[u8]) {
    let mut room = Room::new();
    if let Ok(Some(head)) = RequestHead::parse(bytes, &mut room) {
        let relayed = head.relayed(&Rewrite { target: &["/x"], host: "upstream", credential: None });
        // A head as long as we take may have grown by a `Host` line.
        let lines = relayed.iter().filter(|byte| **byte == b'\n').count().saturating_sub(2);
        if lines > MAX_LINES {
            return;
        }
        let mut room = Room::new();
        let again = RequestHead::parse(&relayed, &mut room);
        assert!(
            matches!(&again, Ok(Some(again)) if again.framing() == head.framing() && again.len() == relayed.len()),
            "{head:?} became {again:?}"
        );
    }
    let mut room = Room::new();
    if let Ok(Some(head)) = ResponseHead::parse(bytes, &mut room) {
        let mut relayed = Vec::new();
        head.relay(false, &mut relayed);
        let mut room = Room::new();
        let again = ResponseHead::parse(&relayed, &mut room);
        assert!(
            matches!(&again, Ok(Some(again)) if again.framing("GET") == head.framing("GET")),
            "{head:?} became {again:?}"
        );
    }
}

/// A body ends at the same byte and has the same payload, whole or in pieces; and it can be ended anywhere.
pub fn framing(bytes: &[u8]) {
    let Some((piece, raw)) = bytes.split_first() else { return };
    let walk = |size: usize| {
        let (mut framer, mut payload, mut taken) = (Framer::new(Framing::Chunked), Vec::new(), 0);
        for piece in raw.chunks(size.max(1)) {
            match framer.advance(piece, |bytes| payload.extend_from_slice(bytes)) {
                Ok(n) => taken += n,
                Err(_) => return None,
            }
            if framer.is_done() {
                break;
            }
        }
        Some((framer, payload, taken))
    };
    let whole = walk(raw.len());
    assert_eq!(whole, walk(usize::from(*piece)));
    if let Some((mut framer, ..)) = whole
        && framer.promised() < 1 << 20
        && let Some(end) = framer.ending(&vec![b'\n'; framer.promised().max(11) as usize])
    {
        assert_eq!(framer.advance(&end, |_| {}), Ok(end.len()));
        assert!(framer.is_done(), "not ended by {end:?}");
    }
}

/// A stream has the same events, whole or in pieces.
pub fn sse(bytes: &[u8]) {
    let Some((piece, raw)) = bytes.split_first() else { return };
    let read = |size: usize| {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in raw.chunks(size.max(1)) {
            decoder.feed(piece, |event| events.push((event.name.to_vec(), event.data.to_vec())));
        }
        events
    };
    assert_eq!(read(raw.len()), read(usize::from(*piece)));
}

/// Bodies of one conversation, apart by a byte that JSON does not have: whatever is new is a message, too, for somebody
/// who knows nothing of the conversation, if it is recent enough.
pub fn conversation(bytes: &[u8]) {
    fuzz_conversation(bytes, |body: &[u8], known: &[Range<usize>], afresh: &[Range<usize>]| {
        let is_old = |range: &Range<usize>| afresh.first().is_none_or(|first| range.end <= first.start);
        assert!(known.iter().all(|range| range.end <= body.len() && (afresh.contains(range) || is_old(range))));
    });
}

/// An answer says the same, whole or in pieces, and can be ended wherever it is open.
pub fn answer(bytes: &[u8]) {
    fuzz_answer(bytes, &Buffers::new(usize::MAX));
}
