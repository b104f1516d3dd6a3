//! Standard input, bounded.

use std::io::{self, Read};

use belay_agents::hook::{EndScanner, condense};
use serde_json::value::RawValue;

/// Maximum input size.
const MAX_INPUT_BYTES: usize = 64 * 1024 * 1024;

/// Size of one read: the capacity of a pipe.
const READ_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one JSON object and condenses it. Stops at its end: an agent may leave the pipe open. Input that is not a JSON
/// object is an error.
pub(super) fn read_bounded(input: impl Read) -> io::Result<Box<RawValue>> {
    let bytes = read_object(input)?;
    let condensed = condense(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes));
    let condensed = condensed.ok_or_else(|| not_json(&"expected an object"))?;
    let text =
        String::from_utf8(condensed).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    RawValue::from_string(text).map_err(|error| not_json(&error))
}

fn read_object(mut input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut scanner = EndScanner::default();
    let mut piece = vec![0; READ_BYTES];
    loop {
        let read = match input.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = scanner.feed(read);
        if bytes.len() + read.len() > MAX_INPUT_BYTES {
            if end.is_none() {
                // Drain the input so that the agent does not write into a closed pipe.
                io::copy(&mut input, &mut io::sink())?;
            }
            let message = format!("the payload is longer than {MAX_INPUT_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        bytes.extend_from_slice(&read[..end.unwrap_or(read.len())]);
        if end.is_some() {
            return Ok(bytes);
        }
    }
}

fn not_json(problem: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not JSON: {problem}"))
}
