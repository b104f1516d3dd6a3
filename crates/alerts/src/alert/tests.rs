use serde_json::json;

use super::*;

fn message(payload: Value) -> Message {
    let (id, created_at) = (1, Timestamp::from_millis(0));
    Message { id, key: "k".to_owned(), topic: "t".to_owned(), payload, created_at }
}

#[test]
fn a_quoted_command_keeps_its_invisible_characters_visible() {
    let sentence = "The same call again: `rm \u{202e}x\u{200b}y [redacted:secret]`.";
    let effect = Effect::NotifyOperator { pattern: "stall".to_owned(), sentence: sentence.to_owned() };
    let subject = Subject::from(SessionKey::new("codex", "s"));
    let payload = json!({ "v": 2, "subject": subject, "at": Timestamp::from_millis(0), "effect": effect });
    let shown = Alert::from_message(&message(payload)).unwrap().sentence;
    assert_eq!(shown, r"The same call again: `rm \u{202e}x\u{200b}y [redacted:secret]`.");
}

#[test]
fn a_message_of_version_1_is_read() {
    // Recorded from the store of a version whose payloads had a session and no version.
    let recorded: Value = serde_json::from_str(include_str!("fixtures/message-v1.json")).unwrap();
    let text = |field: &str| recorded[field].as_str().unwrap().to_owned();
    let (key, topic, payload) = (text("key"), text("topic"), recorded["payload"].clone());
    let message = Message { id: 1, key, topic, payload, created_at: Timestamp::from_millis(0) };
    let alert = Alert::from_message(&message).unwrap();
    assert_eq!((&*alert.id, alert.kind), ("msg_incident_opened_inc_9f291af1af", AlertKind::Paused));
    assert_eq!(alert.subject, Some(SessionKey::new("codex", "01a1").into()));
    assert_eq!(alert.pattern.as_deref(), Some("exact_repeat"));
    assert_eq!(alert.project.as_deref(), Some("/home/user/project"));
    assert_eq!(alert.title(), "Belay paused codex");
    assert!(alert.text().ends_with("Resume it with `belay resume codex:01a1`."), "{}", alert.text());
}

#[test]
fn a_payload_of_a_newer_version_is_an_error() {
    let payload = json!({ "v": 3, "subject": Subject::review("r-7f3k"), "at": Timestamp::from_millis(0) });
    let error = Alert::from_message(&message(payload)).unwrap_err().to_string();
    assert_eq!(error, "its version is 3; a newer belay wrote it");
}

/// The alert about a need of a review task, as it is enqueued and read again.
fn about_review(kind: NeedKind, status: &str, link: Option<&str>) -> Alert {
    let need = Need {
        subject: Subject::review("r-7f3k"),
        kind,
        since: Timestamp::from_millis(1_800_000_000_000),
        reason: format!("\"Fix the parser\": {status}"),
        project: Some("/home/user/project".to_owned()),
    };
    let NewMessage { key, topic, payload, at } = message_about(&need, link);
    Alert::from_message(&Message { id: 1, key, topic, payload, created_at: at }).unwrap()
}

#[test]
fn alerts_about_review_tasks_name_the_command_and_the_page() {
    let link = Some("http://127.0.0.1:8787/reviews/r-7f3k");
    let alerts = [
        about_review(NeedKind::Decision, "Issues are open after all 5 rounds.", link),
        about_review(NeedKind::OverBudget, "The budget is used up.", link),
        about_review(NeedKind::Finished, "Approved by Codex after 2 rounds.", link),
        about_review(NeedKind::Failed, "Failed in the build of round 1: out of memory.", None),
    ];
    let shown = |alert: &Alert| format!("{}\n{}", alert.title(), alert.text());
    insta::assert_snapshot!(alerts.each_ref().map(shown).join("\n\n"), @r#"
    Review r-7f3k needs you
    "Fix the parser": Issues are open after all 5 rounds. Details: `belay review show r-7f3k` (http://127.0.0.1:8787/reviews/r-7f3k).

    Review r-7f3k needs you
    "Fix the parser": The budget is used up. Details: `belay review show r-7f3k` (http://127.0.0.1:8787/reviews/r-7f3k).

    Review r-7f3k is done
    "Fix the parser": Approved by Codex after 2 rounds. Details: `belay review show r-7f3k` (http://127.0.0.1:8787/reviews/r-7f3k).

    Review r-7f3k failed
    "Fix the parser": Failed in the build of round 1: out of memory. Details: `belay review show r-7f3k`.
    "#);
    assert_eq!(alerts[0].id, "msg_need_review_r_7f3k_decision_1800000000000");
    assert_eq!(alerts[0].project.as_deref(), Some("/home/user/project"));
}
