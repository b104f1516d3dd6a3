//! Reading and cutting responses with several choices.

use belay_core::repetition::RepetitionRules;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::buffer_pool::BufferPool;
use crate::inspect::response_reader::ResponseReader;
use crate::inspect::wire::{ResponseSummary, WireApi};

fn reader(api: WireApi) -> ResponseReader {
    let charge = BufferPool::new(usize::MAX).new_charge();
    ResponseReader::new(api, 200, "text/event-stream", None, Some(RepetitionRules::default()), charge)
}

fn event(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn says(index: u64, text: &str) -> String {
    event(&json!({ "choices": [{ "index": index, "delta": { "content": text } }] }))
}

fn calls(index: u64, call: &str, input: &str) -> String {
    let call = json!({ "index": 0, "id": call, "function": { "name": "sh", "arguments": input } });
    event(&json!({ "choices": [{ "index": index, "delta": { "tool_calls": [call] } }] }))
}

fn ends(index: u64) -> String {
    event(&json!({ "choices": [{ "index": index, "delta": {}, "finish_reason": format!("stop-{index}") }] }))
}

fn read(stream: &str) -> ResponseSummary {
    let mut reader = reader(WireApi::Chat);
    reader.feed(stream.as_bytes());
    reader.finish(true).0
}

/// Healthy text without repeated sentences.
fn sound() -> impl Iterator<Item = String> {
    (0_u64..).map(|n| {
        let word = |salt: u64| format!("{:x}", (n + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        format!("Now {} leads to {}, so {} has to go before {} can. ", word(1), word(2), word(3), word(4))
    })
}

#[test]
fn the_first_choice_stands_for_the_answer_and_all_of_them_cost() {
    let stream = [
        says(0, "Yes"),
        says(1, "No way"),
        calls(1, "b", "{\"command\":\"ls\"}"),
        calls(0, "a", "{}"),
        says(0, ", sure."),
        ends(1),
        ends(0),
    ];
    let answered = read(&stream.concat());
    assert_eq!((answered.text.as_str(), answered.tool_calls), ("Yes, sure.", 1));
    assert_eq!(answered.stop.as_deref(), Some("stop-0"));
    assert_eq!(answered.output_bytes, "YesNo way{\"command\":\"ls\"}{}, sure.".len() as u64);
}

#[test]
fn choices_of_a_plain_answer_are_told_apart_too() {
    let choice =
        |index: u64, text: &str| json!({ "index": index, "message": { "content": text }, "finish_reason": "stop" });
    let body = json!({ "choices": [choice(0, "Yes."), choice(1, "No way.")] }).to_string();
    let mut reader = ResponseReader::new(
        WireApi::Chat,
        200,
        "application/json",
        None,
        None,
        BufferPool::new(usize::MAX).new_charge(),
    );
    reader.feed(body.as_bytes());
    let answered = reader.finish(true).0;
    assert_eq!((answered.text.as_str(), answered.output_bytes), ("Yes.", 11));
}

#[test]
fn alternatives_that_agree_are_no_chant() {
    let mut reader = reader(WireApi::Chat);
    for sentence in sound().take(200) {
        (0..6).for_each(|index| reader.feed(says(index, &sentence).as_bytes()));
    }
    assert_eq!(reader.repetition(), None);
    assert_eq!(reader.finish(true).1, None);
}

#[test]
fn a_chant_ends_an_answer_once_nothing_sound_comes_any_more() {
    let mut reader = reader(WireApi::Chat);
    for sentence in sound().take(200) {
        reader.feed(says(0, &sentence).as_bytes());
        reader.feed(says(1, "I will fix the test now and then I will ").as_bytes());
    }
    assert_eq!(reader.repetition(), None, "the first choice is worth waiting for");
    reader.feed(ends(0).as_bytes());
    assert!(reader.repetition().is_some());
    let end = String::from_utf8(reader.cut_bytes("[cut]", 0).unwrap()).unwrap();
    assert!(end.contains("\"index\":1") && !end.contains("\"index\":0"), "{end}");
}

#[test]
fn every_choice_that_goes_on_is_ended_and_every_half_call_spoilt() {
    let half = "{\"command\":\"rm -r /tmp";
    let stream = [says(0, "Done."), ends(0), calls(1, "a", half), says(2, "I"), calls(3, "a", "{}")].concat();
    let mut reader = reader(WireApi::Chat);
    reader.feed(stream.as_bytes());
    let end = String::from_utf8(reader.cut_bytes("[cut]", 0).unwrap()).unwrap();
    let events = end.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let choices: Vec<Value> = events.map(|event| event["choices"][0].clone()).collect();
    let of = |index: u64| choices.iter().filter(move |choice| choice["index"] == index);
    let spoilt = |index: u64| of(index).any(|choice| !choice["delta"]["tool_calls"].is_null());
    let reported = |index: u64| of(index).any(|choice| choice["delta"]["content"] == "[cut]");
    let why = |index: u64| of(index).next_back().map(|choice| choice["finish_reason"].clone());
    assert_eq!([0, 1, 2, 3].map(spoilt), [false, true, false, false]);
    assert_eq!([0, 1, 2, 3].map(reported), [false, true, true, true]);
    assert_eq!(
        [0, 1, 2, 3].map(why),
        [None, Some("tool_calls".into()), Some("stop".into()), Some("tool_calls".into())]
    );
}

#[test]
fn more_choices_than_are_told_apart_run_to_their_end() {
    let mut reader = reader(WireApi::Chat);
    (0..100).for_each(|index| reader.feed(says(index, "again and again ").as_bytes()));
    assert!(!reader.can_be_cut());
    assert_eq!(reader.summary().output_bytes, 100 * "again and again ".len() as u64);
    for _ in 0..1000 {
        (0..100).for_each(|index| reader.feed(says(index, "again and again ").as_bytes()));
    }
    assert_eq!(reader.repetition(), None, "nobody knows how the others do");
}

#[test]
fn candidates_are_told_apart_and_ended_one_by_one() {
    let says = |index: u64, text: &str, why: Option<&str>| {
        let content = json!({ "role": "model", "parts": [{ "text": text }] });
        event(&json!({ "candidates": [{ "index": index, "content": content, "finishReason": why }] }))
    };
    let mut reader = reader(WireApi::GenerateContent);
    reader.feed([says(0, "Yes", None), says(1, "No", None), says(0, ".", Some("STOP"))].concat().as_bytes());
    assert_eq!((reader.summary().text.as_str(), reader.summary().complete), ("Yes.", false));
    let end = String::from_utf8(reader.cut_bytes("[cut]", 0).unwrap()).unwrap();
    assert!(end.contains("\"index\":1") && !end.contains("\"index\":0"), "{end}");
    reader.feed(end.as_bytes());
    assert!(reader.summary().complete);
}

proptest! {
    /// For any interleaving, each choice is read and ended as if it were the only one.
    #[test]
    fn turns_change_nothing(pieces in proptest::collection::vec((0_u64..4, "[a-z{}\"]{0,6}", any::<bool>()), 1..40)) {
        let piece = |(index, text, call): &(u64, String, bool)| match call {
            true => calls(*index, "c", text),
            false => says(*index, text),
        };
        let stream: String = pieces.iter().map(piece).collect();
        let first = pieces[0].0;
        let alone: String = pieces.iter().filter(|(index, ..)| *index == first).map(piece).collect();
        let (together, alone) = (read(&stream), read(&alone));
        prop_assert_eq!((&together.text, together.tool_calls), (&alone.text, alone.tool_calls));
        let ending = |stream: &str| {
            let mut reader = reader(WireApi::Chat);
            reader.feed(stream.as_bytes());
            String::from_utf8(reader.cut_bytes("[cut]", 0).unwrap()).unwrap().replace("data: [DONE]\n\n", "")
        };
        let mut order: Vec<u64> = Vec::new();
        pieces.iter().for_each(|(index, ..)| if !order.contains(index) { order.push(*index) });
        let one_by_one: String = order
            .iter()
            .map(|own| ending(&pieces.iter().filter(|(index, ..)| index == own).map(piece).collect::<String>()))
            .collect();
        prop_assert_eq!(ending(&stream), one_by_one);
    }
}
