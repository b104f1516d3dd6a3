//! Readers of bodies for the fuzz targets.

use std::ops::Range;

use super::history::{HistoryTracker, NewMessages};
use super::response_reader::ResponseReader;
use super::session_id;
use super::wire::WireApi;
use crate::buffer_pool::BufferPool;

const ENCODINGS: [Option<&str>; 5] = [None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd")];

/// Reads bodies as one growing conversation and each as a new one, and passes both results to `check`.
pub(crate) fn fuzz_history(bytes: &[u8], check: impl Fn(&[u8], &[Range<usize>], &[Range<usize>])) {
    for api in WireApi::ALL {
        let mut growing = HistoryTracker::default();
        for body in bytes.split(|byte| *byte == 0xff) {
            let _ = session_id::plan_in_body(body);
            let with_nudge = api.format().insert_nudge(body, "note");
            // Only valid JSON has a defined result; anything else must merely not panic.
            if !is_json(body) {
                let _ = HistoryTracker::default().read_new(api, body, |_| true);
                continue;
            }
            assert!(with_nudge.is_none_or(|with| is_json(&with)), "the nudge broke the body");
            let tracked = growing.read_new(api, body, |_| true);
            let fresh = HistoryTracker::default().read_new(api, body, |_| true);
            assert_eq!(tracked.is_some(), fresh.is_some());
            if let (Some(tracked), Some(fresh)) = (tracked, fresh) {
                assert_eq!(tracked.fields, fresh.fields);
                let ranges =
                    |new: NewMessages| new.messages.into_iter().map(|message| message.range).collect::<Vec<_>>();
                let (tracked, fresh) = (ranges(tracked), ranges(fresh));
                check(body, &tracked, &fresh);
                for range in tracked {
                    api.format().read_message(&body[range], &mut |_| {});
                }
            }
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(body).is_ok()
}

/// Reads a response in one piece and in many. The first bytes choose API, encoding, content type and piece size.
pub(crate) fn fuzz_response(bytes: &[u8], buffers: &BufferPool) {
    let [api, encoding, kind, size, body @ ..] = bytes else { return };
    let api = WireApi::ALL[usize::from(*api) % WireApi::ALL.len()];
    let encoding = ENCODINGS[usize::from(*encoding) % ENCODINGS.len()];
    let (status, content_type) = match kind % 3 {
        0 => (200, "text/event-stream"),
        1 => (200, "application/json"),
        _ => (429, "application/json"),
    };
    let new_reader = || ResponseReader::new(api, status, content_type, encoding, None, buffers.new_charge());
    let read = |size: usize| {
        let mut reader = new_reader();
        let mut before = Vec::new();
        for piece in body.chunks(size.max(1)) {
            reader.feed(piece);
            if reader.can_be_cut()
                && reader.is_at_event_boundary()
                && let Some(end) = reader.cut_bytes("note", 0)
            {
                let mut again = new_reader();
                again.feed(&[before.as_slice(), piece, end.as_slice()].concat());
                let summary = again.finish(false).0;
                assert!(summary.complete || summary.failure.is_some(), "not ended by {end:?}");
            }
            before.extend_from_slice(piece);
        }
        reader.finish(true).0
    };
    let (in_one, in_pieces) = (read(body.len()), read(usize::from(*size)));
    if encoding.is_none() {
        assert_eq!(in_one, in_pieces);
    }
    assert_eq!(buffers.bytes_in_use(), 0);
}
