use proptest::prelude::*;

use super::*;

/// Events as text, for any chunking of the stream.
fn decode(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for piece in pieces {
        decoder.feed(piece, |event| events.push((text(event.name), text(event.data))));
    }
    events
}

const STREAM: &str = "\u{feff}: a comment\n\nevent: message_start\ndata: {\"a\":1}\n\nid: 7\ndata: first\ndata: second\ndata\n\n\
    event: only a name\n\ndata:no blank\r\n\r\ndata: carriage\r\rdata:  two blanks\n\ndata: [DONE]\n\ndata: not finished\n";

#[test]
fn events_are_read_as_the_standard_says() {
    let expected = [
        ("message_start", "{\"a\":1}"),
        ("", "first\nsecond\n"),
        ("", "no blank"),
        ("", "carriage"),
        ("", " two blanks"),
        ("", "[DONE]"),
    ];
    let expected: Vec<_> = expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
    assert_eq!(decode(&[STREAM.as_bytes()]), expected);
}

#[test]
fn a_stream_cut_at_any_byte_reads_the_same() {
    let whole = decode(&[STREAM.as_bytes()]);
    // A byte order mark split over two reads is not recognised.
    for cut in 3..STREAM.len() {
        let (head, tail) = STREAM.as_bytes().split_at(cut);
        assert_eq!(decode(&[head, tail]), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = std::iter::once(&STREAM.as_bytes()[..3]).chain(STREAM.as_bytes()[3..].chunks(1)).collect();
    assert_eq!(decode(&bytes), whole);
}

#[test]
fn an_event_beyond_all_measure_is_passed_over() {
    let mut decoder = SseDecoder::default();
    let mut events = 0;
    decoder.feed(b"data: ", |_| events += 1);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..9 {
        decoder.feed(&piece, |_| events += 1);
        assert!(decoder.pending.len() <= MAX_EVENT_BYTES);
    }
    decoder.feed(b"\n\ndata: next\n\n", |event| {
        assert_eq!(event.data, b"next");
        events += 1;
    });
    assert_eq!((events, decoder.skipped()), (1, 1));
}

#[test]
fn between_events_is_where_another_could_be_added() {
    let mut decoder = SseDecoder::default();
    assert!(decoder.is_at_event_boundary());
    decoder.feed(b"data: 1\n", |_| {});
    assert!(!decoder.is_at_event_boundary());
    decoder.feed(b"\n", |_| {});
    assert!(decoder.is_at_event_boundary());
}

proptest! {
    #[test]
    fn cuts_make_no_difference(
        lines in prop::collection::vec("(data|event|id|:|x)?(: ?)?[a-z]{0,6}(\n|\r\n|\r|\n\n|\r\n\r\n)", 0..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream = lines.concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stream.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(&pieces), decode(&[stream.as_bytes()]));
    }
}
