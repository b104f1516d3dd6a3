use std::io::{Cursor, Read};

use super::*;

const MAX: usize = 1 << 20;

fn split(bytes: &[u8], at: usize) -> Vec<String> {
    let (head, tail) = bytes.split_at(at);
    let mut stream = Cursor::new(head).chain(Cursor::new(tail));
    let mut lines = LineReader::new(MAX);
    let mut found = Vec::new();
    while let Some(line) = lines.next(&mut stream).unwrap() {
        found.push(match line {
            Line::Complete(line) => String::from_utf8(line.to_vec()).unwrap(),
            Line::TooLong => "(too long)".to_owned(),
        });
    }
    found
}

#[test]
fn lines_are_found_at_any_split() {
    let text = b"one\n\ntwo\nthree\nwithout end";
    for at in 0..text.len() {
        assert_eq!(split(text, at), ["one", "two", "three"], "cut at {at}");
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped_without_buffering() {
    let mut text = vec![b'x'; 3 * MAX];
    text.extend(b"\nnext\n");
    let mut stream = Cursor::new(text);
    let mut lines = LineReader::new(MAX);
    assert!(matches!(lines.next(&mut stream).unwrap(), Some(Line::TooLong)));
    assert!(matches!(lines.next(&mut stream).unwrap(), Some(Line::Complete(b"next"))));
    assert!(lines.buffer.capacity() <= 2 * MAX, "{}", lines.buffer.capacity());
}
