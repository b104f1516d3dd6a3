//! A note in a request: what a nudge is where no hook can say it.
//!
//! The note goes to the very end of the conversation, so that everything before it, and with it the
//! upstream's prompt cache, stays as it was. No other byte changes.

use serde_json::json;

use super::json_scan::{self, JsonCursor};
use super::wire::WireApi;

/// The body with a note at the end of its conversation; `None` where there is no place for one.
pub(crate) fn insert_nudge(api: WireApi, body: &[u8], note: &str) -> Option<Vec<u8>> {
    let (last, end) = end_of_conversation(api, body)?;
    let (at, addition) = match api {
        WireApi::Chat => (end, json!({ "role": "user", "content": note })),
        WireApi::Responses => {
            let content = json!([{ "type": "input_text", "text": note }]);
            (end, json!({ "type": "message", "role": "user", "content": content }))
        }
        // Turns alternate here: the note becomes another part of the user's turn.
        WireApi::Messages => match end_of_list(body, &last, "content") {
            Some(at) => (at, json!({ "type": "text", "text": note })),
            None => (end, json!({ "role": "user", "content": note })),
        },
        WireApi::GenerateContent => match end_of_list(body, &last, "parts") {
            Some(at) => (at, json!({ "text": note })),
            None => (end, json!({ "role": "user", "parts": [{ "text": note }] })),
        },
    };
    let mut with = Vec::with_capacity(body.len() + note.len() + 128);
    with.extend_from_slice(&body[..at]);
    with.push(b',');
    with.extend_from_slice(addition.to_string().as_bytes());
    with.extend_from_slice(&body[at..]);
    Some(with)
}

/// Where the last message stands and where it ends, when there is one.
fn end_of_conversation(api: WireApi, body: &[u8]) -> Option<(std::ops::Range<usize>, usize)> {
    let mut scan = JsonCursor::new(body, 0);
    if !scan.consume_byte(b'{') {
        return None;
    }
    loop {
        if scan.next_field()? != api.messages_field().as_bytes() {
            scan.skip_value()?;
            continue;
        }
        if !scan.consume_byte(b'[') {
            return None;
        }
        let mut last = None;
        while scan.next_element() {
            last = Some(scan.skip_value()?);
        }
        let last = last?;
        let end = last.end;
        return Some((last, end));
    }
}

/// The end of the last element of a list in a message by the user.
fn end_of_list(body: &[u8], message: &std::ops::Range<usize>, field: &str) -> Option<usize> {
    let message = &body[message.clone()];
    if json_scan::field(message, "role")? != b"\"user\"" {
        return None;
    }
    let list = json_scan::field(message, field)?;
    let start = list.as_ptr() as usize - body.as_ptr() as usize;
    let mut scan = JsonCursor::new(list, 0);
    if !scan.consume_byte(b'[') {
        return None;
    }
    let mut end = None;
    while scan.next_element() {
        end = Some(scan.skip_value()?.end);
    }
    Some(start + end?)
}

#[cfg(test)]
mod tests;
