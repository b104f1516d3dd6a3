//! One recorded payload in, one snapshot out: the parsed events, and the reply to every verdict.

use std::fmt::Write;

use belay_agents::hook::{HookPoint, HookReply};
use belay_core::{Event, Verdict};

use crate::support::{recorded, verdicts};

#[test]
fn every_recorded_payload_is_understood_and_answered() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for recorded in recorded() {
        let parsed = recorded.parsed();
        let whose = parsed.session.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let mut text = format!("at {:?} of {whose}\n", parsed.point);
        for event in &parsed.events {
            writeln!(text, "  {}", without_digests(event)).expect("text");
        }
        for edited in &parsed.edited {
            writeln!(text, "  edited {} by {:?}", edited.path, edited.call).expect("text");
        }
        let mut say = |name: &str, reply: HookReply<'_>| {
            let answer = recorded.protocol().encode_bytes(&parsed, &reply);
            let answer = String::from_utf8(answer).expect("text");
            writeln!(text, "{name}: {}", if answer.is_empty() { "(nothing)" } else { &answer }).expect("text");
        };
        for (name, verdict) in &verdicts() {
            say(name, HookReply { verdict, ..HookReply::ALLOW });
        }
        say("person", HookReply { person: Some("PERSON: 3 calls."), ..HookReply::ALLOW });
        say("context", HookReply { context: Some("CONTEXT: the session before you looped."), ..HookReply::ALLOW });
        if parsed.point == HookPoint::TurnEnd {
            say("continuation", HookReply { continuation: Some("CONTINUATION: go on."), ..HookReply::ALLOW });
            let hold =
                verdicts().into_iter().find(|(_, verdict)| matches!(verdict, Verdict::Hold { .. })).expect("a hold");
            say("held", HookReply { verdict: &hold.1, continuation: Some("CONTINUATION: go on."), ..HookReply::ALLOW });
        }
        insta::assert_snapshot!(format!("{}__{}", recorded.agent, recorded.name), text);
    }
}

/// Digests belong to core and change when core derives more from a text.
fn without_digests(event: &Event) -> String {
    let mut event = serde_json::to_value(event).expect("JSON");
    let object = event.as_object_mut().expect("an object");
    object.remove("action");
    object.remove("outcome");
    if let Some(answers) = object.get_mut("answers") {
        *answers = "<digest>".into();
    }
    event.to_string()
}
