use belay_core::event::{Body, Note};
use belay_core::{Event, Excerpt, SessionKey};

use super::line_reader::read_lines_from;
use super::*;

/// Emits a note for every line; a line that starts with `!` is malformed.
struct Echo;

impl LineParser for Echo {
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        if line.starts_with('!') {
            return Err(LineError::Malformed);
        }
        builder.push(Body::Note(Note { text: Excerpt::with_limit(line, 64) }));
        Ok(())
    }
}

fn echo(bytes: &[u8]) -> (Vec<String>, ReadStats) {
    let mut events = Vec::<Event>::new();
    let mut sink = |event| events.push(event);
    let mut builder = TranscriptEventBuilder::new(SessionKey::new("x", "y"), &mut sink);
    let stats = read_lines_from(bytes, &mut Echo, &mut builder).expect("memory can be read");
    let text = |event: &Event| match &event.body {
        Body::Note(note) => note.text.to_string(),
        _ => String::new(),
    };
    (events.iter().map(text).collect(), stats)
}

#[test]
fn the_last_line_needs_no_line_break() {
    let (lines, stats) = echo(b"\xef\xbb\xbfone\r\n\ntwo\n  three");
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!((stats.lines, stats.damaged_lines()), (4, 0));
}

#[test]
fn an_overlong_line_is_counted_and_skipped() {
    let mut bytes = b"one\n".to_vec();
    bytes.resize(MAX_LINE + 4096, b'x');
    bytes.extend(b"\ntwo\n");
    bytes.resize(bytes.len() + MAX_LINE + 1, b'y');
    let (lines, stats) = echo(&bytes);
    assert_eq!(lines, ["one", "two"]);
    assert_eq!((stats.lines, stats.too_long), (4, 2));
    assert_eq!(stats.bytes, bytes.len() as u64);
}

#[test]
fn a_long_line_within_the_limit_is_read() {
    let mut bytes = vec![b'x'; MAX_LINE / 2];
    bytes.extend(b"\ntwo");
    let (lines, stats) = echo(&bytes);
    assert_eq!(lines.len(), 2);
    assert_eq!(stats.damaged_lines(), 0);
}

#[test]
fn text_truncated_inside_a_character_is_read() {
    let (lines, stats) = echo(b"caf\xc3\n!\xff\xfe\n!x");
    assert_eq!(lines, ["caf\u{fffd}"]);
    assert_eq!((stats.binary, stats.broken), (1, 1));
}

#[test]
fn only_the_first_errors_are_listed() {
    let (_, stats) = echo("!\n".repeat(100).as_bytes());
    assert_eq!(stats.broken, 100);
    assert_eq!(stats.errors.len(), 8);
    assert_eq!(stats.errors[7], (8, LineError::Malformed));
}
