//! Cursor's hooks, from its documentation only: not yet run against the real thing.
//!
//! A conversation is a session. `preToolUse` and its two counterparts cover every tool; the older
//! events for single tools would tell the same again and are passed.

use belay_core::event::{Author, Body, Prompt, SessionEnded, SessionStarted, TurnEnded};
use belay_core::{Excerpt, SessionKey, Status};
use serde_json::{Value, json};

use super::ID;
use crate::hook::telling::{Telling, ToolAnswer, call_id};
use crate::hook::{Dialect, Heard, Moment, Payload, Reply, Told, as_name, text_of};

/// The dialect.
#[derive(Debug)]
pub(crate) struct Hooks;

const EVENTS: &[(&str, Moment)] = &[
    ("sessionStart", Moment::SessionStart),
    ("sessionEnd", Moment::SessionEnd),
    ("beforeSubmitPrompt", Moment::Prompt),
    ("preToolUse", Moment::BeforeTool),
    ("postToolUse", Moment::AfterTool),
    ("postToolUseFailure", Moment::AfterTool),
    ("stop", Moment::TurnEnd),
];

impl Dialect for Hooks {
    fn agent(&self) -> &'static str {
        ID
    }

    fn understand(&self, told: &Told<'_>) -> Option<Heard> {
        let payload = Payload::parse(told.payload)?;
        let said = payload.text(&["hook_event_name"]).or(told.event)?;
        let (event, moment) = *EVENTS.iter().find(|(name, _)| *name == said)?;
        let session = payload.id(&["conversation_id", "session_id"])?;
        let mut telling = Telling::new(told, &payload, moment, SessionKey::new(ID, session));
        match event {
            "sessionStart" => telling.tell(Body::SessionStarted(SessionStarted {
                model: payload.name(&["model"]),
                agent_version: payload.name(&["cursor_version"]),
                project: payload.get("workspace_roots").get(0).and_then(Value::as_str).and_then(as_name),
                ..SessionStarted::default()
            })),
            "sessionEnd" => telling.tell(Body::SessionEnded(SessionEnded::default())),
            "beforeSubmitPrompt" => {
                let text = Excerpt::new(payload.text(&["prompt"]).unwrap_or_default());
                telling.tell(Body::Prompt(Prompt { by: Author::Person, text }));
            }
            "preToolUse" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                telling.called(call_id(&payload, &["tool_use_id"]), None, name, &input);
            }
            "postToolUse" | "postToolUseFailure" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                let failed = event == "postToolUseFailure";
                let response = payload.value(if failed { &["error_message", "error"] } else { &["tool_output"] });
                telling.returned(ToolAnswer {
                    call: call_id(&payload, &["tool_use_id"]),
                    kind: None,
                    name,
                    input: &input,
                    response,
                    text: &text_of(response),
                    status: failed.then_some(Status::Error),
                    exit_code: None,
                    duration_ms: payload.count("duration"),
                });
            }
            "stop" => {
                let failed = payload.text(&["status"]) == Some("error");
                telling.tell(Body::TurnEnded(TurnEnded { text: Excerpt::default(), said: None, failed }));
            }
            _ => {}
        }
        Some(telling.done(event))
    }

    fn compose(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Value> {
        let deny = |reason: &str| json!({ "permission": "deny", "user_message": reason, "agent_message": reason });
        match (heard.moment, reply.hold()) {
            (Moment::BeforeTool, hold) => hold.or(reply.nudge()).map(deny),
            (Moment::Prompt, Some(reason)) => Some(json!({ "continue": false, "user_message": reason })),
            (Moment::SessionStart | Moment::AfterTool, _) => {
                reply.remark().map(|text| json!({ "additional_context": text }))
            }
            _ => None,
        }
    }
}
