//! What counts as repetition while a response streams, in text, reasoning and tool input.

use std::fmt::Write;

use super::*;

/// How many bytes it took to find the repetition.
fn bytes_until_found(pieces: impl Iterator<Item = UnreadDeltas>) -> Option<usize> {
    let mut watch = RepetitionWatch::new(Some(RepetitionRules::default()));
    let mut bytes = 0;
    let mut choices = Choices::default();
    for unread in pieces {
        bytes += unread.text.len() + unread.reasoning.len() + unread.tool_input.len();
        let pending = &mut choices.current_mut().unwrap().unread;
        pending.text.push_str(&unread.text);
        pending.reasoning.push_str(&unread.reasoning);
        pending.tool_input.push_str(&unread.tool_input);
        watch.consume(&mut choices);
        assert!(
            choices.unread_deltas_mut().all(|unread| unread.is_shorter_than(MIN_WATCHED_BYTES)),
            "what was checked is not retained"
        );
        if watch.finding(choices.open()).is_some() {
            return Some(bytes);
        }
    }
    None
}

fn text(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { text: piece.into(), ..UnreadDeltas::default() }
}

fn tool_input(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { tool_input: piece.into(), ..UnreadDeltas::default() }
}

fn reasoning(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { reasoning: piece.into(), ..UnreadDeltas::default() }
}

#[test]
fn repetition_is_found_however_late_it_starts() {
    let mut healthy = String::new();
    for number in 0..20_000_u64 {
        write!(healthy, "{:x} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
    }
    let before = healthy.len();
    let pieces = [healthy].into_iter().chain((0..1000).map(|_| "I will fix it now. ".to_owned()));
    let at = bytes_until_found(pieces.map(text)).expect("a finding");
    assert!((before..before + 4000).contains(&at), "{at}");
}

#[test]
fn chanting_in_the_input_of_a_call_is_bytes_until_found() {
    let call = [r#"{"command":""#.to_owned()].into_iter().chain((0..100_000).map(|_| "echo hello && ".to_owned()));
    let at = bytes_until_found(call.map(tool_input)).expect("a finding");
    assert!((50_000..100_000).contains(&at), "{at}");
}

#[test]
fn reasoning_may_repeat_a_thought_but_not_for_ever() {
    let weighs = (0..12).map(|n| format!("Wait, is it the port? {n}: no, the port is free. Let me look again. "));
    assert_eq!(bytes_until_found(weighs.map(reasoning)), None);
    let circles = (0..10_000).map(|_| "Wait, let me check the port again. ".to_owned());
    let at = bytes_until_found(circles.map(reasoning)).expect("a finding");
    assert!((3_000..8_000).contains(&at), "{at}");
}

#[test]
fn repetitive_files_are_accepted() {
    let zeros = (0..8_000).map(|_| "0, ".to_owned());
    let rows = (0..800).map(|row| format!(r#"{{\"id\": {row}, \"name\": \"user\"}},\n"#));
    let rules = (0..30).map(|_| "-".repeat(1000));
    assert_eq!(bytes_until_found(zeros.map(tool_input)), None);
    assert_eq!(bytes_until_found(rows.map(tool_input)), None);
    assert_eq!(bytes_until_found(rules.map(tool_input)), None);
}

#[test]
fn nothing_is_checked_without_rules() {
    let mut watch = RepetitionWatch::new(None);
    let mut choices = Choices::default();
    for _ in 0..10_000 {
        choices.current_mut().unwrap().unread = text("again and again ");
        watch.consume(&mut choices);
    }
    assert_eq!(watch.finding(choices.all()), None);
}
