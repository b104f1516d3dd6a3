//! Session files that are one JSON document: a header and a long list of messages. The list is cut
//! into its items while it is read, so that the document is never held as a whole; each item then
//! goes through a dialect as a line would.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::line_reader::{MAX_LINE, process_line};
use super::{LineError, LineParser, ReadError, ReadStats, TranscriptEventBuilder};

/// Header fields beyond this are left out.
const MAX_HEADER_BYTES: usize = 256 * 1024;

const CHUNK: usize = 64 * 1024;

/// Reads the items of the top-level list `list`. What stands before the list comes first, as one
/// object.
pub fn read_items(
    path: &Path,
    list: &str,
    dialect: &mut dyn LineParser,
    teller: &mut TranscriptEventBuilder<'_>,
) -> Result<ReadStats, ReadError> {
    let fail = |source| ReadError::io(path, source);
    let mut file = File::open(path).map_err(fail)?;
    let mut cutter = ArrayItemSplitter::new(list);
    let mut tally = ReadStats::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(error)),
        };
        tally.bytes += read as u64;
        teller.progress(read as u64);
        for byte in &chunk[..read] {
            if let Some(item) = cutter.push(*byte) {
                match item {
                    Ok(item) => process_line(item, dialect, teller, &mut tally),
                    Err(flaw) => {
                        tally.lines += 1;
                        tally.record_error(flaw);
                    }
                }
                cutter.item_done();
            }
        }
    }
    if cutter.is_cut_off() {
        tally.lines += 1;
        tally.record_error(LineError::Malformed);
    }
    dialect.end(teller);
    Ok(tally)
}

/// Follows the structure of the document byte by byte.
struct ArrayItemSplitter<'a> {
    list: &'a str,
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// The last text at depth 1: the name of the field that follows.
    name: Vec<u8>,
    in_list: bool,
    header_told: bool,
    /// The header until the list begins, then the current item.
    held: Vec<u8>,
    too_long: bool,
}

impl<'a> ArrayItemSplitter<'a> {
    fn new(list: &'a str) -> Self {
        Self {
            list,
            depth: 0,
            in_text: false,
            escaped: false,
            name: Vec::new(),
            in_list: false,
            header_told: false,
            held: Vec::new(),
            too_long: false,
        }
    }

    fn hold(&mut self, byte: u8) {
        let limit = if self.in_list { MAX_LINE } else { MAX_HEADER_BYTES };
        if self.held.len() < limit {
            self.held.push(byte);
        } else {
            self.too_long = true;
        }
    }

    /// Takes one byte; an item when it is complete.
    fn push(&mut self, byte: u8) -> Option<Result<&[u8], LineError>> {
        if self.in_text {
            self.hold(byte);
            if self.depth == 1 && self.name.len() < 256 {
                self.name.push(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 {
                    self.name.clear();
                }
                self.hold(byte);
            }
            b'[' if self.depth == 1 && !self.in_list && self.name.strip_suffix(b"\"") == Some(self.list.as_bytes()) => {
                self.depth = 2;
                self.in_list = true;
                return self.header();
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.hold(byte);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.in_list && self.depth == 1 {
                    // The list ends; a header that comes after it is of no use any more.
                    self.in_list = false;
                    self.held.clear();
                } else {
                    self.hold(byte);
                }
                if self.in_list && self.depth == 2 {
                    return Some(if self.too_long { Err(LineError::TooLong) } else { Ok(&self.held) });
                }
            }
            b',' if self.in_list && self.depth == 2 => {}
            _ => self.hold(byte),
        }
        None
    }

    /// What stood before the list, closed to an object: `{"a":1,"messages":` becomes `{"a":1}`.
    fn header(&mut self) -> Option<Result<&[u8], LineError>> {
        if std::mem::replace(&mut self.header_told, true) || self.too_long {
            self.item_done();
            return None;
        }
        let field = self.list.len() + 2;
        let name = self.held.windows(field).rposition(|part| part[1..=self.list.len()] == *self.list.as_bytes());
        self.held.truncate(name.unwrap_or(0));
        while self.held.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b',') {
            self.held.pop();
        }
        self.held.push(b'}');
        Some(Ok(&self.held))
    }

    fn item_done(&mut self) {
        self.held.clear();
        self.held.shrink_to(CHUNK);
        self.too_long = false;
    }

    /// The document ended in the middle.
    fn is_cut_off(&self) -> bool {
        self.depth != 0 || self.in_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> (Vec<String>, bool) {
        let mut cutter = ArrayItemSplitter::new("messages");
        let mut items = Vec::new();
        for byte in text.bytes() {
            let item = cutter.push(byte).map(|item| String::from_utf8(item.expect("short").to_vec()).expect("text"));
            if let Some(item) = item {
                items.push(item);
                cutter.item_done();
            }
        }
        (items, cutter.is_cut_off())
    }

    #[test]
    fn a_document_is_cut_into_header_and_items() {
        let (items, cut_off) = cut(
            "{\n \"id\": \"a\", \"deep\": {\"messages\": [1]},\n \"messages\": [\n {\"t\": \"},{ \\\" [\"}, {\"n\": [{}]}\n ],\n \"x\": 1}",
        );
        assert_eq!(items.len(), 3);
        let header: serde_json::Value = serde_json::from_str(&items[0]).expect("an object");
        assert_eq!(header["id"], "a");
        assert!(header.get("messages").is_none());
        assert_eq!(items[1].trim(), "{\"t\": \"},{ \\\" [\"}");
        assert_eq!(items[2].trim(), "{\"n\": [{}]}");
        assert!(!cut_off);
    }

    #[test]
    fn a_document_cut_off_gives_what_was_whole() {
        let (items, cut_off) = cut("{\"messages\":[{\"a\":1},{\"b\":");
        assert_eq!(items, ["{}", "{\"a\":1}"]);
        assert!(cut_off);
    }
}
