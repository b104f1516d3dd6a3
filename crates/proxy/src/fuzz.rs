//! Entry points of the fuzz targets in `fuzz/`. No input panics, and an input in pieces yields the same result as the
//! complete input. Compiled for the targets, and for tests so that it keeps compiling.

use std::ops::Range;

use crate::buffer_pool::BufferPool;
use crate::framing::{BodyFramer, Framing};
use crate::head::{HeadRewrite, HeaderStorage, MAX_HEADERS, RequestHead, ResponseHead};
use crate::inspect::{fuzz_history, fuzz_response};
use crate::sse::SseDecoder;

/// An accepted head is accepted again after its rewrite, with the same framing.
pub fn heads(bytes: &[u8]) {
    let mut storage = HeaderStorage::new();
    if let Ok(Some(head)) = RequestHead::parse(bytes, &mut storage) {
        let relayed = head.rewrite(&HeadRewrite { target: &["/x"], host: "upstream", credential: None });
        // A head of maximum length may have gained a `Host` header.
        let lines = relayed.iter().filter(|byte| **byte == b'\n').count().saturating_sub(2);
        if lines > MAX_HEADERS {
            return;
        }
        let mut storage = HeaderStorage::new();
        let again = RequestHead::parse(&relayed, &mut storage);
        assert!(
            matches!(&again, Ok(Some(again)) if again.framing() == head.framing() && again.len() == relayed.len()),
            "{head:?} became {again:?}"
        );
    }
    let mut storage = HeaderStorage::new();
    if let Ok(Some(head)) = ResponseHead::parse(bytes, &mut storage) {
        let mut relayed = Vec::new();
        head.write_rewritten(false, &mut relayed);
        let mut storage = HeaderStorage::new();
        let again = ResponseHead::parse(&relayed, &mut storage);
        assert!(
            matches!(&again, Ok(Some(again)) if again.framing("GET") == head.framing("GET")),
            "{head:?} became {again:?}"
        );
    }
}

/// A body has the same end and the same payload at once and in pieces, and it can be ended anywhere.
pub fn framing(bytes: &[u8]) {
    let Some((piece, raw)) = bytes.split_first() else { return };
    let walk = |size: usize| {
        let (mut framer, mut payload, mut taken) = (BodyFramer::new(Framing::Chunked), Vec::new(), 0);
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
    let at_once = walk(raw.len());
    assert_eq!(at_once, walk(usize::from(*piece)));
    if let Some((mut framer, ..)) = at_once
        && framer.remaining_in_chunk() < 1 << 20
        && let Some(end) = framer.final_chunk(&vec![b'\n'; framer.remaining_in_chunk().max(11) as usize])
    {
        assert_eq!(framer.advance(&end, |_| {}), Ok(end.len()));
        assert!(framer.is_done(), "not ended by {end:?}");
    }
}

/// A stream has the same events at once and in pieces.
pub fn sse(bytes: &[u8]) {
    let Some((piece, raw)) = bytes.split_first() else { return };
    let read = |size: usize| {
        let (mut decoder, mut events) = (SseDecoder::default(), Vec::new());
        for piece in raw.chunks(size.max(1)) {
            decoder.feed(piece, |event| events.push((event.name.to_vec(), event.data.to_vec())));
        }
        events
    };
    assert_eq!(read(raw.len()), read(usize::from(*piece)));
}

/// Request bodies of one conversation, separated by a byte that JSON does not have: a new message is also a message for
/// a reader without history, if it is recent enough.
pub fn conversation(bytes: &[u8]) {
    fuzz_history(bytes, |body: &[u8], known: &[Range<usize>], afresh: &[Range<usize>]| {
        let is_old = |range: &Range<usize>| afresh.first().is_none_or(|first| range.end <= first.start);
        assert!(known.iter().all(|range| range.end <= body.len() && (afresh.contains(range) || is_old(range))));
    });
}

/// A response has the same content at once and in pieces, and it can be cut wherever the reader allows it.
pub fn response(bytes: &[u8]) {
    fuzz_response(bytes, &BufferPool::new(usize::MAX));
}
