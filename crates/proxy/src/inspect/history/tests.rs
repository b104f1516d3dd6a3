use proptest::prelude::*;

use super::*;

fn body(messages: &[String]) -> Vec<u8> {
    format!(r#"{{"model":"m","messages":[{}],"tools":[{{"name":"bash"}}],"stream":true}}"#, messages.join(","))
        .into_bytes()
}

fn message(text: &str) -> String {
    serde_json::json!({ "role": "user", "content": text }).to_string()
}

/// The indices of the new messages.
fn news(conversation: &mut HistoryTracker, messages: &[String]) -> Vec<usize> {
    let body = body(messages);
    let news = conversation.read_new(WireApi::Chat, &body, |_| true).unwrap();
    assert_eq!(news.fields, RequestFields { model: Some("m".to_owned()), stream: true, tools: true });
    for MessageRef { place, range } in &news.messages {
        assert_eq!(body[range.clone()], *messages[*place].as_bytes());
    }
    news.messages.iter().map(|message| message.place).collect()
}

fn all(indices: Range<usize>) -> Vec<usize> {
    indices.collect()
}

#[test]
fn only_what_was_added_is_new() {
    let mut conversation = HistoryTracker::default();
    let mut messages: Vec<String> = (0..3).map(|n| message(&format!("{n} \"quoted\" \\ {{[,]}}"))).collect();
    assert_eq!(news(&mut conversation, &messages), [0, 1, 2]);
    assert!(news(&mut conversation, &messages).is_empty());
    messages.push(message("new"));
    messages.push(message("newer"));
    assert_eq!(news(&mut conversation, &messages), [3, 4]);
}

#[test]
fn a_change_brings_nothing_back_but_itself() {
    let mut conversation = HistoryTracker::default();
    let mut messages: Vec<String> = (0..20).map(|n| message(&n.to_string())).collect();
    news(&mut conversation, &messages);
    // A cache marker moves from one message to another.
    messages[18] = message("18, changed");
    messages.push(message("20"));
    assert_eq!(news(&mut conversation, &messages), [18, 20]);
    messages[5] = message("an old result was dropped");
    assert_eq!(news(&mut conversation, &messages), [5]);
}

#[test]
fn messages_that_moved_up_are_new_in_their_places() {
    let mut conversation = HistoryTracker::default();
    let mut messages: Vec<String> = (0..20).map(|n| message(&n.to_string())).collect();
    news(&mut conversation, &messages);
    messages.remove(15);
    assert_eq!(news(&mut conversation, &messages), all(15..19));
}

#[test]
fn a_history_that_goes_back_to_its_beginning_tells_only_what_comes_next() {
    let mut conversation = HistoryTracker::default();
    let mut messages = long(60);
    news(&mut conversation, &messages);
    for n in 0..40 {
        messages.extend([message(&format!("call {n}")), message(&format!("result {n}"))]);
        assert_eq!(news(&mut conversation, &messages).len(), 2);
    }
    messages.truncate(60);
    messages.push(message("next"));
    assert_eq!(news(&mut conversation, &messages), [60]);
}

/// A conversation too long to be hashed from end to end.
fn long(count: usize) -> Vec<String> {
    (0..count).map(|n| message(&format!("{n} {}", "word ".repeat(200)))).collect()
}

#[test]
fn in_a_long_history_that_moved_only_the_change_is_new() {
    for (at, text) in [(65, "an old result was dropped"), (60, "longer than before, by a little"), (117, "")] {
        let mut conversation = HistoryTracker::default();
        let mut messages: Vec<String> = Vec::new();
        for next in long(120) {
            messages.push(next);
            news(&mut conversation, &messages);
        }
        messages[at] = message(text);
        assert_eq!(news(&mut conversation, &messages), [at]);
        assert!(news(&mut conversation, &messages).is_empty());
    }
}

#[test]
fn an_old_message_that_changed_in_its_place_brings_nothing_new() {
    let mut conversation = HistoryTracker::default();
    let mut messages = long(120);
    news(&mut conversation, &messages);
    let (before, after) = messages[40].split_at(500);
    messages[40] = format!("{before}{}", after.replacen("word", "term", 10));
    messages.push(message("new"));
    assert_eq!(news(&mut conversation, &messages), [120]);
}

#[test]
fn a_long_last_message_with_another_word_in_it_is_new() {
    let mut conversation = HistoryTracker::default();
    for attempt in ["attempt 1", "attempt 2"] {
        let text = format!("{}{attempt}{}", "before ".repeat(70), "after ".repeat(3000));
        let messages = [long(5), vec![message(&text)]].concat();
        assert_eq!(news(&mut conversation, &messages).last(), Some(&5), "{attempt}");
    }
}

#[test]
fn another_model_before_a_long_history_is_noticed_though_its_name_is_as_long() {
    let mut conversation = HistoryTracker::default();
    let rest = long(120).join(",");
    let system = "rules ".repeat(5000);
    for model in ["opus-1", "opus-5"] {
        let body = format!(r#"{{"system":"{system}","model":"{model}","messages":[{rest}]}}"#);
        let news = conversation.read_new(WireApi::Messages, body.as_bytes(), |_| true).expect("a conversation");
        assert_eq!(news.fields.model.as_deref(), Some(model));
    }
}

#[test]
fn a_request_that_breaks_off_changes_nothing_of_what_is_known() {
    let mut conversation = HistoryTracker::default();
    let messages = long(3);
    news(&mut conversation, &messages);
    let broken = String::from_utf8(body(&messages)).expect("text").replace("\"m\"", "\"x\"");
    assert!(conversation.read_new(WireApi::Chat, &broken.as_bytes()[..broken.len() / 2], |_| true).is_none());
    assert!(news(&mut conversation, &messages).is_empty());
}

#[test]
fn a_long_conversation_met_for_the_first_time_tells_its_recent_past() {
    let mut conversation = HistoryTracker::default();
    let messages: Vec<String> = (0..500).map(|n| message(&n.to_string())).collect();
    assert_eq!(news(&mut conversation, &messages), all(436..500));
    assert!(news(&mut conversation, &messages).is_empty());
}

#[test]
fn a_model_before_the_messages_is_remembered_and_one_behind_them_is_read() {
    let mut conversation = HistoryTracker::default();
    let ask = |tail: &str| format!(r#"{{"stream":false,"messages":[{}],"model":"{tail}"}}"#, message("x")).into_bytes();
    for model in ["a", "b"] {
        let news = conversation.read_new(WireApi::Chat, &ask(model), |_| true).unwrap();
        assert_eq!(news.fields.model.as_deref(), Some(model));
        assert!(!news.fields.tools);
    }
}

#[test]
fn strange_shapes_are_told_apart_from_short_ones() {
    for strange in ["", "[]", "{}", "{\"messages\":[", r#"{"messages":[{"a":1}"#, r#"{"model":"m"}"#, "nonsense"] {
        assert!(HistoryTracker::default().read_new(WireApi::Chat, strange.as_bytes(), |_| true).is_none(), "{strange}");
    }
    let text =
        HistoryTracker::default().read_new(WireApi::Responses, br#"{"input":"Fix it","model":"m"}"#, |_| true).unwrap();
    assert_eq!(text.messages, [MessageRef { place: 0, range: 9..17 }]);
}

#[test]
fn what_is_known_of_a_conversation_stays_small_however_many_messages_come_at_once() {
    let mut conversation = HistoryTracker::default();
    let mut messages = vec![message("start")];
    news(&mut conversation, &messages);
    messages.extend((0..60_000).map(|n| n.to_string()));
    assert_eq!(news(&mut conversation, &messages).len(), 60_000);
    assert!(conversation.hashes.size() <= 4096, "{} bytes", conversation.hashes.size());
    messages.push(message("next"));
    messages[59_990] = message("changed");
    assert_eq!(news(&mut conversation, &messages), [59_990, 60_001]);
}

#[test]
fn more_messages_than_anybody_has_to_say_pass_unread() {
    let body = |count: usize| format!(r#"{{"messages":[{}1]}}"#, "1,".repeat(count - 1));
    let read = |count| HistoryTracker::default().read_new(WireApi::Chat, body(count).as_bytes(), |_| true);
    assert_eq!(read(MAX_MESSAGES).map(|news| news.messages.len()), Some(MAX_NEW_MESSAGES));
    assert_eq!(read(MAX_MESSAGES + 1), None);
}

proptest! {
    /// For any growth and change of a conversation, no new message among the last ones is missed, and none is reported
    /// twice at its position.
    #[test]
    fn all_that_is_new_is_told_once(
        steps in prop::collection::vec((0usize..6, any::<prop::sample::Index>(), 0..4), 1..60),
        words in prop_oneof![Just(0usize), 1usize..400],
    ) {
        let mut conversation = HistoryTracker::default();
        let mut messages = vec![message("start")];
        let mut before: Vec<String> = Vec::new();
        let mut reported: Vec<Option<String>> = Vec::new();
        for (step, (more, at, change)) in steps.into_iter().enumerate() {
            for n in 0..more {
                messages.push(message(&format!("{step}.{n} {}", "word ".repeat(words))));
            }
            let at = at.index(messages.len());
            match change {
                0 => {
                    let mut changed = message(&format!("changed in {step}"));
                    // A message that keeps its position may change unnoticed.
                    if changed.len() == messages[at].len() {
                        changed = message(&format!("changed again in {step}"));
                    }
                    messages[at] = changed;
                }
                1 if messages.len() > 1 => drop(messages.remove(at)),
                2 => messages.truncate(at + 1),
                _ => {}
            }
            let fresh = news(&mut conversation, &messages);
            for place in messages.len().saturating_sub(MAX_NEW_MESSAGES)..messages.len() {
                if before.get(place) != messages.get(place) && reported.get(place).and_then(Option::as_ref) != messages.get(place) {
                    prop_assert!(fresh.contains(&place), "{place} in {step}");
                }
            }
            reported.truncate(messages.len());
            reported.resize(messages.len(), None);
            for place in fresh {
                prop_assert_ne!(reported[place].as_ref(), Some(&messages[place]), "{} in {}", place, step);
                reported[place] = Some(messages[place].clone());
            }
            prop_assert!(conversation.checkpoints.len() <= MAX_CHECKPOINTS);
            before.clone_from(&messages);
        }
    }

    #[test]
    fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = HistoryTracker::default().read_new(WireApi::Chat, &bytes, |_| true);
    }
}

#[test]
fn a_message_that_grew_is_another_one() {
    let mut conversation = HistoryTracker::default();
    conversation.read_new(WireApi::Messages, br#"{"messages":[2]}"#, |_| true).expect("a conversation");
    let news = conversation.read_new(WireApi::Messages, br#"{"messages":[22]}"#, |_| true).expect("a conversation");
    assert_eq!(news.messages, [MessageRef { place: 0, range: 13..15 }]);
}
