//! Damaged payloads from parsing to reply: no agent is denied.

use belay_ipc::HookRequest;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::scene::Scene;

/// Number of damaged payloads; the protocols alone are tested with ten thousand each.
const PAYLOADS: u32 = 2_000;

const EVENTS: &[(&str, &str)] = &[
    ("claude-code", "PreToolUse"),
    ("claude-code", "PostToolBatch"),
    ("codex", "PostToolUse"),
    ("copilot", "preToolUse"),
    ("copilot", "permissionRequest"),
    ("gemini", "BeforeModel"),
    ("gemini", "AfterTool"),
    ("opencode", "tool.execute.before"),
    ("qwen", "UserPromptSubmit"),
    ("cursor", "preToolUse"),
];

fn odd(number: u32) -> Value {
    match number % 9 {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(true),
        3 => json!("\u{0}\u{7}"),
        4 => json!("x".repeat(100_000)),
        5 => json!([[[[]]]]),
        6 => json!({ "stdout": 3, "content": [null] }),
        7 => json!(1e300),
        _ => json!("../../../etc/passwd"),
    }
}

#[test]
fn nothing_in_a_payload_holds_an_agent_back() {
    let mut scene = Scene::new();
    const FIELDS: &[&str] = &[
        "session_id",
        "sessionId",
        "sessionID",
        "conversation_id",
        "hook_event_name",
        "tool_name",
        "toolName",
        "tool",
        "tool_input",
        "toolArgs",
        "args",
        "tool_response",
        "toolResult",
        "tool_calls",
        "tool_use_id",
        "callID",
        "transcript_path",
        "timestamp",
        "prompt",
        "agent_id",
    ];
    for number in 0..PAYLOADS {
        let (agent, event) = EVENTS[number as usize % EVENTS.len()];
        let mut payload = json!({});
        for (at, field) in FIELDS.iter().enumerate() {
            let dice = number.wrapping_mul(2_654_435_761).rotate_left(at as u32 * 3) >> 7;
            payload[*field] = match dice % 4 {
                0 => odd(dice),
                1 => json!("s"),
                2 => json!({ "command": format!("echo {}", dice % 97), "file_path": "/a" }),
                _ => continue,
            };
        }
        // Text that is not JSON never gets this far: the hook process logs it.
        let payload = to_raw_value(&payload).unwrap();
        let ask = HookRequest { payload, ..scene.ask(agent, event, json!({})) };
        let answer = scene.give(&ask);
        assert_eq!(answer.stdout, "", "{agent} {event} #{number}: {}", ask.payload);
        assert_eq!(answer.interrupt, None);
    }
}
