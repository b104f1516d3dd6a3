//! opencode's hooks, as Belay's plugin (`plugins/opencode/belay.js`) reports them.
//!
//! opencode has plugins instead of hook commands. Belay's plugin passes each event to `belay hook` and applies the reply:
//! `deny` throws before the tool runs, `stop` throws before the model request and ends the run with the reason, `context`
//! is added to the system prompt, and `permission` answers a permission prompt.

use belay_core::event::{
    Author, Body, Compacted, ModelAnswered, ModelFailed, PermissionAnswered, PermissionRequested, Prompt, SessionEnded,
    SessionStarted, StartKind, TurnEnded, Usage,
};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde_json::{Value, json};

use super::{ID, kind_of};
use crate::hook::event_builder::{HookEventBuilder, RawToolResult, call_id};
use crate::hook::{
    HookInput, HookPayload, HookPoint, HookProtocol, HookReply, ParsedHook, PermissionPrompt, PermissionReply,
    bounded_name, text_of,
};
use crate::spec::{HookEvent, PERMISSION_TIMEOUT};

/// The hook protocol.
#[derive(Debug)]
pub(crate) struct OpencodeHooks;

/// Every event that Belay registers.
pub(super) const EVENTS: &[HookEvent] = &[
    HookEvent::new("session.created", HookPoint::SessionStart),
    HookEvent::new("session.deleted", HookPoint::SessionEnd),
    HookEvent::new("session.idle", HookPoint::TurnEnd),
    HookEvent::new("session.error", HookPoint::Informational),
    HookEvent::new("session.compacted", HookPoint::Informational),
    HookEvent::new("message.updated", HookPoint::Informational),
    HookEvent::new("session.compacting", HookPoint::Informational),
    HookEvent::new("permission.asked", HookPoint::Informational).with_timeout(PERMISSION_TIMEOUT),
    HookEvent::new("permission.replied", HookPoint::Informational),
    HookEvent::new("chat.message", HookPoint::Prompt),
    HookEvent::new("chat.params", HookPoint::BeforeModel),
    HookEvent::new("tool.execute.before", HookPoint::BeforeTool),
    HookEvent::new("tool.execute.after", HookPoint::AfterTool),
    HookEvent::new("tool.failed", HookPoint::AfterTool),
];

impl HookProtocol for OpencodeHooks {
    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        let payload = HookPayload::parse(hook.payload)?;
        let said = hook.event.or(payload.text(&["event"]))?;
        let HookEvent { name: event, point, .. } = *EVENTS.iter().find(|event| event.name == said)?;
        let session = payload.id(&["sessionID"])?;
        let mut builder = HookEventBuilder::new(hook, &payload, point, SessionKey::new(ID, session));
        builder.parent = payload.id(&["parentID"]).map(|parent| SessionKey::new(ID, parent));
        let info = payload.get("info");
        match event {
            "session.created" => builder.push(Body::SessionStarted(SessionStarted {
                agent_version: info.get("version").and_then(Value::as_str).and_then(bounded_name),
                ..SessionStarted::default()
            })),
            "session.deleted" => builder.push(Body::SessionEnded(SessionEnded::default())),
            "session.idle" => {
                let text = Excerpt::new(payload.text(&["text"]).unwrap_or_default());
                builder.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }));
            }
            "session.error" => {
                let error = payload.get("error");
                let name = error.get("name").and_then(Value::as_str).unwrap_or_default();
                // An abort is a decision of Belay or a person, not a failure.
                if name == "MessageAbortedError" {
                    builder.push(Body::TurnEnded(TurnEnded { interrupted: true, ..TurnEnded::default() }));
                } else {
                    let message = Excerpt::new(&text_of(error.get("data").unwrap_or(error)));
                    let status = error.pointer("/data/statusCode").and_then(Value::as_u64);
                    let status = status.and_then(|status| u16::try_from(status).ok());
                    builder.push(Body::ModelFailed(ModelFailed { status, message, retry_at: None }));
                }
            }
            "session.compacting" => builder.push(Body::Compacted(Compacted { automatic: true, before: None })),
            // The conversation continues, or `session.idle` follows.
            "session.compacted" => builder
                .push(Body::SessionStarted(SessionStarted { how: StartKind::Compacted, ..SessionStarted::default() })),
            "message.updated" => builder.push(Body::ModelAnswered(answered(info)?)),
            "permission.asked" => {
                let what = Excerpt::of_input(&text_of(payload.get("permission")), 256);
                let call = call_id(&payload, &["callID"]);
                // The plugin knows the call only if it has seen it start.
                if let (Some(name), input @ Value::Object(_)) = (payload.text(&["tool"]), payload.get("args")) {
                    builder.asks_permission(PermissionPrompt::new(name, kind_of(name), input, call.clone(), |_| true));
                }
                builder.push(Body::PermissionAsked(PermissionRequested { call, what, ..Default::default() }));
            }
            "permission.replied" => {
                let (call, reply) = (call_id(&payload, &["callID"]), payload.text(&["reply"]).unwrap_or_default());
                let allowed = reply != "reject";
                builder.push(Body::PermissionAnswered(PermissionAnswered { call, allowed }));
            }
            "chat.message" => {
                let text = Excerpt::new(&text_of(payload.get("parts")));
                let by = if builder.parent.is_some() { Author::Agent } else { Author::Person };
                builder.push(Body::Prompt(Prompt { by, text }));
            }
            "tool.execute.before" => {
                let (name, input) = (payload.text(&["tool"])?, payload.input(&["args"]));
                builder.tool_called(call_id(&payload, &["callID"]), kind_of(name), name, &input);
            }
            "tool.execute.after" | "tool.failed" => {
                let (name, input) = (payload.text(&["tool"])?, payload.input(&["args"]));
                let failed = event == "tool.failed";
                let text = text_of(payload.get(if failed { "error" } else { "output" }));
                let metadata = payload.get("metadata");
                let exit_code = metadata.get("exit").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
                let status = match exit_code {
                    _ if payload.bool("denied") => CallStatus::Refused,
                    _ if failed => CallStatus::Error,
                    Some(0) | None => CallStatus::Ok,
                    Some(_) => CallStatus::Error,
                };
                builder.tool_returned(RawToolResult {
                    call: call_id(&payload, &["callID"]),
                    kind: kind_of(name),
                    name,
                    input: &input,
                    response: metadata,
                    text: &text,
                    status: Some(status),
                    exit_code,
                    duration_ms: None,
                });
            }
            _ => {}
        }
        Some(builder.finish(event))
    }

    fn encode_permission(&self, _: &'static str, reply: PermissionReply<'_>) -> Option<Value> {
        Some(match reply {
            PermissionReply::Allow => json!({ "permission": "once" }),
            PermissionReply::Deny(reason) => json!({ "permission": "reject", "message": reason }),
        })
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        match (parsed.point, reply.hold_reason()) {
            (HookPoint::BeforeTool, Some(reason)) => Some(json!({ "deny": reason })),
            (HookPoint::BeforeModel, Some(reason)) => Some(json!({ "stop": reason })),
            (HookPoint::BeforeTool, None) => reply.nudge_text().map(|message| json!({ "deny": message })),
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool, None) => {
                reply.context_text().map(|text| json!({ "context": text }))
            }
            _ => None,
        }
    }
}

/// Usage of an assistant message that is complete.
fn answered(info: &Value) -> Option<ModelAnswered> {
    info.pointer("/time/completed")?.as_u64()?;
    let tokens = info.get("tokens")?;
    let count = |path: &str| tokens.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    Some(ModelAnswered {
        response: info.get("id").and_then(Value::as_str).and_then(bounded_name),
        model: info.get("modelID").and_then(Value::as_str).and_then(bounded_name),
        usage: Some(Usage {
            input: count("/input"),
            output: count("/output").saturating_add(count("/reasoning")),
            cache_read: count("/cache/read"),
            cache_write: count("/cache/write"),
            ..Usage::default()
        }),
        stop: info.get("finish").and_then(Value::as_str).and_then(bounded_name),
        ..ModelAnswered::default()
    })
}
