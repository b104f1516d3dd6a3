use std::io::Write;

use belay_core::Event;

use super::*;
use crate::transcript::ReadStats;

fn read(text: &str) -> (Vec<Event>, ReadStats) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("one__session.jsonl");
    std::fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).expect("written");
    let mut events = Vec::new();
    let stats = ToolCallFormat.read(&path, &mut |event| events.push(event)).expect("readable");
    (events, stats)
}

const SESSION: &str = r#"{"kind":"meta","session":"s","source":"x","agent":"claude","model":"m-1"}
{"kind":"user_text","text":"fix it","ts":"2026-01-06T09:15:59.901Z"}
{"kind":"tool_call","call":0,"tool":"Read","input":"{\"file_path\":\"/a\"}","in_sha":"1","in_len":19,"ts":1767691000.5}
{"kind":"tool_call","call":1,"tool":"Read","input":{"file_path":"/b"}}
{"kind":"tool_result","call":0,"output":"a","is_error":false}
{"kind":"tool_result","call":1,"output":"no such file","is_error":true}
{"kind":"assistant_text","text":"done","tokens":3}
{"kind":"tool_call","call":2,"tool":"run","input":"ls"}
"#;

#[test]
fn a_session_is_told_in_order_under_its_file_name() {
    let (events, stats) = read(SESSION);
    assert_eq!(stats.damaged_lines(), 0);
    let kinds: Vec<&str> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(
        kinds,
        [
            "session_started",
            "prompt",
            "tool_called",
            "tool_called",
            "tool_returned",
            "tool_returned",
            "model_answered",
            "tool_called"
        ]
    );
    assert!(events.iter().all(|e| e.session == SessionKey::new("claude-code", "one__session.jsonl")));
    assert_eq!(events[2].at.millis(), 1_767_691_000_500);
    assert_eq!(events[3].at, events[2].at, "without a time of its own a line has that of the one before");
}

#[test]
fn calls_made_side_by_side_are_one_batch() {
    let (events, _) = read(SESSION);
    assert_eq!(events[2].batch, events[3].batch);
    assert!(events[2].batch.is_some());
    assert_ne!(events[7].batch, events[2].batch);
}

#[test]
fn input_as_text_and_as_json_are_the_same_call() {
    let called = |line: &str| {
        let (events, _) = read(line);
        let Body::ToolCalled(call) = events[0].body.clone() else { panic!("a call") };
        call
    };
    let text = called(r#"{"kind":"tool_call","call":0,"tool":"Read","input":"{\"file_path\":\"/a\"}"}"#);
    let json = called(r#"{"kind":"tool_call","call":0,"tool":"Read","input":{"file_path":"/a"}}"#);
    assert_eq!(text.action, json.action);
}

#[test]
fn excerpts_of_different_inputs_stay_different() {
    let called = |sha: &str| {
        let (events, _) = read(&format!(
            r#"{{"kind":"tool_call","call":0,"tool":"run","input":"cat a [...] z","in_sha":"{sha}","in_len":9000}}"#
        ));
        let Body::ToolCalled(call) = &events[0].body else { panic!("a call") };
        call.action.key
    };
    assert_ne!(called("aa"), called("bb"));
    assert_eq!(called("aa"), called("aa"));
}

#[test]
fn unknown_lines_pass_and_damaged_ones_are_counted() {
    let (events, stats) =
        read("{\"kind\":\"novelty\"}\n{\"kind\":\"user_te\n{\"kind\":\"user_text\",\"text\":\"hi\"}\n\0\0\n");
    assert_eq!(events.len(), 1);
    assert_eq!((stats.unknown, stats.broken, stats.binary), (1, 1, 1));
    assert_eq!(stats.errors, [(2, LineError::Malformed), (4, LineError::Binary)]);
}

#[test]
fn the_format_is_recognised_by_its_first_line() {
    let path = Path::new("x.jsonl");
    assert!(ToolCallFormat.recognises(path, SESSION.as_bytes()));
    assert!(!ToolCallFormat.recognises(path, br#"{"type":"user","message":{}}"#));
    assert!(!ToolCallFormat.recognises(path, b"plain text"));
}
