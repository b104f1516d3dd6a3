use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use belay_config::{EnvSnapshot, PathArgs};
use belay_core::event::{OperatorDecision, SessionStarted};
use belay_core::{Body, Event, SessionKey, Source, Timestamp};
use belay_engine::{Engine, EngineOptions};
use belay_store::{Access, StoreUrl};

use super::hold::{HoldStatus, HoldWait, WaitEnd, hold_status};
use super::{HookArgs, payload, request_timeout};

fn read(args: &[&str]) -> HookArgs {
    HookArgs::parse(args.iter().map(|arg| (*arg).into()))
}

#[test]
fn invalid_arguments_are_ignored() {
    let all = read(&["copilot", "preToolUse", "--home", "/h"]);
    assert_eq!((all.agent.as_str(), all.event.as_deref()), ("copilot", Some("preToolUse")));
    assert_eq!(all.paths.home, Some(PathBuf::from("/h")));
    let odd = read(&["--what", "codex", "--home=/x", "-z", "Stop", "and", "more", "--runtime-dir", "/r"]);
    assert_eq!((odd.agent.as_str(), odd.event.as_deref()), ("codex", Some("Stop")));
    let paths = PathArgs { home: Some("/x".into()), runtime_dir: Some("/r".into()), user_config: None };
    assert_eq!(odd.paths, paths);
    assert_eq!(read(&[]), HookArgs::default());
    assert!(read(&["--home"]).paths.home.is_none());
}

#[test]
fn the_time_for_the_resident_process_is_bounded() {
    let timeout = |value: &str| request_timeout(&EnvSnapshot::from_iter([("BELAY_HOOK_TIMEOUT", value)]));
    assert_eq!(request_timeout(&EnvSnapshot::default()), Duration::from_millis(50));
    assert_eq!(timeout("200ms"), Duration::from_millis(200));
    assert_eq!(timeout("1h"), Duration::from_secs(5));
    for invalid in ["", "0s", "never", "soon", "-1s"] {
        assert_eq!(timeout(invalid), Duration::from_millis(50), "{invalid}");
    }
}

#[test]
fn a_huge_payload_retains_short_strings_and_distinguishes_long_ones() {
    let huge = |letter: &str| {
        let text = letter.repeat(6 * 1024 * 1024);
        let json = serde_json::json!({ "session_id": "s", "tool_input": { "content": text } }).to_string();
        payload::read_bounded(json.as_bytes()).expect("a payload").get().to_owned()
    };
    let (one, other) = (huge("a"), huge("b"));
    assert!(one.len() < 256 * 1024, "{} bytes are left", one.len());
    let read: serde_json::Value = serde_json::from_str(&one).expect("still JSON");
    assert_eq!(read["session_id"], "s");
    assert_eq!(one, huge("a"));
    assert_ne!(one, other);
}

#[test]
fn invalid_utf8_does_not_affect_the_other_fields() {
    let payload = payload::read_bounded(&b"{\"session_id\":\"s\",\"x\":\"\xff\xfe\"}"[..]).expect("a payload");
    let read: serde_json::Value = serde_json::from_str(payload.get()).expect("JSON");
    assert_eq!(read["session_id"], "s");
}

#[test]
fn a_payload_that_is_not_json_is_an_error() {
    for text in ["", "hello", "{\"session_id\":", "null", "[1]"] {
        let error = payload::read_bounded(text.as_bytes()).expect_err(text);
        assert!(error.to_string().starts_with("not JSON: "), "{error}");
    }
    let huge = "[".repeat(5 * 1024 * 1024);
    assert!(payload::read_bounded(huge.as_bytes()).is_err());
}

/// Fails the test if it is read beyond its text, where a pipe that stays open would block.
struct OpenPipe<'a>(&'a [u8], usize);

impl Read for OpenPipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(!self.0.is_empty(), "read beyond the end of the object");
        let length = self.1.min(self.0.len()).min(buffer.len());
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

#[test]
fn a_pipe_that_stays_open_is_read_to_the_end_of_the_object() {
    let json = "\u{feff} \n{\"session_id\":\"s\",\"text\":\"}\\\"{[\",\"list\":[{},[]]}";
    for piece in [1, 3, 7, 1000] {
        let payload = payload::read_bounded(OpenPipe(json.as_bytes(), piece)).expect("a payload");
        let read: serde_json::Value = serde_json::from_str(payload.get()).expect("JSON");
        assert_eq!(read["text"], "}\"{[");
    }
}

#[test]
fn a_payload_of_many_small_objects_is_condensed() {
    let json =
        format!("{{\"tool_response\":[{}{{}}],\"session_id\":\"s\"}}", "{\"id\":1,\"ok\":true},".repeat(200_000));
    let payload = payload::read_bounded(json.as_bytes()).expect("a payload");
    assert!(payload.get().len() < 512 * 1024, "{} bytes are left", payload.get().len());
    let read: serde_json::Value = serde_json::from_str(payload.get()).expect("JSON");
    assert_eq!(read["session_id"], "s");
}

/// A store with a session and its sub-agent.
fn store_with_sub_agent() -> (tempfile::TempDir, Engine, SessionKey, SessionKey) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Write).expect("a store");
    let mut engine = Engine::new(store, EngineOptions::default());
    let (parent, child) = (SessionKey::new("codex", "parent"), SessionKey::new("codex", "child"));
    for (key, above) in [(&parent, None), (&child, Some(&parent))] {
        let body = Body::SessionStarted(SessionStarted::default());
        let mut event = Event::new("start", key.clone(), Source::Hook, Timestamp::from_millis(1), body);
        event.parent = above.cloned();
        engine.observe(event).expect("it is recorded");
    }
    (dir, engine, parent, child)
}

#[test]
fn a_sub_agent_waits_until_its_parent_is_released() {
    let (dir, mut engine, parent, child) = store_with_sub_agent();
    let reader = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Read).expect("a reader");
    let status = || hold_status(&*reader, &child).expect("a status");
    engine.decide(&parent, OperatorDecision::Pause, "", None).expect("a pause");
    let mut wait = HoldWait::default();
    assert_eq!(wait.advance(status()), None, "the parent is held");
    let resume = OperatorDecision::RESUME;
    engine.decide(&parent, resume, "", None).expect("a resume");
    assert_eq!(wait.advance(status()), Some(WaitEnd::Released));
    engine.decide(&parent, OperatorDecision::Kill, "", None).expect("a kill");
    assert_eq!(status(), HoldStatus::Held);
}

#[test]
fn a_hold_that_the_store_does_not_show_is_a_denial() {
    let (dir, _engine, _, child) = store_with_sub_agent();
    let reader = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Read).expect("a reader");
    let free = hold_status(&*reader, &child).expect("a status");
    assert_eq!(HoldWait::default().advance(free), Some(WaitEnd::Denied), "held in memory only");
    let missing = hold_status(&*reader, &SessionKey::new("codex", "unknown")).expect("a status");
    assert_eq!(HoldWait::default().advance(missing), Some(WaitEnd::Denied));
    let mut wait = HoldWait::default();
    assert_eq!(wait.advance(HoldStatus::Held), None);
    assert_eq!(wait.advance(missing), Some(WaitEnd::Denied), "a row that is gone lifts nothing");
}
