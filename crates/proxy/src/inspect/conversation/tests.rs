use proptest::prelude::*;

use super::*;

fn body(messages: &[String]) -> Vec<u8> {
    format!(r#"{{"model":"m","messages":[{}],"tools":[{{"name":"bash"}}],"stream":true}}"#, messages.join(","))
        .into_bytes()
}

fn message(text: &str) -> String {
    serde_json::json!({ "role": "user", "content": text }).to_string()
}

/// The new messages as text.
fn news(conversation: &mut Conversation, messages: &[String]) -> (usize, Vec<String>) {
    let body = body(messages);
    let news = conversation.read(Api::Chat, &body).unwrap();
    assert_eq!(news.fields, Fields { model: Some("m".to_owned()), stream: true, tools: true });
    let text = |range: &Range<usize>| String::from_utf8(body[range.clone()].to_vec()).unwrap();
    (news.first, news.messages.iter().map(text).collect())
}

#[test]
fn only_what_was_added_is_new() {
    let mut conversation = Conversation::default();
    let mut messages: Vec<String> = (0..3).map(|n| message(&format!("{n} \"quoted\" \\ {{[,]}}"))).collect();
    assert_eq!(news(&mut conversation, &messages), (0, messages.clone()));
    assert_eq!(news(&mut conversation, &messages), (3, Vec::new()));
    messages.push(message("new"));
    messages.push(message("newer"));
    assert_eq!(news(&mut conversation, &messages), (3, messages[3..].to_vec()));
}

#[test]
fn a_change_in_the_last_messages_brings_only_those_back() {
    let mut conversation = Conversation::default();
    let mut messages: Vec<String> = (0..20).map(|n| message(&n.to_string())).collect();
    news(&mut conversation, &messages);
    // A cache mark moves from one message to another.
    messages[18] = message("18, changed");
    messages.push(message("20"));
    assert_eq!(news(&mut conversation, &messages), (18, messages[18..].to_vec()));
}

#[test]
fn a_change_far_back_brings_back_what_follows_it() {
    let mut conversation = Conversation::default();
    let mut messages: Vec<String> = Vec::new();
    for n in 0..60 {
        messages.push(message(&n.to_string()));
        news(&mut conversation, &messages);
    }
    messages[45] = message("an old result was dropped");
    let (first, fresh) = news(&mut conversation, &messages);
    assert!((30..=45).contains(&first), "{first}");
    assert_eq!(fresh, messages[first..]);
}

/// A conversation too long to be hashed from end to end.
fn long(count: usize) -> Vec<String> {
    (0..count).map(|n| message(&format!("{n} {}", "word ".repeat(200)))).collect()
}

#[test]
fn a_long_history_that_moved_is_read_again_from_there() {
    for (at, text) in [(5, "an old result was dropped"), (60, "longer than before, by a little"), (117, "")] {
        let mut conversation = Conversation::default();
        let mut messages: Vec<String> = Vec::new();
        for next in long(120) {
            messages.push(next);
            news(&mut conversation, &messages);
        }
        messages[at] = message(text);
        let (first, fresh) = news(&mut conversation, &messages);
        assert!(first <= at.max(120 - RECENT), "{first} {at}");
        assert_eq!(fresh, messages[first..]);
        assert_eq!(news(&mut conversation, &messages).1.len(), 0);
    }
}

#[test]
fn an_old_message_that_changed_in_its_place_brings_nothing_new() {
    let mut conversation = Conversation::default();
    let mut messages = long(120);
    news(&mut conversation, &messages);
    let (before, after) = messages[40].split_at(500);
    messages[40] = format!("{before}{}", after.replacen("word", "term", 10));
    messages.push(message("new"));
    assert_eq!(news(&mut conversation, &messages), (120, messages[120..].to_vec()));
}

#[test]
fn a_long_last_message_with_another_word_in_it_is_new() {
    let mut conversation = Conversation::default();
    for attempt in ["attempt 1", "attempt 2"] {
        let text = format!("{}{attempt}{}", "before ".repeat(70), "after ".repeat(3000));
        let messages = [long(5), vec![message(&text)]].concat();
        let (_, fresh) = news(&mut conversation, &messages);
        assert_eq!(fresh.last(), messages.last(), "{attempt}");
    }
}

#[test]
fn another_model_before_a_long_history_is_noticed_though_its_name_is_as_long() {
    let mut conversation = Conversation::default();
    let rest = long(120).join(",");
    let system = "rules ".repeat(5000);
    for model in ["opus-1", "opus-5"] {
        let body = format!(r#"{{"system":"{system}","model":"{model}","messages":[{rest}]}}"#);
        let news = conversation.read(Api::Messages, body.as_bytes()).expect("a conversation");
        assert_eq!(news.fields.model.as_deref(), Some(model));
    }
}

#[test]
fn a_request_that_breaks_off_changes_nothing_of_what_is_known() {
    let mut conversation = Conversation::default();
    let messages = long(3);
    news(&mut conversation, &messages);
    let broken = String::from_utf8(body(&messages)).expect("text").replace("\"m\"", "\"x\"");
    assert!(conversation.read(Api::Chat, &broken.as_bytes()[..broken.len() / 2]).is_none());
    assert_eq!(news(&mut conversation, &messages), (3, Vec::new()));
}

#[test]
fn a_long_conversation_met_for_the_first_time_tells_its_recent_past() {
    let mut conversation = Conversation::default();
    let messages: Vec<String> = (0..500).map(|n| message(&n.to_string())).collect();
    let (first, fresh) = news(&mut conversation, &messages);
    assert_eq!((first, fresh.len()), (436, 64));
    assert_eq!(news(&mut conversation, &messages).1.len(), 0);
}

#[test]
fn a_model_before_the_messages_is_remembered_and_one_behind_them_is_read() {
    let mut conversation = Conversation::default();
    let ask = |tail: &str| format!(r#"{{"stream":false,"messages":[{}],"model":"{tail}"}}"#, message("x")).into_bytes();
    for model in ["a", "b"] {
        let news = conversation.read(Api::Chat, &ask(model)).unwrap();
        assert_eq!(news.fields.model.as_deref(), Some(model));
        assert!(!news.fields.tools);
    }
}

#[test]
fn strange_shapes_are_told_apart_from_short_ones() {
    for strange in ["", "[]", "{}", "{\"messages\":[", r#"{"messages":[{"a":1}"#, r#"{"model":"m"}"#, "nonsense"] {
        assert!(Conversation::default().read(Api::Chat, strange.as_bytes()).is_none(), "{strange}");
    }
    let text = Conversation::default().read(Api::Responses, br#"{"input":"Fix it","model":"m"}"#).unwrap();
    assert_eq!(text.messages, vec![9..17; 1]);
}

proptest! {
    /// However a conversation grows and changes, what is new begins at or before the first difference,
    /// and never skips anything.
    #[test]
    fn nothing_new_is_missed(
        steps in prop::collection::vec((0usize..6, any::<prop::sample::Index>(), any::<bool>()), 1..30),
        words in prop_oneof![Just(0usize), 1usize..400],
    ) {
        let mut conversation = Conversation::default();
        let mut messages = vec![message("start")];
        let mut before: Vec<String> = Vec::new();
        for (step, (more, at, change)) in steps.into_iter().enumerate() {
            for n in 0..more {
                messages.push(message(&format!("{step}.{n} {}", "word ".repeat(words))));
            }
            if change {
                let at = at.index(messages.len());
                let mut changed = message(&format!("changed in {step}"));
                // What keeps its place may change unseen.
                if changed.len() == messages[at].len() {
                    changed = message(&format!("changed again in {step}"));
                }
                messages[at] = changed;
            }
            let (first, fresh) = news(&mut conversation, &messages);
            let same = before.iter().zip(&messages).take_while(|(a, b)| a == b).count();
            let recent = messages.len().saturating_sub(64);
            prop_assert!(first <= same.max(recent), "{first} {same}");
            prop_assert_eq!(&fresh, &messages[first..]);
            prop_assert!(conversation.checkpoints.len() <= CHECKPOINTS);
            before.clone_from(&messages);
        }
    }

    #[test]
    fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Conversation::default().read(Api::Chat, &bytes);
    }
}

#[test]
fn a_message_that_grew_is_another_one() {
    let mut conversation = Conversation::default();
    conversation.read(Api::Messages, br#"{"messages":[2]}"#).expect("a conversation");
    let news = conversation.read(Api::Messages, br#"{"messages":[22]}"#).expect("a conversation");
    let whole = 13..15;
    assert_eq!((news.messages.first(), news.messages.len()), (Some(&whole), 1));
}
