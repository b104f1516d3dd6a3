//! Standard input, bounded.

use std::io::{self, Read};

use belay_core::Digest;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Payloads up to this size travel as they are.
const MAX_UNTRIMMED_BYTES: usize = 4 * 1024 * 1024;

/// What is read at all.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// A text longer than this is shortened in a payload that is too large.
const MAX_STRING_BYTES: usize = 64 * 1024;

/// Reads to the end, so that the agent never writes into a closed pipe. Input that is not JSON is an error.
pub(super) fn read_bounded(mut input: impl Read) -> io::Result<Box<RawValue>> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    input.by_ref().take(MAX_INPUT_BYTES).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == MAX_INPUT_BYTES {
        io::copy(&mut input, &mut io::sink())?;
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let payload = if text.len() > MAX_UNTRIMMED_BYTES { shorten(&text) } else { RawValue::from_string(text) };
    payload.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("not JSON: {error}")))
}

/// Shortens the long strings of a payload. Equal strings stay equal and different strings different.
fn shorten(text: &str) -> serde_json::Result<Box<RawValue>> {
    let mut value = serde_json::from_str(text)?;
    cut(&mut value);
    to_raw_value(&value)
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_STRING_BYTES => {
            let head = &text[..text.floor_char_boundary(MAX_STRING_BYTES / 2)];
            let tail = &text[text.ceil_char_boundary(text.len() - MAX_STRING_BYTES / 4)..];
            *text = format!("{head}\n[{} bytes, {}]\n{tail}", text.len(), Digest::of(&text));
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Object(object) => object.values_mut().for_each(cut),
        _ => {}
    }
}
