//! Session files that consist of one JSON document: a header and a long array of messages.
//!
//! The array is split into its items while it is read, so the complete document is never in memory. Each item is parsed
//! like a line.

use std::io::Read;
use std::path::Path;

use super::line_reader::{MAX_LINE, process_line};
use super::{LineError, LineParser, ReadError, ReadStats, TranscriptEventBuilder};

/// Maximum size of the header; a larger one is skipped.
const MAX_HEADER_BYTES: usize = 256 * 1024;

const CHUNK: usize = 64 * 1024;

/// Reads the items of the top-level array `field`. The fields before the array come first, as one object.
pub fn read_items(
    path: &Path,
    field: &str,
    parser: &mut dyn LineParser,
    builder: &mut TranscriptEventBuilder<'_>,
) -> Result<ReadStats, ReadError> {
    let fail = |source| ReadError::io(path, source);
    let mut file = belay_fs::open_regular(path, belay_fs::Links::Follow).map_err(fail)?;
    let mut splitter = ArrayItemSplitter::new(field);
    let mut stats = ReadStats::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(error)),
        };
        stats.bytes += read as u64;
        builder.progress(read as u64);
        for byte in &chunk[..read] {
            if let Some(item) = splitter.push(*byte) {
                match item {
                    Ok(item) => process_line(item, parser, builder, &mut stats),
                    Err(error) => {
                        stats.lines += 1;
                        stats.record_error(error);
                    }
                }
                splitter.item_done();
            }
        }
    }
    if splitter.is_truncated() {
        stats.lines += 1;
        stats.record_error(LineError::Malformed);
    }
    parser.end(builder);
    Ok(stats)
}

/// Splits the document into header and items, byte by byte.
struct ArrayItemSplitter<'a> {
    field: &'a str,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The last string at depth 1: the name of the next field.
    name: Vec<u8>,
    in_array: bool,
    header_emitted: bool,
    /// The header until the array starts, then the current item.
    buffer: Vec<u8>,
    too_long: bool,
}

impl<'a> ArrayItemSplitter<'a> {
    fn new(field: &'a str) -> Self {
        Self {
            field,
            depth: 0,
            in_string: false,
            escaped: false,
            name: Vec::new(),
            in_array: false,
            header_emitted: false,
            buffer: Vec::new(),
            too_long: false,
        }
    }

    fn push_byte(&mut self, byte: u8) {
        let limit = if self.in_array { MAX_LINE } else { MAX_HEADER_BYTES };
        if self.buffer.len() < limit {
            self.buffer.push(byte);
        } else {
            self.too_long = true;
        }
    }

    /// Processes one byte; returns an item when it is complete.
    fn push(&mut self, byte: u8) -> Option<Result<&[u8], LineError>> {
        if self.in_string {
            self.push_byte(byte);
            if self.depth == 1 && self.name.len() < 256 {
                self.name.push(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.name.clear();
                }
                self.push_byte(byte);
            }
            b'[' if self.depth == 1
                && !self.in_array
                && self.name.strip_suffix(b"\"") == Some(self.field.as_bytes()) =>
            {
                self.depth = 2;
                self.in_array = true;
                return self.header();
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.push_byte(byte);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.in_array && self.depth == 1 {
                    // Fields after the array are not needed.
                    self.in_array = false;
                    self.buffer.clear();
                } else {
                    self.push_byte(byte);
                }
                if self.in_array && self.depth == 2 {
                    return Some(if self.too_long { Err(LineError::TooLong) } else { Ok(&self.buffer) });
                }
            }
            b',' if self.in_array && self.depth == 2 => {}
            _ => self.push_byte(byte),
        }
        None
    }

    /// The fields before the array as an object: `{"a":1,"messages":` becomes `{"a":1}`.
    fn header(&mut self) -> Option<Result<&[u8], LineError>> {
        if std::mem::replace(&mut self.header_emitted, true) || self.too_long {
            self.item_done();
            return None;
        }
        let quoted_len = self.field.len() + 2;
        let name =
            self.buffer.windows(quoted_len).rposition(|part| part[1..=self.field.len()] == *self.field.as_bytes());
        self.buffer.truncate(name.unwrap_or(0));
        while self.buffer.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b',') {
            self.buffer.pop();
        }
        self.buffer.push(b'}');
        Some(Ok(&self.buffer))
    }

    fn item_done(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(CHUNK);
        self.too_long = false;
    }

    /// Whether the document ended prematurely.
    fn is_truncated(&self) -> bool {
        self.depth != 0 || self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_items(text: &str) -> (Vec<String>, bool) {
        let mut splitter = ArrayItemSplitter::new("messages");
        let mut items = Vec::new();
        for byte in text.bytes() {
            let item = splitter.push(byte).map(|item| String::from_utf8(item.expect("short").to_vec()).expect("text"));
            if let Some(item) = item {
                items.push(item);
                splitter.item_done();
            }
        }
        (items, splitter.is_truncated())
    }

    #[test]
    fn a_document_is_split_into_header_and_items() {
        let (items, truncated) = split_items(
            "{\n \"id\": \"a\", \"deep\": {\"messages\": [1]},\n \"messages\": [\n {\"t\": \"},{ \\\" [\"}, {\"n\": [{}]}\n ],\n \"x\": 1}",
        );
        assert_eq!(items.len(), 3);
        let header: serde_json::Value = serde_json::from_str(&items[0]).expect("an object");
        assert_eq!(header["id"], "a");
        assert!(header.get("messages").is_none());
        assert_eq!(items[1].trim(), "{\"t\": \"},{ \\\" [\"}");
        assert_eq!(items[2].trim(), "{\"n\": [{}]}");
        assert!(!truncated);
    }

    #[test]
    fn a_truncated_document_yields_its_complete_items() {
        let (items, truncated) = split_items("{\"messages\":[{\"a\":1},{\"b\":");
        assert_eq!(items, ["{}", "{\"a\":1}"]);
        assert!(truncated);
    }
}
