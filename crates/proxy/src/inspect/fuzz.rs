//! The readers of bodies, for the fuzz targets.

use std::ops::Range;

use super::answer::Reader;
use super::api::Api;
use super::conversation::{Conversation, News};
use super::{identity, items, nudge};
use crate::buffer::Buffers;

const APIS: [Api; 4] = [Api::Chat, Api::Responses, Api::Messages, Api::Generate];
const ENCODINGS: [Option<&str>; 5] = [None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd")];

/// Reads bodies one after the other, and each of them afresh, and shows what was found in both ways.
pub(crate) fn fuzz_conversation(bytes: &[u8], check: impl Fn(&[u8], &[Range<usize>], &[Range<usize>])) {
    for api in APIS {
        let mut growing = Conversation::default();
        for body in bytes.split(|byte| *byte == 0xff) {
            let _ = identity::plan_in_body(body);
            let with_note = nudge::with_note(api, body, "note");
            // The walk finds its way through JSON; through anything else it only must not fall.
            if !is_json(body) {
                let _ = Conversation::default().read(api, body, |_| true);
                continue;
            }
            assert!(with_note.is_none_or(|with| is_json(&with)), "the note broke the body");
            let (known, afresh) =
                (growing.read(api, body, |_| true), Conversation::default().read(api, body, |_| true));
            assert_eq!(known.is_some(), afresh.is_some());
            if let (Some(known), Some(afresh)) = (known, afresh) {
                assert_eq!(known.fields, afresh.fields);
                let ranges = |news: News| news.messages.into_iter().map(|message| message.range).collect::<Vec<_>>();
                let (known, afresh) = (ranges(known), ranges(afresh));
                check(body, &known, &afresh);
                for range in known {
                    items::read(api, &body[range], &mut |_| {});
                }
            }
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(body).is_ok()
}

/// Reads an answer whole and in pieces. The first bytes choose API, encoding, kind and the size of the pieces.
pub(crate) fn fuzz_answer(bytes: &[u8], buffers: &Buffers) {
    let [api, encoding, kind, size, body @ ..] = bytes else { return };
    let api = APIS[usize::from(*api) % APIS.len()];
    let encoding = ENCODINGS[usize::from(*encoding) % ENCODINGS.len()];
    let (status, kind) = match kind % 3 {
        0 => (200, "text/event-stream"),
        1 => (200, "application/json"),
        _ => (429, "application/json"),
    };
    let read = |size: usize| {
        let mut reader = Reader::new(api, status, kind, encoding, None, buffers.charge());
        let mut before = Vec::new();
        for piece in body.chunks(size.max(1)) {
            reader.feed(piece);
            if reader.is_open_stream()
                && reader.may_end_here()
                && let Some(end) = reader.ending("note", 0)
            {
                let so_far = [before.as_slice(), piece, end.as_slice()].concat();
                let mut again = Reader::new(api, status, kind, encoding, None, buffers.charge());
                again.feed(&so_far);
                let answered = again.finish(false).0;
                assert!(answered.complete || answered.failure.is_some(), "not ended by {end:?}");
            }
            before.extend_from_slice(piece);
        }
        reader.finish(true).0
    };
    let (whole, pieces) = (read(body.len()), read(usize::from(*size)));
    if encoding.is_none() {
        assert_eq!(whole, pieces);
    }
    assert_eq!(buffers.in_use(), 0);
}
