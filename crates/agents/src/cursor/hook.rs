//! Cursor's hooks, based on its documentation; not yet tested with Cursor.
//!
//! A conversation is a session. `preToolUse` and its two counterparts cover every tool; the older events for single
//! tools would report the same again and are ignored.

use belay_core::event::{Author, Body, Prompt, SessionEnded, SessionStarted, TurnEnded};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde_json::{Value, json};

use super::ID;
use crate::hook::event_builder::{HookEventBuilder, RawToolResult, call_id};
use crate::hook::{HookInput, HookPayload, HookPoint, HookProtocol, HookReply, ParsedHook, bounded_name, text_of};
use crate::spec::HookEvent;

/// The hook protocol.
#[derive(Debug)]
pub(crate) struct CursorHooks;

/// Every event that Belay registers.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("sessionStart", HookPoint::SessionStart),
    HookEvent::new("sessionEnd", HookPoint::SessionEnd),
    HookEvent::new("beforeSubmitPrompt", HookPoint::Prompt),
    HookEvent::new("preToolUse", HookPoint::BeforeTool),
    HookEvent::new("postToolUse", HookPoint::AfterTool),
    HookEvent::new("postToolUseFailure", HookPoint::AfterTool),
    HookEvent::new("stop", HookPoint::TurnEnd),
];

impl HookProtocol for CursorHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        let payload = HookPayload::parse(hook.payload)?;
        let said = payload.text(&["hook_event_name"]).or(hook.event)?;
        let HookEvent { name: event, point, .. } = *EVENTS.iter().find(|event| event.name == said)?;
        let session = payload.id(&["conversation_id", "session_id"])?;
        let mut builder = HookEventBuilder::new(hook, &payload, point, SessionKey::new(ID, session));
        match event {
            "sessionStart" => builder.push(Body::SessionStarted(SessionStarted {
                model: payload.name(&["model"]),
                agent_version: payload.name(&["cursor_version"]),
                project: payload.get("workspace_roots").get(0).and_then(Value::as_str).and_then(bounded_name),
                ..SessionStarted::default()
            })),
            "sessionEnd" => builder.push(Body::SessionEnded(SessionEnded::default())),
            "beforeSubmitPrompt" => {
                let text = Excerpt::new(payload.text(&["prompt"]).unwrap_or_default());
                builder.push(Body::Prompt(Prompt { by: Author::Person, text }));
            }
            "preToolUse" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                builder.tool_called(call_id(&payload, &["tool_use_id"]), None, name, &input);
            }
            "postToolUse" | "postToolUseFailure" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                let failed = event == "postToolUseFailure";
                let response = payload.value(if failed { &["error_message", "error"] } else { &["tool_output"] });
                builder.tool_returned(RawToolResult {
                    call: call_id(&payload, &["tool_use_id"]),
                    kind: None,
                    name,
                    input: &input,
                    response,
                    text: &text_of(response),
                    status: failed.then_some(CallStatus::Error),
                    exit_code: None,
                    duration_ms: payload.u64("duration"),
                });
            }
            "stop" => {
                let failed = payload.text(&["status"]) == Some("error");
                builder.push(Body::TurnEnded(TurnEnded { failed, ..TurnEnded::default() }));
            }
            _ => {}
        }
        Some(builder.finish(event))
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let deny = |reason: &str| json!({ "permission": "deny", "user_message": reason, "agent_message": reason });
        match (parsed.point, reply.hold_reason()) {
            (HookPoint::BeforeTool, hold) => hold.or(reply.nudge_text()).map(deny),
            (HookPoint::Prompt, Some(reason)) => Some(json!({ "continue": false, "user_message": reason })),
            (HookPoint::SessionStart | HookPoint::AfterTool, _) => {
                reply.context_text().map(|text| json!({ "additional_context": text }))
            }
            _ => None,
        }
    }
}
