//! Standard input, bounded.

use std::io::{self, Read};

use belay_core::Digest;
use serde_json::Value;

/// Payloads up to this size travel as they are.
const MAX_UNTRIMMED_BYTES: usize = 4 * 1024 * 1024;

/// What is read at all.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// A text longer than this is shortened in a payload that is too large.
const MAX_STRING_BYTES: usize = 64 * 1024;

/// Reads to the end, so that the agent never writes into a closed pipe.
pub(super) fn read_bounded(mut input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    input.by_ref().take(MAX_INPUT_BYTES).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == MAX_INPUT_BYTES {
        io::copy(&mut input, &mut io::sink())?;
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(if text.len() > MAX_UNTRIMMED_BYTES { shorten(text) } else { text })
}

/// Shortens the long texts of a payload. Equal texts stay equal and different ones different.
fn shorten(text: String) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return text[..text.floor_char_boundary(MAX_UNTRIMMED_BYTES)].to_owned();
    };
    cut(&mut value);
    value.to_string()
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
