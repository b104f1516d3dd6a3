//! What counts as chanting while an answer streams, in text and in calls.

use std::fmt::Write;

use super::*;

/// How many bytes it took to notice.
fn noticed(pieces: impl Iterator<Item = UnreadDeltas>) -> Option<usize> {
    let mut watch = RepetitionWatch::new(Some(RepetitionRules::default()));
    let mut said = 0;
    let mut voices = Choices::default();
    for fresh in pieces {
        said += fresh.text.len() + fresh.thought.len() + fresh.input.len();
        let heard = &mut voices.current_mut().unwrap().fresh;
        heard.text.push_str(&fresh.text);
        heard.thought.push_str(&fresh.thought);
        heard.input.push_str(&fresh.input);
        watch.consume(&mut voices);
        assert!(
            voices.unread_deltas_mut().all(|fresh| fresh.is_shorter_than(MIN_WATCHED_BYTES)),
            "what was heard is not kept"
        );
        if watch.finding(voices.open()).is_some() {
            return Some(said);
        }
    }
    None
}

fn text(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { text: piece.into(), ..UnreadDeltas::default() }
}

fn input(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { input: piece.into(), ..UnreadDeltas::default() }
}

fn thought(piece: impl Into<String>) -> UnreadDeltas {
    UnreadDeltas { thought: piece.into(), ..UnreadDeltas::default() }
}

#[test]
fn chanting_is_noticed_however_late_it_begins() {
    let mut healthy = String::new();
    for number in 0..20_000_u64 {
        write!(healthy, "{:x} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
    }
    let before = healthy.len();
    let pieces = [healthy].into_iter().chain((0..1000).map(|_| "I will fix it now. ".to_owned()));
    let at = noticed(pieces.map(text)).expect("noticed");
    assert!((before..before + 4000).contains(&at), "{at}");
}

#[test]
fn chanting_in_the_input_of_a_call_is_noticed() {
    let call = [r#"{"command":""#.to_owned()].into_iter().chain((0..100_000).map(|_| "echo hello && ".to_owned()));
    let at = noticed(call.map(input)).expect("noticed");
    assert!((50_000..100_000).contains(&at), "{at}");
}

#[test]
fn a_thought_may_weigh_the_same_words_again_but_not_for_ever() {
    let weighs = (0..12).map(|n| format!("Wait, is it the port? {n}: no, the port is free. Let me look again. "));
    assert_eq!(noticed(weighs.map(thought)), None);
    let circles = (0..10_000).map(|_| "Wait, let me check the port again. ".to_owned());
    let at = noticed(circles.map(thought)).expect("noticed");
    assert!((3_000..8_000).contains(&at), "{at}");
}

#[test]
fn files_that_repeat_for_good_reasons_are_left_alone() {
    let zeros = (0..8_000).map(|_| "0, ".to_owned());
    let rows = (0..800).map(|row| format!(r#"{{\"id\": {row}, \"name\": \"user\"}},\n"#));
    let rules = (0..30).map(|_| "-".repeat(1000));
    assert_eq!(noticed(zeros.map(input)), None);
    assert_eq!(noticed(rows.map(input)), None);
    assert_eq!(noticed(rules.map(input)), None);
}

#[test]
fn without_rules_nobody_watches() {
    let mut watch = RepetitionWatch::new(None);
    let mut voices = Choices::default();
    for _ in 0..10_000 {
        voices.current_mut().unwrap().fresh = text("again and again ");
        watch.consume(&mut voices);
    }
    assert_eq!(watch.finding(voices.all()), None);
}
