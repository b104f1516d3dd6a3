//! Lines of session files, as the CLIs write them, that tell what no hook reports.

use belay_agents::hook::protocol;
use belay_core::event::{Body, PermissionSubject, StartKind};

fn unreported(agent: &str, line: &str) -> Option<Body> {
    protocol(agent, &[]).expect("a protocol").unreported(line).map(|found| found.body)
}

#[test]
fn interrupted_turns_are_found() {
    for (agent, line) in [
        (
            "claude-code",
            r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"timestamp":"2026-11-18T05:21:11.770Z"}"#,
        ),
        (
            "codex",
            r#"{"timestamp":"2026-11-18T05:21:55.461Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
        ),
        ("copilot", r#"{"type":"abort","data":{"reason":"user_initiated"},"timestamp":"2026-11-18T05:20:43.898Z"}"#),
        (
            "gemini",
            r#"{"id":"6c","timestamp":"2026-11-18T05:20:44.031Z","type":"info","content":"Request cancelled."}"#,
        ),
    ] {
        match unreported(agent, line) {
            Some(Body::TurnEnded(turn)) => assert!(turn.interrupted, "{agent}"),
            other => panic!("{agent}: {other:?}"),
        }
    }
}

#[test]
fn a_quoted_sign_is_not_a_sign() {
    for (agent, line) in [
        (
            "claude-code",
            r#"{"type":"user","message":{"role":"user","content":"What does \"[Request interrupted by user]\" mean?"}}"#,
        ),
        (
            "claude-code",
            r#"{"isSidechain":true,"type":"user","message":{"role":"user","content":"[Request interrupted by user]"}}"#,
        ),
        (
            "codex",
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"<proposed_plan>x"}]}}"#,
        ),
        (
            "codex",
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"\"turn_aborted\""}]}}"#,
        ),
        ("copilot", r#"{"type":"user.message","data":{"content":"\"abort\""}}"#),
        ("gemini", r#"{"type":"user","content":[{"text":"Request cancelled."}]}"#),
        ("gemini", "Request cancelled. {"),
        ("gemini", r#"{"type":"info","content":"Chat saved."}"#),
    ] {
        assert_eq!(unreported(agent, line), None, "{line}");
    }
}

#[test]
fn answers_plans_and_compactions_are_found() {
    let answer = |kind: &str| {
        let line =
            format!(r#"{{"type":"permission.completed","data":{{"requestId":"f2","result":{{"kind":"{kind}"}}}}}}"#);
        match unreported("copilot", &line) {
            Some(Body::PermissionAnswered(answered)) => Some(answered.allowed),
            None => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (answer("approved"), answer("denied-interactively-by-user"), answer("cancelled")),
        (Some(true), Some(false), None)
    );
    let plan = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"<proposed_plan>\n1. Fix it.\n</proposed_plan>"}]}}"#;
    match unreported("codex", plan) {
        Some(Body::PermissionAsked(asked)) => {
            assert_eq!((asked.subject, asked.what.as_str()), (PermissionSubject::Plan, "1. Fix it."));
        }
        other => panic!("{other:?}"),
    }
    for (agent, line) in [
        ("codex", r#"{"type":"compacted","payload":{"message":""}}"#),
        ("copilot", r#"{"type":"session.compaction_complete","data":{}}"#),
        ("gemini", r#"{"id":"3a","timestamp":"2026-11-18T09:31:12.745Z","type":"info","content":""}"#),
    ] {
        match unreported(agent, line) {
            Some(Body::SessionStarted(started)) => assert_eq!(started.how, StartKind::Compacted),
            other => panic!("{agent}: {other:?}"),
        }
    }
}
