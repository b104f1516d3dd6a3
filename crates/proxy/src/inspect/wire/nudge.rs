//! Where a nudge goes in the body of a request.

use std::ops::Range;

use serde_json::Value;

use crate::inspect::json_scan::{self, JsonCursor};

/// The body with another list element after the one that ends at `at`.
pub(super) fn insert_element(body: &[u8], at: usize, element: &Value) -> Vec<u8> {
    let element = element.to_string();
    let mut with = Vec::with_capacity(body.len() + element.len() + 1);
    with.extend_from_slice(&body[..at]);
    with.push(b',');
    with.extend_from_slice(element.as_bytes());
    with.extend_from_slice(&body[at..]);
    with
}

/// The last message in the list `field`.
pub(super) fn last_message(body: &[u8], field: &str) -> Option<Range<usize>> {
    let mut scan = JsonCursor::new(body, 0);
    if !scan.consume_byte(b'{') {
        return None;
    }
    while scan.next_field()? != field.as_bytes() {
        scan.skip_value()?;
    }
    last_element(&mut scan)
}

/// The end of the last element in a list of the message, if the message is the user's.
pub(super) fn end_of_user_parts(body: &[u8], message: &Range<usize>, field: &str) -> Option<usize> {
    let message = &body[message.clone()];
    if json_scan::field(message, "role")? != b"\"user\"" {
        return None;
    }
    let list = json_scan::field(message, field)?;
    let start = list.as_ptr() as usize - body.as_ptr() as usize;
    Some(start + last_element(&mut JsonCursor::new(list, 0))?.end)
}

fn last_element(scan: &mut JsonCursor<'_>) -> Option<Range<usize>> {
    if !scan.consume_byte(b'[') {
        return None;
    }
    let mut last = None;
    while scan.next_element() {
        last = Some(scan.skip_value()?);
    }
    last
}
