//! The readers of request and response bodies, for the fuzz targets.

use std::ops::Range;

use super::answer::ResponseReader;
use super::history::{HistoryTracker, NewMessages};
use super::wire::WireApi;
use super::{items, nudge, session_id};
use crate::buffer_pool::BufferPool;

const APIS: [WireApi; 4] = [WireApi::Chat, WireApi::Responses, WireApi::Messages, WireApi::GenerateContent];
const ENCODINGS: [Option<&str>; 5] = [None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd")];

/// Reads bodies one after the other with and without the history before them, and checks what was new.
pub(crate) fn fuzz_history(bytes: &[u8], check: impl Fn(&[u8], &[Range<usize>], &[Range<usize>])) {
    for api in APIS {
        let mut growing = HistoryTracker::default();
        for body in bytes.split(|byte| *byte == 0xff) {
            let _ = session_id::plan_in_body(body);
            let nudged = nudge::insert_nudge(api, body, "note");
            // Other bodies than JSON only must not panic.
            if !is_json(body) {
                let _ = HistoryTracker::default().read_new(api, body, |_| true);
                continue;
            }
            assert!(nudged.is_none_or(|body| is_json(&body)), "the nudge broke the body");
            let (known, afresh) =
                (growing.read_new(api, body, |_| true), HistoryTracker::default().read_new(api, body, |_| true));
            assert_eq!(known.is_some(), afresh.is_some());
            if let (Some(known), Some(afresh)) = (known, afresh) {
                assert_eq!(known.fields, afresh.fields);
                let ranges =
                    |new: NewMessages| new.messages.into_iter().map(|message| message.range).collect::<Vec<_>>();
                let (known, afresh) = (ranges(known), ranges(afresh));
                check(body, &known, &afresh);
                for range in known {
                    items::read_message(api, &body[range], &mut |_| {});
                }
            }
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(body).is_ok()
}

/// Reads a response at once and in pieces. The first bytes choose API, encoding, kind and the size of the pieces.
pub(crate) fn fuzz_response(bytes: &[u8], buffers: &BufferPool) {
    let [api, encoding, kind, size, body @ ..] = bytes else { return };
    let api = APIS[usize::from(*api) % APIS.len()];
    let encoding = ENCODINGS[usize::from(*encoding) % ENCODINGS.len()];
    let (status, kind) = match kind % 3 {
        0 => (200, "text/event-stream"),
        1 => (200, "application/json"),
        _ => (429, "application/json"),
    };
    let read = |size: usize| {
        let mut reader = ResponseReader::new(api, status, kind, encoding, None, buffers.new_charge());
        let mut before = Vec::new();
        for piece in body.chunks(size.max(1)) {
            reader.feed(piece);
            if reader.can_be_cut()
                && reader.is_at_event_boundary()
                && let Some(end) = reader.cut_bytes("note", 0)
            {
                let so_far = [before.as_slice(), piece, end.as_slice()].concat();
                let mut again = ResponseReader::new(api, status, kind, encoding, None, buffers.new_charge());
                again.feed(&so_far);
                let response = again.finish(false).0;
                assert!(response.complete || response.failure.is_some(), "not ended by {end:?}");
            }
            before.extend_from_slice(piece);
        }
        reader.finish(true).0
    };
    let (at_once, in_pieces) = (read(body.len()), read(usize::from(*size)));
    if encoding.is_none() {
        assert_eq!(at_once, in_pieces);
    }
    assert_eq!(buffers.bytes_in_use(), 0);
}
