use belay_core::event::{Body, Note};
use belay_core::{Event, Excerpt, SessionKey};

use super::line_reader::split;
use super::*;

/// Notes every line; a line that starts with `!` is refused.
struct Echo;

impl LineParser for Echo {
    fn line(&mut self, line: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        if line.starts_with('!') {
            return Err(LineError::Malformed);
        }
        teller.push(Body::Note(Note { text: Excerpt::with_limit(line, 64) }));
        Ok(())
    }
}

fn echo(bytes: &[u8]) -> (Vec<String>, ReadStats) {
    let mut events = Vec::<Event>::new();
    let mut sink = |event| events.push(event);
    let mut teller = TranscriptEventBuilder::new(SessionKey::new("x", "y"), &mut sink);
    let tally = split(bytes, &mut Echo, &mut teller).expect("memory can be read");
    let text = |event: &Event| match &event.body {
        Body::Note(note) => note.text.to_string(),
        _ => String::new(),
    };
    (events.iter().map(text).collect(), tally)
}

#[test]
fn lines_end_in_any_way_and_the_last_needs_no_end() {
    let (lines, tally) = echo(b"\xef\xbb\xbfone\r\n\ntwo\n  three");
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!((tally.lines, tally.damaged_lines()), (4, 0));
}

#[test]
fn a_line_beyond_the_bound_is_counted_and_what_follows_is_read() {
    let mut bytes = b"one\n".to_vec();
    bytes.resize(MAX_LINE + 4096, b'x');
    bytes.extend(b"\ntwo\n");
    bytes.resize(bytes.len() + MAX_LINE + 1, b'y');
    let (lines, tally) = echo(&bytes);
    assert_eq!(lines, ["one", "two"]);
    assert_eq!((tally.lines, tally.too_long), (4, 2));
    assert_eq!(tally.bytes, bytes.len() as u64);
}

#[test]
fn a_long_line_within_the_bound_is_read() {
    let mut bytes = vec![b'x'; MAX_LINE / 2];
    bytes.extend(b"\ntwo");
    let (lines, tally) = echo(&bytes);
    assert_eq!(lines.len(), 2);
    assert_eq!(tally.damaged_lines(), 0);
}

#[test]
fn text_cut_inside_a_character_is_still_read() {
    let (lines, tally) = echo(b"caf\xc3\n!\xff\xfe\n!x");
    assert_eq!(lines, ["caf\u{fffd}"]);
    assert_eq!((tally.binary, tally.broken), (1, 1));
}

#[test]
fn only_the_first_damaged_places_are_named() {
    let (_, tally) = echo("!\n".repeat(100).as_bytes());
    assert_eq!(tally.broken, 100);
    assert_eq!(tally.places.len(), 8);
    assert_eq!(tally.places[7], (8, LineError::Malformed));
}
