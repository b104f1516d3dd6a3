//! The hook protocol of Claude Code, which several agents share. [`ClaudeCompatible`] describes their differences.

mod response;

use belay_core::event::{
    Author, Body, Compacted, ModelFailed, PermissionRequested, PermissionSubject, Prompt, SessionEnded, SessionStarted,
    StartKind, SubAgent, TurnEnded,
};
use belay_core::{CallStatus, Excerpt, SessionKey, ToolKind};
use serde_json::{Value, json};

use super::event_builder::{HookEventBuilder, RawToolResult, call_id};
use super::{
    AgentProcess, HookInput, HookPayload, HookPoint, HookProtocol, HookReply, ParsedHook, PermissionPrompt,
    PermissionReply, Unreported, asked_text, text_of,
};
use crate::spec::HookEvent;
use crate::transcript::TranscriptFormat;

pub(crate) use crate::claude_code::transcript::tool_result::CallEnding;
pub(crate) use response::Capabilities;

/// One agent's variant of Claude Code's hook protocol.
#[derive(Debug)]
pub(crate) struct ClaudeCompatible {
    pub(crate) agent: &'static str,
    /// The agent's hook events, under its own names.
    pub(crate) events: &'static [HookEvent],
    /// Maps one of these names to Claude Code's.
    pub(crate) claude_name: fn(&'static str) -> &'static str,
    /// Whether every permission request is shown to a person.
    pub(crate) permission_asks_person: bool,
    /// Classifies a tool by name and input.
    pub(crate) kind_of: fn(&str, &Value) -> Option<ToolKind>,
    /// Whether this description of a command in a permission request has no effect.
    pub(crate) is_comment: fn(&str) -> bool,
    /// The tool that asks for the approval of a plan.
    pub(crate) plan_tool: &'static str,
    /// Fields with the id of a call, in order of preference.
    pub(crate) call_id: &'static [&'static str],
    /// The key of a sub-agent, from session id and agent id.
    pub(crate) sub_agent: fn(&str, &str) -> SessionKey,
    /// The session file of a sub-agent, from the file that its hooks name and its agent id.
    pub(crate) sub_agent_file: fn(&str, &str) -> Option<String>,
    /// Status and exit code of a call, from its response, the text of it, and whether the agent reports a failure.
    pub(crate) ending: fn(ToolKind, &Value, &str, bool) -> CallEnding,
    /// The author of a prompt; `None` if the event does not carry a prompt.
    pub(crate) author: fn(&str) -> Option<Author>,
    /// Which reply fields the agent honours.
    pub(crate) capabilities: Capabilities,
    /// The headless process, if it does not print why its session is held.
    pub(crate) hides_reason: Option<AgentProcess>,
    /// What a line of the session file tells and no hook reports.
    pub(crate) unreported: fn(&str) -> Option<Unreported>,
    /// Format of the session file.
    pub(crate) transcript: &'static dyn TranscriptFormat,
}

impl HookProtocol for ClaudeCompatible {
    fn hides_reason(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<AgentProcess> {
        let held = matches!(parsed.point, HookPoint::BeforeTool | HookPoint::Prompt) && reply.hold_reason().is_some();
        self.hides_reason.filter(|_| held)
    }

    fn parse(&self, hook: &HookInput<'_>) -> Option<ParsedHook> {
        let payload = HookPayload::parse(hook.payload)?;
        let name = payload.text(&["hook_event_name", "hookEventName"]).or(hook.event)?;
        let (event, point) = self.find_event(name)?;
        let session = payload.id(&["session_id", "sessionId"])?;
        let own = SessionKey::new(self.agent, session);
        let agent = payload.id(&["agent_id", "agentId"]);
        let child = agent.map(|agent| (self.sub_agent)(session, agent));
        // The parent reports the start and end of a sub-agent; the sub-agent reports everything else.
        let sub_agent_key = if event.starts_with("Subagent") { None } else { child.clone() };
        let mut builder =
            HookEventBuilder::new(hook, &payload, point, sub_agent_key.clone().unwrap_or_else(|| own.clone()));
        if let (Some(_), Some(agent)) = (sub_agent_key, agent) {
            let parent =
                payload.id(&["parent_agent_id", "parentAgentId"]).map(|parent| SessionKey::new(self.agent, parent));
            builder.for_sub_agent(parent.unwrap_or(own), |file| (self.sub_agent_file)(file, agent));
        }
        let notification = payload.text(&["notification_type", "notificationType"]);
        match event {
            "SessionStart" => builder.push(Body::SessionStarted(SessionStarted {
                how: start_kind(payload.text(&["source"])),
                model: payload.name(&["model"]),
                transcript: builder.transcript(),
                ..SessionStarted::default()
            })),
            "SessionEnd" => {
                let reason =
                    payload.text(&["reason"]).map(|reason| Excerpt::with_limit(reason, 64).as_str().to_owned());
                builder.push(Body::SessionEnded(SessionEnded { reason, exit_code: None }));
            }
            "UserPromptSubmit" => {
                let prompt = payload.text(&["prompt"]).unwrap_or_default();
                // Prompts of a sub-agent come from its parent.
                let by = builder.parent.as_ref().map_or_else(|| (self.author)(prompt), |_| Some(Author::Agent));
                match by {
                    Some(by) => builder.push(Body::Prompt(Prompt { by, text: Excerpt::new(prompt) })),
                    // The event announces a model request without a new prompt.
                    None => return Some(builder.before_model(event)),
                }
            }
            "PreToolUse" => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT_FIELDS));
                let call = call_id(&payload, self.call_id);
                builder.tool_called(call.clone(), (self.kind_of)(name, &input), name, &input);
                // Otherwise the permission request reports it.
                if name == self.plan_tool && !self.permission_asks_person {
                    let plan = ["summary", "plan"].iter().find_map(|field| input.get(*field)?.as_str());
                    let what = Excerpt::with_limit(plan.unwrap_or_default(), 256);
                    let subject = PermissionSubject::Plan;
                    builder.push(Body::PermissionAsked(PermissionRequested { call, what, subject }));
                }
            }
            "PostToolUse" | "PostToolUseFailure" => {
                self.tool_returned(&mut builder, &payload, event == "PostToolUseFailure", hook.exit_code)?;
            }
            "PostToolBatch" => self.tool_batch(&mut builder, &payload),
            "PermissionRequest" if self.permission_asks_person => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT_FIELDS));
                let what = Excerpt::of_input(&asked_text(name, &input), 256);
                let subject = match (self.kind_of)(name, &input) {
                    _ if name == self.plan_tool => PermissionSubject::Plan,
                    Some(ToolKind::Ask) => PermissionSubject::Question,
                    _ => PermissionSubject::Tool,
                };
                let call = call_id(&payload, self.call_id);
                if subject == PermissionSubject::Tool && self.capabilities.answers_permission {
                    let (kind, input) = ((self.kind_of)(name, &input), payload.value(INPUT_FIELDS));
                    builder.asks_permission(PermissionPrompt::new(name, kind, input, call.clone(), self.is_comment));
                }
                builder.push(Body::PermissionAsked(PermissionRequested { call, what, subject }));
            }
            "Notification" if self.is_unreported_question(notification) => {
                let what = Excerpt::with_limit(payload.text(&["message"]).unwrap_or("a question"), 256);
                let subject = match notification {
                    Some("elicitation_dialog") => PermissionSubject::Question,
                    _ => PermissionSubject::Tool,
                };
                builder.push(Body::PermissionAsked(PermissionRequested { call: None, what, subject }));
            }
            "ErrorOccurred" => {
                let message = Excerpt::new(&text_of(payload.get("error")));
                builder.push(Body::ModelFailed(ModelFailed { status: None, message, retry_at: None }));
            }
            "Stop" => builder.push(Body::TurnEnded(turn_ended(&payload, false))),
            "StopFailure" => {
                let message = Excerpt::new(payload.text(&["last_assistant_message", "error"]).unwrap_or_default());
                let status = api_status(message.as_str());
                builder.push(Body::ModelFailed(ModelFailed { status, message, retry_at: None }));
                builder.push(Body::TurnEnded(turn_ended(&payload, true)));
            }
            "SubagentStart" | "SubagentStop" => {
                let child = child?;
                let sub = SubAgent { child: child.clone(), role: payload.name(&["agent_type", "agentType"]) };
                if event == "SubagentStart" {
                    builder.push(Body::SubAgentStarted(sub));
                } else {
                    let parent = builder.key().clone();
                    builder.push(Body::SubAgentEnded(sub));
                    builder.push_for(child, Some(parent), Body::SessionEnded(SessionEnded::default()));
                }
            }
            "PreCompact" => {
                let automatic = payload.text(&["trigger"]) != Some("manual");
                builder.push(Body::Compacted(Compacted { automatic, before: None }));
            }
            _ => {}
        }
        Some(builder.finish(event))
    }

    fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        self.capabilities.encode(parsed, reply)
    }

    fn encode_permission(&self, event: &'static str, reply: PermissionReply<'_>) -> Option<Value> {
        let decision = match reply {
            PermissionReply::Allow => json!({ "behavior": "allow" }),
            PermissionReply::Deny(reason) => json!({ "behavior": "deny", "message": reason }),
        };
        Some(json!({ "hookSpecificOutput": { "hookEventName": event, "decision": decision } }))
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        Some(self.transcript)
    }

    fn unreported(&self, line: &str) -> Option<Unreported> {
        (self.unreported)(line)
    }
}

impl ClaudeCompatible {
    /// An event by either name: Claude Code's name for it, and its hook point.
    fn find_event(&self, name: &str) -> Option<(&'static str, HookPoint)> {
        self.events.iter().find_map(|event| {
            let claude_name = (self.claude_name)(event.name);
            (event.name == name || claude_name == name).then_some((claude_name, event.point))
        })
    }

    /// Whether a notification reports a question to a person that no other hook reports.
    fn is_unreported_question(&self, notification: Option<&str>) -> bool {
        match notification {
            Some("elicitation_dialog") => true,
            Some("permission_prompt") => !self.permission_asks_person,
            _ => false,
        }
    }

    fn tool_returned(
        &self,
        builder: &mut HookEventBuilder<'_>,
        payload: &HookPayload,
        failed: bool,
        known_exit_code: Option<i32>,
    ) -> Option<()> {
        let name = tool_name(payload)?;
        let input = payload.input(INPUT_FIELDS);
        let response = payload.value(if failed { &["error"] } else { RESPONSE_FIELDS });
        let kind = (self.kind_of)(name, &input);
        let text = text_of(response);
        let mut ending = (self.ending)(kind.unwrap_or_default(), response, &text, failed);
        if payload.bool("is_interrupt") {
            ending.status = CallStatus::Refused;
        }
        if let (None, Some(code)) = (ending.exit_code, known_exit_code) {
            ending.exit_code = Some(code);
            ending.status = if code == 0 { CallStatus::Ok } else { CallStatus::Error };
        }
        builder.tool_returned(RawToolResult {
            call: call_id(payload, self.call_id),
            kind,
            name,
            input: &input,
            response,
            text: &text,
            status: Some(ending.status),
            exit_code: ending.exit_code,
            duration_ms: payload.u64("duration_ms"),
        });
        Some(())
    }

    /// Reports the calls of one model response again after all of them have finished. Calls that failed validation are
    /// reported only here.
    fn tool_batch(&self, builder: &mut HookEventBuilder<'_>, payload: &HookPayload) {
        let calls = payload.get("tool_calls").as_array().map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<HookPayload> = calls.iter().take(MAX_BATCH_CALLS).filter_map(HookPayload::from_value).collect();
        builder.batch = calls.first().and_then(|call| call_id(call, self.call_id));
        for call in &calls {
            // A call without an id cannot be matched with its earlier report.
            let (Some(name), Some(id)) = (tool_name(call), call_id(call, self.call_id)) else { continue };
            let input = call.input(INPUT_FIELDS);
            let response = call.value(RESPONSE_FIELDS);
            let kind = (self.kind_of)(name, &input);
            let text = text_of(response);
            // The batch has no failure flag.
            let rejected = call.text(&["status"]) == Some("error")
                || ["<tool_use_error>", "PreToolUse:"].iter().any(|prefix| text.starts_with(prefix));
            let ending = (self.ending)(kind.unwrap_or_default(), response, &text, rejected);
            builder.tool_called(Some(id.clone()), kind, name, &input);
            builder.tool_returned(RawToolResult {
                call: Some(id),
                kind,
                name,
                input: &input,
                response,
                text: &text,
                status: Some(ending.status),
                exit_code: ending.exit_code,
                duration_ms: None,
            });
        }
    }
}

/// Fields with the input of a call.
const INPUT_FIELDS: &[&str] = &["tool_input", "toolArgs", "toolInput"];

/// Fields with the response of a tool.
const RESPONSE_FIELDS: &[&str] = &["tool_response", "toolResult", "tool_result"];

/// Maximum number of calls read from one batch.
const MAX_BATCH_CALLS: usize = 64;

fn tool_name(payload: &HookPayload) -> Option<&str> {
    payload.text(&["tool_name", "toolName"])
}

fn turn_ended(payload: &HookPayload, failed: bool) -> TurnEnded {
    let text = payload.text(&["last_assistant_message"]).unwrap_or_default();
    TurnEnded { text: Excerpt::new(text), failed, ..TurnEnded::default() }
}

/// How a session started, from the agent's `source` field.
pub(crate) fn start_kind(source: Option<&str>) -> StartKind {
    match source {
        Some("resume") => StartKind::Resumed,
        Some("clear") => StartKind::Cleared,
        Some("compact") => StartKind::Compacted,
        Some("fork" | "branch") => StartKind::Forked,
        _ => StartKind::New,
    }
}

/// The HTTP status in `API Error: 402 ...`.
fn api_status(message: &str) -> Option<u16> {
    let rest = message.split_once("API Error: ")?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|status| (100..600).contains(status))
}

/// The agent that has loaded the plugin in Claude Code's layout, from fields that only its payloads have.
pub(crate) fn detect_agent(payload: &[u8]) -> &'static str {
    let Some(payload) = HookPayload::parse(payload) else { return crate::claude_code::ID };
    let transcript = payload.text(&["transcript_path"]).unwrap_or_default();
    let file = transcript.rsplit(['/', '\\']).next().unwrap_or_default();
    if file.starts_with("rollout-") || payload.text(&["turn_id"]).is_some() {
        crate::codex::ID
    } else if payload.text(&["sessionId"]).is_some()
        || transcript.contains("session-state")
        || (transcript.is_empty() && payload.text(&["timestamp"]).is_some())
    {
        crate::copilot::ID
    } else {
        crate::claude_code::ID
    }
}
