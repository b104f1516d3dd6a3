//! Behaviour of the event schema.

use serde_json::{Value, json};

use super::*;

fn refusal(value: Value) -> String {
    Event::from_value(value).unwrap_err().to_string()
}

fn called(input: Value) -> Value {
    json!({"id": "e1", "session": {"agent": "codex", "id": "s"}, "kind": "tool_called", "call": "c1",
           "tool": "bash", "input": input})
}

#[test]
fn identity_digests_are_stable() {
    let of = |body: Value| {
        let mut event = json!({"id": "e1", "session": {"agent": "codex", "id": "s"}});
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        Event::from_value(event).unwrap()
    };
    let long = "x".repeat(250);
    for (body, identity) in [
        (json!({"kind": "tick"}), "id:e1"),
        (json!({"kind": "tool_called", "call": "c1", "tool": "bash"}), "call:c1"),
        (json!({"kind": "tool_returned", "call": "c1"}), "result:c1"),
        (json!({"kind": "model_asked", "request": "r"}), "ask:r"),
        (json!({"kind": "model_answered", "response": "r"}), "answer:r"),
        (json!({"kind": "learned", "response": "r"}), "answer:r"),
        (json!({"kind": "learned", "call": "c1"}), "learned-exit:c1"),
        (json!({"kind": "committed", "sha": "abc"}), "commit:abc"),
        (json!({"kind": "model_asked", "request": long}), &format!("ask:{long}")),
    ] {
        let event = of(body);
        assert_eq!(event.identity_text(), identity);
        assert_eq!(event.identity_digest(), Digest::from_bytes(identity), "{identity}: stores are full of them");
    }
}

#[test]
fn errors_name_the_field() {
    assert_eq!(refusal(json!([1])), "event: must be a JSON object");
    assert_eq!(refusal(json!({})), "id: is missing");
    assert_eq!(refusal(json!({"id": ""})), "id: must not be empty");
    assert_eq!(refusal(json!({"id": 7})), "id: must be a text");
    assert_eq!(refusal(json!({"id": "e", "session": {"agent": "codex"}, "kind": "tick"})), "session.id: is missing");
    assert_eq!(
        refusal(json!({"id": "e", "session": {"agent": "codex", "id": "a\nb"}, "kind": "tick"})),
        "session.id: must not hold control characters"
    );
    assert_eq!(
        refusal(json!({"v": 9, "id": "e", "session": {"agent": "codex", "id": "s"}, "kind": "tick"})),
        "v: schema version 9 is not known here; this Belay reads versions 1 to 1"
    );
    let unknown = refusal(json!({"id": "e", "session": {"agent": "codex", "id": "s"}, "kind": "tool_caled"}));
    assert!(unknown.starts_with("kind: unknown variant `tool_caled`"), "{unknown}");
    let missing = refusal(json!({"id": "e", "session": {"agent": "codex", "id": "s"}, "kind": "file_changed"}));
    assert_eq!(missing, "path: missing field `path`");
    let time = refusal(json!({"id": "e", "session": {"agent": "codex", "id": "s"}, "kind": "tick", "at": "soon"}));
    assert!(time.contains("a time: RFC 3339"), "{time}");
}

#[test]
fn truncated_and_oversized_events_are_rejected() {
    let json = serde_json::to_vec(&called(json!({"command": "ls"}))).unwrap();
    for cut in 0..json.len() {
        assert!(Event::from_json(&json[..cut]).is_err(), "cut at {cut}");
    }
    let huge = vec![b' '; MAX_EVENT_BYTES + 1];
    let problem = Event::from_json(&huge).unwrap_err().to_string();
    assert!(problem.contains("send an excerpt"), "{problem}");
}

#[test]
fn complete_inputs_are_reduced_to_an_excerpt() {
    let long = "x".repeat(1 << 20);
    let event = Event::from_value(called(json!({"command": format!("echo {long}")}))).unwrap();
    let stored = serde_json::to_vec(&event).unwrap();
    assert!(stored.len() < 4096, "{} bytes", stored.len());
    let again = Event::from_json(&stored).unwrap();
    assert_eq!(again, event, "a stored event reads back as it was");
}

#[test]
fn the_same_fact_from_two_sensors_has_one_identity() {
    let hook = Event::from_value(called(json!({"command": "ls"}))).unwrap();
    let mut seen_by_proxy = called(json!({"command": "ls"}));
    seen_by_proxy["id"] = "other".into();
    seen_by_proxy["source"] = "proxy".into();
    let proxy = Event::from_value(seen_by_proxy).unwrap();
    assert_eq!(hook.identity_text(), proxy.identity_text());
    let result = json!({"id": "e2", "session": {"agent": "codex", "id": "s"}, "kind": "tool_returned", "call": "c1"});
    assert_ne!(hook.identity_text(), Event::from_value(result).unwrap().identity_text());
}

#[test]
fn usage_with_or_after_the_response_counts_once() {
    let session = json!({"agent": "codex", "id": "s"});
    let with = json!({"id": "a", "session": session, "kind": "model_answered", "response": "r1"});
    let after = json!({"id": "b", "session": session, "kind": "learned", "response": "r1", "usage": {"input": 3}});
    assert_eq!(Event::from_value(with).unwrap().identity_text(), Event::from_value(after).unwrap().identity_text());
}

#[test]
fn every_kind_is_listed_and_described() {
    let schema = schemars::schema_for!(Event).to_value().to_string();
    for kind in EVENT_KINDS {
        assert!(schema.contains(&format!("\"const\":\"{kind}\"")), "{kind} is missing in the schema");
    }
}

#[test]
fn amounts_are_bounded() {
    let huge = i64::MAX;
    let usage = json!({"input": huge, "output": huge, "cache_read": huge, "cache_write": huge});
    let cost = json!({"tokens": huge, "cost_micros": huge});
    let bodies = [
        json!({"kind": "model_answered", "usage": usage, "cost_micros": huge}),
        json!({"kind": "learned", "response": "r", "usage": usage}),
        json!({"kind": "model_asked", "bytes": huge}),
        json!({"kind": "compacted", "before": huge}),
        json!({"kind": "tool_returned", "output": "x", "duration_ms": huge}),
        json!({"kind": "sub_agents_spent", "beneath": {"calls": huge, "usage": usage, "cost_micros": huge, "millis": huge}}),
        json!({"kind": "shared_spent", "project": cost, "account": cost}),
        json!({"kind": "operator", "decision": "resume", "cooldown_secs": huge}),
        json!({"kind": "operator", "decision": "budget", "tokens": huge, "cost_micros": huge}),
    ];
    for body in bodies {
        let mut event = json!({"id": "e1", "session": {"agent": "codex", "id": "s"}});
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        for event in [Event::from_value(event.clone()), Event::from_json(event.to_string().as_bytes())] {
            let text = serde_json::to_string(&event.unwrap()).unwrap();
            assert!(text.contains(&MAX_AMOUNT.to_string()) && !text.contains(&huge.to_string()), "{text}");
        }
    }
}

#[test]
fn a_text_of_a_driver_is_no_persons_prompt_however_it_arrives() {
    let author = |by, text: &str| {
        let body = Body::Prompt(Prompt { by, text: crate::Excerpt::new(text) });
        let mut event = Event::new("e1", SessionKey::new("codex", "s"), Source::Hook, Timestamp::from_millis(1), body);
        event.redact_names();
        let Body::Prompt(prompt) = event.body else { panic!("a prompt") };
        prompt.by
    };
    let text = format!("{DRIVER_TEXT_PREFIX}g-1.7] Two tests fail.");
    for typed in [text.clone(), format!("\n  {text}"), format!("> {text}")] {
        assert_eq!(author(Author::Person, &typed), Author::Continuation, "{typed}");
    }
    assert_eq!(author(Author::Agent, &text), Author::Agent);
    assert_eq!(author(Author::Person, &format!("What does \"{text}\" mean?")), Author::Person);
    assert_eq!(author(Author::Person, "Two tests fail."), Author::Person, "a person's message has no prefix");
}
