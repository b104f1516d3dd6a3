//! Gemini CLI's hooks, as of 0.61.
//!
//! Calls have no ids, so a result is matched by the call's input. `AfterModel` fires for every streamed chunk and is not
//! registered. `PreCompress` fires before every model request, and is registered only for a compaction that a person asks
//! for; its end is in the session file, as is usage.

use std::borrow::Cow;

use belay_core::event::{
    Author, Body, Compacted, PermissionRequested, PermissionSubject, Prompt, SessionEnded, SessionStarted, TurnEnded,
};
use belay_core::{CallStatus, Excerpt, SessionKey, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ID, kind_of, output};
use crate::hook::event_builder::{HookEventBuilder, RawToolResult};
use crate::hook::{
    CallEnding, HookInput, HookPayload, HookPoint, HookProtocol, HookReply, ParsedHook, Unreported, is_id, start_kind,
    text_of,
};
use crate::spec::{HookEvent, TURN_END_TIMEOUT};
use crate::transcript::TranscriptFormat;

/// The hook protocol.
#[derive(Debug)]
pub(crate) struct GeminiHooks;

/// Every event that Belay registers.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("SessionStart", HookPoint::SessionStart),
    HookEvent::new("SessionEnd", HookPoint::SessionEnd),
    HookEvent::new("BeforeAgent", HookPoint::Prompt),
    HookEvent::new("AfterAgent", HookPoint::TurnEnd).with_timeout(TURN_END_TIMEOUT),
    HookEvent::new("BeforeModel", HookPoint::BeforeModel),
    HookEvent::new("BeforeTool", HookPoint::BeforeTool),
    HookEvent::new("AfterTool", HookPoint::AfterTool),
    HookEvent::new("Notification", HookPoint::Informational),
    HookEvent::new("PreCompress", HookPoint::Informational).only_for(ON_REQUEST),
];

/// The trigger of a compaction that a person asks for.
const ON_REQUEST: &str = "manual";

/// Hooks in the format of its settings.
pub(super) fn settings(command: &str) -> Value {
    let entry = |event: &HookEvent| {
        let hook = json!({ "type": "command", "name": "belay", "command": command, "timeout": event.timeout_millis() });
        let mut entry = json!({ "hooks": [hook] });
        if let Some(trigger) = event.matcher {
            entry["matcher"] = trigger.into();
        }
        (event.name.to_owned(), json!([entry]))
    };
    Value::Object(EVENTS.iter().map(entry).collect())
}

impl HookProtocol for GeminiHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        // This payload contains the whole conversation, possibly megabytes; only the session id is needed.
        if let Ok(request) = serde_json::from_slice::<BeforeModelPayload<'_>>(hook.payload)
            && request.hook_event_name == "BeforeModel"
            && is_id(&request.session_id)
        {
            let session = Some(SessionKey::new(ID, request.session_id));
            return Some(ParsedHook {
                point: HookPoint::BeforeModel,
                event: "BeforeModel",
                session,
                ..ParsedHook::default()
            });
        }
        let payload = HookPayload::parse(hook.payload)?;
        let said = payload.text(&["hook_event_name"]).or(hook.event)?;
        let HookEvent { name: event, point, .. } = *EVENTS.iter().find(|event| event.name == said)?;
        let session = payload.id(&["session_id"])?;
        let mut builder = HookEventBuilder::new(hook, &payload, point, SessionKey::new(ID, session));
        match event {
            "SessionStart" => builder.push(Body::SessionStarted(SessionStarted {
                how: start_kind(payload.text(&["source"])),
                transcript: builder.transcript(),
                ..SessionStarted::default()
            })),
            "SessionEnd" => {
                let reason =
                    payload.text(&["reason"]).map(|reason| Excerpt::with_limit(reason, 64).as_str().to_owned());
                builder.push(Body::SessionEnded(SessionEnded { reason, exit_code: None }));
            }
            "BeforeAgent" => {
                let text = Excerpt::new(payload.text(&["prompt"]).unwrap_or_default());
                builder.push(Body::Prompt(Prompt { by: Author::Person, text }));
            }
            "AfterAgent" => {
                // An interrupted turn has none.
                let text = payload.text(&["prompt_response"]).filter(|text| *text != "[no response text]");
                let text = Excerpt::new(text.unwrap_or_default());
                builder.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }));
            }
            "BeforeTool" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                builder.tool_called(None, kind_of(name), name, &input);
            }
            "AfterTool" => {
                let (name, input) = (payload.text(&["tool_name"])?, payload.input(&["tool_input"]));
                let response = payload.get("tool_response");
                let whole = text_of(response);
                let error = response.get("error").filter(|error| !error.is_null());
                let ending = call_ending(ToolKind::Other, &whole, error.is_some());
                let bare = output::unwrap(kind_of(name), "success", &whole);
                builder.tool_returned(RawToolResult {
                    call: None,
                    kind: kind_of(name),
                    name,
                    input: &input,
                    response: response.get("returnDisplay").unwrap_or(&Value::Null),
                    text: &bare.text,
                    status: Some(ending.status),
                    exit_code: ending.exit_code,
                    duration_ms: None,
                });
            }
            "Notification" if payload.text(&["notification_type"]) == Some("ToolPermission") => {
                let details = payload.get("details");
                let text = |names: &[&str]| names.iter().find_map(|name| details.pointer(name)?.as_str());
                let subject = match text(&["/type"]) {
                    Some("ask_user") => PermissionSubject::Question,
                    Some("exit_plan_mode") => PermissionSubject::Plan,
                    _ => PermissionSubject::Tool,
                };
                let what = text(&["/questions/0/question", "/command", "/planPath"]);
                let what = what.or(payload.text(&["message"])).unwrap_or("a tool");
                let what = Excerpt::of_input(what, 256);
                builder.push(Body::PermissionAsked(PermissionRequested { call: None, what, subject }));
            }
            "PreCompress" if payload.text(&["trigger"]) == Some(ON_REQUEST) => {
                builder.push(Body::Compacted(Compacted { automatic: false, before: None }));
            }
            _ => {}
        }
        Some(builder.finish(event))
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let context = |text: String| json!({ "hookSpecificOutput": { "hookEventName": parsed.event, "additionalContext": text } });
        match (parsed.point, reply.hold_reason()) {
            (HookPoint::Prompt | HookPoint::BeforeModel, Some(reason)) => {
                Some(json!({ "decision": "deny", "reason": reason }))
            }
            (HookPoint::BeforeTool, Some(reason)) => {
                Some(json!({ "decision": "deny", "reason": reason, "continue": false, "stopReason": reason }))
            }
            (HookPoint::BeforeTool, None) => {
                reply.nudge_text().map(|message| json!({ "decision": "deny", "reason": message }))
            }
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool, _) => {
                reply.context_text().map(context)
            }
            (HookPoint::TurnEnd, None) => reply.continuation.map(|text| json!({ "decision": "deny", "reason": text })),
            (HookPoint::SessionEnd, _) => reply.person.map(|text| json!({ "systemMessage": text })),
            _ => None,
        }
    }

    /// A turn that a person interrupted, with Esc or with "No" at a permission prompt, and the end of a compaction, which
    /// is a note without a text. No hook fires for them.
    fn unreported(&self, line: &str) -> Option<Unreported> {
        if !line.contains("\"info\"") {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        match line["content"].as_str().filter(|_| line["type"] == "info")? {
            "Request cancelled." => Some(Unreported::interrupted(&line)),
            "" => Some(Unreported::compacted(&line)),
            _ => None,
        }
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        Some(&super::transcript::GeminiLinesFormat)
    }

    fn has_api_response_ids(&self) -> bool {
        false
    }
}

/// The needed fields of a payload that contains the whole conversation.
#[derive(Deserialize)]
struct BeforeModelPayload<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    hook_event_name: Cow<'a, str>,
}

/// The ending of a call. Gemini CLI writes the exit code into the text and reports success regardless.
pub(crate) fn call_ending(_: ToolKind, text: &str, failed: bool) -> CallEnding {
    let line = |head: &str| text.lines().rev().find_map(|line| line.strip_prefix(head)).map(str::trim);
    let exit_code = line("Exit Code: ").and_then(|code| code.parse().ok());
    let said = |head: &str| line(head).is_some_and(|said| !said.is_empty() && said != "(none)");
    let status = match exit_code {
        _ if text.contains("Command timed out after")
            || text.contains("automatically cancelled because it exceeded") =>
        {
            CallStatus::TimedOut
        }
        Some(0) => CallStatus::Ok,
        Some(_) => CallStatus::Error,
        None if failed || said("Error: ") || said("Signal: ") => CallStatus::Error,
        None => CallStatus::Ok,
    };
    CallEnding { status, exit_code }
}
