use proptest::prelude::*;

use super::*;

fn walk(framing: Framing, pieces: &[&[u8]]) -> Result<(Vec<u8>, usize, bool), FramingError> {
    let mut framer = BodyFramer::new(framing);
    let (mut payload, mut consumed) = (Vec::new(), 0);
    for piece in pieces {
        consumed += framer.advance(piece, |bytes| payload.extend_from_slice(bytes))?;
    }
    Ok((payload, consumed, framer.is_done()))
}

#[test]
fn a_body_ends_where_its_length_says_and_the_next_request_stays() {
    let (payload, consumed, done) = walk(Framing::Length(5), &[b"helloGET / HTTP/1.1"]).unwrap();
    assert_eq!((payload.as_slice(), consumed, done), (&b"hello"[..], 5, true));
}

#[test]
fn chunks_extensions_and_trailers_are_walked() {
    let raw = b"5;name=value\r\nhello\r\n1 \r\n!\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\nGET";
    let (payload, consumed, done) = walk(Framing::Chunked, &[raw]).unwrap();
    assert_eq!((payload.as_slice(), consumed, done), (&b"hello!"[..], raw.len() - 3, true));
}

#[test]
fn what_two_readers_could_take_for_different_ends_is_refused() {
    for raw in [
        &b"5\nhello\r\n0\r\n\r\n"[..],
        b"5\r\nhelloX\r\n0\r\n\r\n",
        b"\r\nhello",
        b"0x5\r\nhello",
        b"-1\r\n",
        b"5;a\nhello",
        b"0\r\nX: 1\n\r\n",
        b"0\r\n\n",
        b"ffffffffffffffff\r\n",
        b"5\rhello",
    ] {
        assert!(walk(Framing::Chunked, &[raw]).is_err(), "{:?}", String::from_utf8_lossy(raw));
    }
}

#[test]
fn only_a_body_without_marks_may_end_with_the_connection() {
    assert!(BodyFramer::new(Framing::UntilClose).ends_at_close());
    assert!(BodyFramer::new(Framing::Empty).ends_at_close());
    assert!(!BodyFramer::new(Framing::Length(1)).ends_at_close());
    assert!(!BodyFramer::new(Framing::Chunked).ends_at_close());
}

proptest! {
    /// A body cut at any position ends with our text and valid framing, or is not cut.
    #[test]
    fn a_cut_body_ends_with_our_text(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..6),
        text in prop::collection::vec(any::<u8>(), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut raw = Vec::new();
        for chunk in &chunks {
            raw.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            raw.extend_from_slice(chunk);
            raw.extend_from_slice(b"\r\n");
        }
        raw.truncate(cut.index(raw.len() + 1));
        let mut framer = BodyFramer::new(Framing::Chunked);
        let mut before = Vec::new();
        framer.advance(&raw, |bytes| before.extend_from_slice(bytes)).unwrap();
        let promised = framer.remaining_in_chunk() as usize;
        let mut last = text;
        last.resize(last.len().max(promised), b'\n');
        if promised > 0 {
            prop_assert_eq!(framer.final_chunk(&last[..promised - 1]), None, "less than promised");
        }
        if let Some(ending) = framer.final_chunk(&last) {
            let (payload, consumed, done) = walk(Framing::Chunked, &[&raw, &ending]).unwrap();
            prop_assert!(done);
            prop_assert_eq!(consumed, raw.len() + ending.len());
            let after = payload.strip_prefix(before.as_slice()).unwrap();
            prop_assert_eq!(after, last);
        }
    }


    /// Payload and end do not depend on read boundaries.
    #[test]
    fn cuts_make_no_difference(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut raw = Vec::new();
        for chunk in &chunks {
            raw.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
            raw.extend_from_slice(chunk);
            raw.extend_from_slice(b"\r\n");
        }
        raw.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(raw.len())).collect();
        at.extend([0, raw.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &raw[pair[0]..pair[1]]).collect();
        let (payload, consumed, done) = walk(Framing::Chunked, &pieces).unwrap();
        prop_assert_eq!(payload, chunks.concat());
        prop_assert_eq!(consumed, raw.len());
        prop_assert!(done);
    }

    /// Arbitrary input is refused or waits for more; it never panics or consumes bytes beyond the input.
    #[test]
    fn garbage_is_survived(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut framer = BodyFramer::new(Framing::Chunked);
        if let Ok(consumed) = framer.advance(&raw, |_| {}) {
            prop_assert!(consumed <= raw.len());
        }
    }
}
