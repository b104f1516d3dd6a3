//! What Codex's counters say that its steps do not.

use belay_core::event::{Body, Event};
use serde_json::{Value, json};

/// All tokens of a session with these counters, each as the total and the last step.
fn tokens(counters: &[[u64; 2]]) -> u64 {
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": "2025-10-02T08:00:00.000Z", "type": kind, "payload": payload}).to_string()
    };
    let usage = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 10});
    let mut lines = vec![line("session_meta", json!({"id": "0199a1b2-0000-7000-8000-00000000079b", "cwd": "/p"}))];
    for [total, last] in counters {
        let said =
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "on it"}]});
        lines.push(line("response_item", said));
        let mut total = usage(*total);
        total["output_tokens"] = json!(10 * (lines.len() as u64 / 2));
        let info = json!({"total_token_usage": total, "last_token_usage": usage(*last)});
        lines.push(line("event_msg", json!({"type": "token_count", "info": info})));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("rollout-2025-10-02T08-00-00-0199a1b2-0000-7000-8000-00000000079b.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").expect("written");
    let (events, _) = super::common::read(&path);
    let used = |event: &Event| match &event.body {
        Body::ModelAnswered(answer) => answer.usage,
        Body::Learned(fact) => fact.usage,
        _ => None,
    };
    events.iter().filter_map(used).map(|usage| usage.total()).sum()
}

#[test]
fn the_steps_of_a_session_are_its_total() {
    assert_eq!(tokens(&[[100, 100], [300, 200]]), 320);
}

#[test]
fn a_total_that_knows_more_than_the_steps_is_used() {
    assert_eq!(tokens(&[[100, 100], [900, 200]]), 920, "a step of 600 was not recorded");
}

#[test]
fn a_count_that_starts_anew_is_no_negative_step() {
    assert_eq!(tokens(&[[500, 500], [80, 80]]), 600);
}
