//! No text of an event holds a secret, and ordinary names stay.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Assembled at run time so that secret scanners do not flag this file.
fn secret() -> String {
    ["ghp", "_", &"AbCdEf0123456789".repeat(3)[..36]].concat()
}

fn key(id: &str) -> Value {
    json!({"agent": "codex", "id": id})
}

/// One event of every kind with every field set. Kinds with forms that exclude each other occur once per form.
fn samples() -> Vec<Value> {
    let (digest, time) = ("0123456789abcdef", "2026-01-31T12:00:00Z");
    let usage = json!({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4});
    let said = json!({"digest": digest, "simhash": digest, "len": 7});
    let hunk = json!({"before": digest, "after": digest});
    let action = json!({"key": digest, "shape": digest, "skeleton": digest, "sketch": digest, "target": digest,
        "place": digest, "look": digest, "hunk": hunk, "check": "test", "mutates": true, "poll": true, "commits": true});
    let checks = json!({"passed": 1, "failed": 1, "failing": digest, "names": [digest]});
    let outcome = json!({"digest": digest, "sketch": digest, "len": 3, "exit_code": 1, "failed": true, "family": digest,
        "family_name": "no such file", "failure": digest, "checks": checks, "refused": true, "running": true,
        "timed_out": true, "outage": true, "empty": true, "acknowledged": true});
    let cost = json!({"tokens": 1, "cost_micros": 2});
    let caller = json!({"agent": "claude, pid 812", "processes": "812 claude"});
    let operator = |decision: Value| {
        let mut body = json!({"kind": "operator", "note": "n", "by": "anna", "caller": caller});
        body.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
        body
    };
    let bodies = [
        json!({"kind": "session_started", "how": "new", "model": "m", "agent_version": "1", "project": "/p",
            "branch": "main", "task": "t", "transcript": "/p/t.jsonl", "pid": 1}),
        json!({"kind": "session_ended", "reason": "exit", "exit_code": 0}),
        json!({"kind": "prompt", "by": "person", "text": "t"}),
        json!({"kind": "tool_called", "call": "c", "tool": {"kind": "shell", "name": "Bash"}, "action": action, "input": "ls"}),
        json!({"kind": "tool_called", "call": "c", "tool": "Bash", "input": {"command": "ls", "description": "d"}}),
        json!({"kind": "tool_returned", "call": "c", "answers": digest, "status": "ok", "exit_code": 0,
            "outcome": outcome, "output": "o", "duration_ms": 5}),
        json!({"kind": "tool_returned", "call": "c", "output": "error: no such file"}),
        json!({"kind": "learned", "call": "c", "exit_code": 1, "response": "r", "usage": usage, "model": "m"}),
        json!({"kind": "file_changed", "path": "/p/a.rs", "change": "created", "before": digest, "after": digest,
            "added": 1, "removed": 1, "call": "c"}),
        json!({"kind": "check_ran", "check": "test", "ok": false, "command": "cargo test", "passed": 1, "failed": 2,
            "failing": ["a::b", "c::d"], "failure": digest, "call": "c"}),
        json!({"kind": "committed", "sha": "abc", "files": 1}),
        json!({"kind": "model_asked", "request": "r", "model": "m", "auxiliary": false, "tail": said, "bytes": 1,
            "account": digest, "plan": "p", "unverified": true}),
        json!({"kind": "model_answered", "response": "r", "request": "q", "model": "m", "usage": usage, "stop": "end",
            "cost_micros": 1, "tool_calls": 1, "said": said, "text": "t", "degenerate": true, "auxiliary": true}),
        json!({"kind": "model_failed", "status": 500, "message": "m", "retry_at": time}),
        json!({"kind": "limit_hit", "what": "w", "resets_at": time}),
        json!({"kind": "turn_ended", "text": "t", "said": said, "failed": false, "interrupted": true}),
        json!({"kind": "waiting", "until": time, "what": "w", "all": [
            {"for": "time", "at": time}, {"for": "file", "path": "/p/done"}, {"for": "process", "pid": 1, "started": 2},
            {"for": "command", "command": "true", "dir": "/p"}, {"for": "lock", "holder": "r-1"},
            {"for": "limit", "account": "codex", "until": time}, {"for": "pause", "session": "codex:1", "reason": "r"}]}),
        json!({"kind": "wait_ended", "met": true}),
        json!({"kind": "permission_asked", "call": "c", "what": "w", "subject": "plan"}),
        json!({"kind": "permission_answered", "call": "c", "allowed": true}),
        json!({"kind": "approval_ended", "approval": "a", "how": "timed_out", "what": "w"}),
        json!({"kind": "compacted", "automatic": true, "before": 1}),
        json!({"kind": "sub_agent_started", "child": key("k"), "role": "r"}),
        json!({"kind": "sub_agent_ended", "child": key("k"), "role": "r"}),
        json!({"kind": "sub_agents_spent", "beneath": {"calls": 1, "usage": usage, "cost_micros": 1, "millis": 1}}),
        json!({"kind": "shared_spent", "day": 1, "project": cost, "account": cost}),
        json!({"kind": "task", "phase": "started", "what": "w"}),
        json!({"kind": "note", "text": "t"}),
        operator(json!({"decision": "allow", "finding": "f"})),
        operator(json!({"decision": "resume", "cooldown_secs": 1, "plan": "p", "require_plan": true, "reset": true})),
        operator(json!({"decision": "answer", "approval": "a", "answer": "allow", "hash": "h"})),
        operator(json!({"decision": "budget", "tokens": 1, "cost_micros": 1})),
        json!({"kind": "delivered", "finding": "f", "channel": "hook"}),
        json!({"kind": "tick"}),
    ];
    let common = json!({"v": 1, "id": "e", "session": key("s"), "parent": key("p"), "source": "hook", "at": time,
        "batch": "b", "cwd": "/p",
        "report": {"kind": "file_edit", "summary": "s", "files": ["/p/a.rs"], "metadata": "{}"}});
    let with_common = |body: Value| {
        let mut event = common.clone();
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        event
    };
    bodies.into_iter().map(with_common).collect()
}

/// JSON pointers of all strings.
fn string_leaves(value: &Value, at: &str, leaves: &mut Vec<String>) {
    match value {
        Value::String(_) => leaves.push(at.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| string_leaves(item, &format!("{at}/{n}"), leaves));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| string_leaves(field, &format!("{at}/{name}"), leaves));
        }
        _ => {}
    }
}

/// Whether a field of that kind only accepts certain texts.
fn is_closed(kind: &Value, leaf: &str) -> bool {
    match leaf {
        "/by" => kind == "prompt",
        "/kind" | "/source" | "/at" | "/how" | "/status" | "/check" | "/change" | "/phase" | "/decision"
        | "/channel" | "/subject" | "/answer" | "/until" | "/retry_at" | "/resets_at" | "/action/check"
        | "/tool/kind" => true,
        _ if leaf.starts_with("/all/") => ["/for", "/at", "/until"].iter().any(|closed| leaf.ends_with(closed)),
        _ => false,
    }
}

#[test]
fn no_text_of_an_event_holds_a_secret() {
    let secret = secret();
    for sample in samples() {
        let mut leaves = Vec::new();
        string_leaves(&sample, "", &mut leaves);
        for leaf in leaves {
            for text in [secret.clone(), format!("a/{secret}/b"), format!("a {}\u{1}{}", &secret[..9], &secret[9..])] {
                let mut event = sample.clone();
                *event.pointer_mut(&leaf).unwrap() = text.as_str().into();
                let parsed = [Event::from_json(event.to_string().as_bytes()), Event::from_value(event.clone())];
                for result in parsed {
                    let shown = match &result {
                        Ok(event) => serde_json::to_string(event).unwrap(),
                        Err(error) => error.to_string(),
                    };
                    let is_refused = is_closed(&sample["kind"], &leaf)
                        || text.contains('\u{1}') && ["/id", "/session/agent", "/session/id"].contains(&&*leaf);
                    assert_eq!(result.is_err(), is_refused, "{leaf} of {sample}: {shown}");
                    assert!(!shown.contains(&secret[4..]), "{leaf} of {sample}: {shown}");
                }
            }
        }
    }
}

#[test]
fn the_samples_have_every_kind_and_field() {
    let schema = schemars::schema_for!(Event).to_value();
    let samples = samples();
    for kind in EVENT_KINDS {
        let variants = schema["oneOf"].as_array().unwrap();
        let variant = variants.iter().find(|variant| variant["properties"]["kind"]["const"] == *kind).unwrap();
        let definition = variant["$ref"].as_str().map(|at| schema.pointer(at.trim_start_matches('#')).unwrap());
        let common = schema["properties"].as_object().unwrap();
        let own = definition.and_then(|definition| definition["properties"].as_object());
        assert_eq!(own.is_none(), *kind == "tick", "{variant}");
        for field in common.keys().chain(own.into_iter().flat_map(|own| own.keys())) {
            let has_field = |sample: &&Value| sample["kind"] == *kind && !sample[field].is_null();
            assert!(samples.iter().any(|sample| has_field(&sample)), "no sample of {kind} has {field}");
        }
    }
}

#[test]
fn equal_ids_stay_equal() {
    let event = |body: Value| {
        let mut event = json!({"id": "e", "session": key(&secret())});
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        Event::from_value(event).unwrap()
    };
    let asked = event(json!({"kind": "model_answered", "response": secret()}));
    let learned = event(json!({"kind": "learned", "response": secret()}));
    assert_eq!(asked.identity_text(), learned.identity_text());
    assert_eq!(asked.session, learned.session);
    assert_eq!(asked.session, SessionKey::new("codex", secret()), "a lookup finds the session");
    assert_eq!(SessionKey::parse(&format!("codex:{}", secret())), Some(asked.session));
    let other = event(json!({"kind": "model_answered", "response": secret().replace('A', "B")}));
    assert_ne!(other.identity_text(), learned.identity_text());
}

#[test]
fn long_names_are_shortened_and_stay_distinct() {
    let of = |tail: &str| {
        let mut text = "é".repeat(400) + tail;
        redact_name(&mut text);
        text
    };
    assert!(of("a").len() <= MAX_NAME_BYTES && of("a").starts_with("éé"));
    assert_ne!(of("a"), of("b"));
    let mut huge = "x".repeat(MAX_SCANNED_BYTES + 1);
    redact_path(&mut huge);
    assert_eq!(huge, redacted_id(&"x".repeat(MAX_SCANNED_BYTES + 1)));
}

#[test]
fn ordinary_names_stay() {
    for name in [
        "/home/anna/src/token-server/secrets/key-store.rs",
        r"C:\Users\anna\src\app",
        "/Users/ana ü/日本/👨‍👩‍👧/.env.local",
        "feature/sk-1234-rotate-api-keys",
        "claude-opus-5-5[1m]",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "gpt-6.1-sol",
        "mcp__github__create_pull_request",
        "toolu_01A09q90qw90lq917835lq9",
        "call_Abc123Def456Ghi789Jkl012",
        "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b",
        "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "ses_4b1c8f2e9ffeXyZ0AbCdEfGhIj",
        "0198f2c4-7d6e-7abc-8def-0123456789ab",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "tests::auth::rejects_a_wrong_password",
        "tests/test_login.py::test_token[expired-True]",
        "end_turn",
    ] {
        let mut text = name.to_owned();
        redact_name(&mut text);
        assert_eq!(text, name);
        redact_id(&mut text);
        assert_eq!(text, name);
    }
}

/// Texts of pieces that redaction reacts to.
fn hostile_texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(secret()),
        Just("key=".to_owned()),
        Just("password: ".to_owned()),
        Just("[redacted:".to_owned()),
        Just("]".to_owned()),
        Just("https://u:".to_owned()),
        Just("@host/".to_owned()),
        Just("\u{1}".to_owned()),
        Just("é".repeat(60)),
        Just("x/".repeat(400)),
        "[ -~]{0,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redaction_is_idempotent_and_bounded(text in hostile_texts()) {
        for (redact, limit) in [
            (redact_name as fn(&mut String), MAX_NAME_BYTES),
            (redact_path, MAX_PATH_BYTES),
            (redact_id, MAX_ID_BYTES),
        ] {
            let mut once = text.clone();
            redact(&mut once);
            prop_assert!(once.len() <= limit && !once.chars().any(char::is_control), "{once:?}");
            let mut twice = once.clone();
            redact(&mut twice);
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn paths_and_uuids_stay(name in "(/[a-z0-9_.-]{1,12}){1,6}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}") {
        let mut text = name.clone();
        redact_path(&mut text);
        prop_assert_eq!(&text, &name);
        redact_id(&mut text);
        prop_assert_eq!(text, name);
    }
}
