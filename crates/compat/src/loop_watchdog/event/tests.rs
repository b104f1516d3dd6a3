use serde_json::json;

use super::*;

#[test]
fn each_of_the_thirty_kinds_maps_to_an_event() {
    assert_eq!(KINDS.len(), 30);
    for kind in KINDS {
        let posted = json!({"session_id": "a/b", "kind": kind, "summary": "it happened", "files": ["a.py", "b.py"],
                            "metadata": {"command": "pytest", "test_id": "t", "exit_code": 1}});
        let event = PostedEvent::from_value(&posted).unwrap().into_event("id", Timestamp::from_millis(5));
        assert_eq!(event.session.to_string(), "legacy:a/b");
        assert!(!matches!(event.body, Body::Operator(_)), "{kind} must not become a decision");
        let report = event.report.as_ref().unwrap();
        assert_eq!((report.kind.as_str(), report.summary.as_str()), (*kind, "it happened"));
        assert_eq!(report.files, ["a.py", "b.py"], "{kind}");
        let json = serde_json::to_vec(&event).unwrap();
        assert_eq!(Event::from_json(&json).unwrap(), event, "{kind} survives the store");
    }
}

#[test]
fn kinds_map_to_events_of_the_same_meaning() {
    let map = |kind: &str, more: Value| {
        let mut posted = json!({"version": "1", "session": {"watchdog_session_id": "w", "agent": "codex"},
                                "event": {"id": "x", "type": kind, "summary": "boom"}});
        posted["event"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let event = PostedEvent::from_value(&posted).unwrap().into_event("unused", Timestamp::UNKNOWN);
        assert_eq!(event.id, "x");
        event.body
    };
    let Body::CheckRan(check) = map("lint_failure", json!({})) else { panic!("a check") };
    assert_eq!((check.check, check.ok), (CheckKind::Lint, Some(false)));
    let Body::FileChanged(edit) = map("file_edit", json!({"files": ["a", "b"]})) else { panic!("a change") };
    assert_eq!(edit.path, "a");
    let Body::ToolReturned(result) = map("tool_error", json!({})) else { panic!("a result") };
    assert_eq!(result.status, CallStatus::Error);
    let Body::Note(note) = map("manual_kill", json!({})) else { panic!("a note") };
    assert_eq!(note.text.as_str(), "manual_kill: boom");
}

#[test]
fn errors_name_the_field() {
    let error = |v: Value| PostedEvent::from_value(&v).unwrap_err().to_string();
    assert_eq!(error(json!("x")), "event: must be a JSON object");
    assert_eq!(error(json!({"kind": "test_pass"})), "session_id: is missing; send session_id or identity");
    assert!(error(json!({"session_id": "s", "kind": "nope"})).starts_with("kind: `nope` is not an event kind"));
    assert_eq!(
        error(json!({"version": "99", "session": {}, "event": {}})),
        "version: \"99\" is not supported; send version \"1\""
    );
    assert!(error(json!({"session_id": "s", "kind": "test_pass", "schema_version": 0})).starts_with("schema_version"));
    assert!(error(json!({"session_id": "s", "kind": "file_edit", "files": [1]})).starts_with("files"));
}
