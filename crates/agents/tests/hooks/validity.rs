//! The reply formats that each agent accepts, specified independently of the encoder.

use serde_json::Value;

/// Fields an agent reads at the top of an answer, and inside `hookSpecificOutput`.
struct Grammar {
    top: &'static [&'static str],
    specific: &'static [&'static str],
}

fn grammar(agent: &str) -> Grammar {
    match agent {
        "claude-code" | "codex" | "qwen" => Grammar {
            top: &["continue", "stopReason", "decision", "reason", "systemMessage", "hookSpecificOutput"],
            specific: &[
                "hookEventName",
                "permissionDecision",
                "permissionDecisionReason",
                "additionalContext",
                "decision",
            ],
        },
        "gemini" => Grammar {
            top: &["continue", "stopReason", "decision", "reason", "systemMessage", "hookSpecificOutput"],
            specific: &["hookEventName", "additionalContext"],
        },
        "copilot" => Grammar {
            top: &[
                "permissionDecision",
                "permissionDecisionReason",
                "modifiedArgs",
                "behavior",
                "message",
                "interrupt",
                "decision",
                "reason",
                "additionalContext",
            ],
            specific: &[],
        },
        "opencode" => Grammar { top: &["deny", "stop", "context"], specific: &[] },
        "cursor" => Grammar {
            top: &["permission", "user_message", "agent_message", "continue", "additional_context"],
            specific: &[],
        },
        other => panic!("no grammar for {other}"),
    }
}

/// Panics if the agent would not accept this reply. Returns whether it denies.
pub(crate) fn check(agent: &str, event: &str, answer: &[u8]) -> bool {
    if answer.is_empty() {
        return false;
    }
    let answer: Value = serde_json::from_slice(answer).expect("an answer is JSON");
    let answer = answer.as_object().expect("an answer is an object");
    let grammar = grammar(agent);
    for key in answer.keys() {
        assert!(grammar.top.contains(&key.as_str()), "{agent} does not know `{key}`");
    }
    if let Some(specific) = answer.get("hookSpecificOutput") {
        let specific = specific.as_object().expect("an object");
        for key in specific.keys() {
            assert!(grammar.specific.contains(&key.as_str()), "{agent} does not know `{key}` there");
        }
        assert_eq!(specific.get("hookEventName").and_then(Value::as_str), Some(event), "the event must be repeated");
    }
    let specific = answer.get("hookSpecificOutput");
    let is = |value: Option<&Value>, word: &str| value.and_then(Value::as_str) == Some(word);
    is(answer.get("decision"), "block")
        || is(answer.get("decision"), "deny")
        || is(answer.get("permissionDecision"), "deny")
        || is(answer.get("behavior"), "deny")
        || is(answer.get("permission"), "deny")
        || is(specific.and_then(|s| s.get("permissionDecision")), "deny")
        || is(specific.and_then(|s| s.pointer("/decision/behavior")), "deny")
        || answer.get("continue") == Some(&Value::Bool(false))
        || ["deny", "stop", "modifiedArgs"].iter().any(|key| answer.contains_key(*key))
}
