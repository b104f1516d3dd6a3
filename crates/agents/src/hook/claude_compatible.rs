//! The shapes Claude Code gave the world: several agents use its payloads and its answers, with
//! small differences that a [`Family`] names.

mod response;

use belay_core::event::{
    Author, Body, Compacted, ModelFailed, PermissionRequested, Prompt, SessionEnded, SessionStarted, StartKind,
    SubAgent, TurnEnded,
};
use belay_core::{CallStatus, Excerpt, SessionKey, ToolKind};
use serde_json::Value;

use super::event_builder::{HookEventBuilder, RawToolResult, call_id};
use super::{HookInput, HookPayload, HookPoint, HookProtocol, HookReply, ParsedHook, text_of};
use crate::spec::HookEvent;
use crate::transcript::TranscriptFormat;

pub(crate) use crate::claude_code::transcript::tool_result::CallEnding;
pub(crate) use response::Capabilities;

/// What sets one member of the family apart.
#[derive(Debug)]
pub(crate) struct ClaudeCompatible {
    pub(crate) agent: &'static str,
    /// Its hook events, under its own names.
    pub(crate) events: &'static [HookEvent],
    /// Claude Code's name for one of them.
    pub(crate) claude_name: fn(&'static str) -> &'static str,
    /// Whether a permission request always means that a person is asked.
    pub(crate) permission_asks_person: bool,
    /// What its tools do.
    pub(crate) kind_of: fn(&str, &Value) -> Option<ToolKind>,
    /// Fields that hold a call's id, best first.
    pub(crate) call_id: &'static [&'static str],
    /// The session of a sub-agent.
    pub(crate) sub_agent: fn(&str, &str) -> SessionKey,
    /// The session file of a sub-agent, from the file its hooks name and its id.
    pub(crate) sub_agent_file: fn(&str, &str) -> Option<String>,
    /// How a call ended, from its answer; the last is whether the agent says that it failed.
    pub(crate) ending: fn(ToolKind, &Value, &str, bool) -> CallEnding,
    /// Who wrote a prompt; `None` when it is no prompt at all.
    pub(crate) author: fn(&str) -> Option<Author>,
    /// What its answers can do.
    pub(crate) powers: Capabilities,
    /// Its session file.
    pub(crate) transcript: &'static dyn TranscriptFormat,
}

impl HookProtocol for ClaudeCompatible {
    fn understand(&self, told: &HookInput<'_>) -> Option<ParsedHook> {
        let payload = HookPayload::parse(told.payload)?;
        let said = payload.text(&["hook_event_name", "hookEventName"]).or(told.event)?;
        let (event, moment) = self.find_event(said)?;
        let session = payload.id(&["session_id", "sessionId"])?;
        let own = SessionKey::new(self.agent, session);
        let agent = payload.id(&["agent_id", "agentId"]);
        let child = agent.map(|agent| (self.sub_agent)(session, agent));
        // The start and end of a sub-agent are told by its parent; all else it tells itself.
        let speaker = if event.starts_with("Subagent") { None } else { child.clone() };
        let mut telling = HookEventBuilder::new(told, &payload, moment, speaker.clone().unwrap_or_else(|| own.clone()));
        if let (Some(_), Some(agent)) = (speaker, agent) {
            let above = payload.id(&["parentAgentId"]).map(|above| SessionKey::new(self.agent, above));
            telling.for_session(above.unwrap_or(own), |file| (self.sub_agent_file)(file, agent));
        }
        match event {
            "SessionStart" => telling.push(Body::SessionStarted(SessionStarted {
                how: start_kind(payload.text(&["source"])),
                model: payload.name(&["model"]),
                transcript: telling.transcript(),
                ..SessionStarted::default()
            })),
            "SessionEnd" => {
                let reason =
                    payload.text(&["reason"]).map(|reason| Excerpt::with_limit(reason, 64).as_str().to_owned());
                telling.push(Body::SessionEnded(SessionEnded { reason, exit_code: None }));
            }
            "UserPromptSubmit" => {
                let prompt = payload.text(&["prompt"]).unwrap_or_default();
                // What a sub-agent is told comes from the agent above it.
                let by = telling.parent.as_ref().map_or_else(|| (self.author)(prompt), |_| Some(Author::Agent));
                match by {
                    Some(by) => telling.push(Body::Prompt(Prompt { by, text: Excerpt::new(prompt) })),
                    // A model request without a new prompt.
                    None => return Some(telling.before_model(event)),
                }
            }
            "PreToolUse" => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT_FIELDS));
                telling.tool_called(call_id(&payload, self.call_id), (self.kind_of)(name, &input), name, &input);
            }
            "PostToolUse" | "PostToolUseFailure" => {
                self.returned(&mut telling, &payload, event == "PostToolUseFailure", told.exit_code)?;
            }
            "PostToolBatch" => self.batch(&mut telling, &payload),
            "PermissionRequest" if self.permission_asks_person => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT_FIELDS));
                let what = Excerpt::with_limit(&format!("{name}: {}", text_of(&input)), 256);
                telling
                    .push(Body::PermissionAsked(PermissionRequested { call: call_id(&payload, self.call_id), what }));
            }
            "Notification" if self.asks(payload.text(&["notification_type", "notificationType"])) => {
                let what = Excerpt::with_limit(payload.text(&["message"]).unwrap_or("a question"), 256);
                telling.push(Body::PermissionAsked(PermissionRequested { call: None, what }));
            }
            "ErrorOccurred" => {
                let message = Excerpt::new(&text_of(payload.get("error")));
                telling.push(Body::ModelFailed(ModelFailed { status: None, message, retry_at: None }));
            }
            "Stop" => telling.push(Body::TurnEnded(turn_ended(&payload, false))),
            "StopFailure" => {
                let message = Excerpt::new(payload.text(&["last_assistant_message", "error"]).unwrap_or_default());
                let status = api_status(message.as_str());
                telling.push(Body::ModelFailed(ModelFailed { status, message, retry_at: None }));
                telling.push(Body::TurnEnded(turn_ended(&payload, true)));
            }
            "SubagentStart" | "SubagentStop" => {
                let child = child?;
                let sub = SubAgent { child: child.clone(), role: payload.name(&["agent_type", "agentType"]) };
                if event == "SubagentStart" {
                    telling.push(Body::SubAgentStarted(sub));
                } else {
                    let parent = telling.key().clone();
                    telling.push(Body::SubAgentEnded(sub));
                    telling.push_with_id(child, Some(parent), Body::SessionEnded(SessionEnded::default()));
                }
            }
            "PreCompact" => {
                let automatic = payload.text(&["trigger"]) != Some("manual");
                telling.push(Body::Compacted(Compacted { automatic, before: None }));
            }
            _ => {}
        }
        Some(telling.finish(event))
    }

    fn compose(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        self.powers.compose(heard, reply)
    }

    fn transcript(&self) -> Option<&'static dyn TranscriptFormat> {
        Some(self.transcript)
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

    /// Whether a notification says that a person is asked something no other hook tells of.
    fn asks(&self, notification: Option<&str>) -> bool {
        match notification {
            Some("elicitation_dialog") => true,
            Some("permission_prompt") => !self.permission_asks_person,
            _ => false,
        }
    }

    fn returned(
        &self,
        telling: &mut HookEventBuilder<'_>,
        payload: &HookPayload,
        failed: bool,
        known: Option<i32>,
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
        if let (None, Some(code)) = (ending.exit_code, known) {
            ending.exit_code = known;
            ending.status = if code == 0 { CallStatus::Ok } else { CallStatus::Error };
        }
        telling.tool_returned(RawToolResult {
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

    /// The calls of one model answer, told once more when all of them are over. Most were told one
    /// by one before; those that failed validation are told only here.
    fn batch(&self, telling: &mut HookEventBuilder<'_>, payload: &HookPayload) {
        let calls = payload.get("tool_calls").as_array().map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<HookPayload> = calls.iter().take(MAX_BATCH_CALLS).filter_map(HookPayload::of).collect();
        telling.batch = calls.first().and_then(|call| call_id(call, self.call_id));
        for call in &calls {
            // Without an id it could not be told from the same call told before.
            let (Some(name), Some(id)) = (tool_name(call), call_id(call, self.call_id)) else { continue };
            let input = call.input(INPUT_FIELDS);
            let response = call.value(RESPONSE_FIELDS);
            let kind = (self.kind_of)(name, &input);
            let text = text_of(response);
            // There is no flag here that would say so.
            let rejected = call.text(&["status"]) == Some("error")
                || ["<tool_use_error>", "PreToolUse:"].iter().any(|sign| text.starts_with(sign));
            let ending = (self.ending)(kind.unwrap_or_default(), response, &text, rejected);
            telling.tool_called(Some(id.clone()), kind, name, &input);
            telling.tool_returned(RawToolResult {
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

/// Where a call's input stands.
const INPUT_FIELDS: &[&str] = &["tool_input", "toolArgs", "toolInput"];

/// Where a tool's answer stands.
const RESPONSE_FIELDS: &[&str] = &["tool_response", "toolResult"];

/// More calls than this in one model answer are not looked at.
const MAX_BATCH_CALLS: usize = 64;

fn tool_name(payload: &HookPayload) -> Option<&str> {
    payload.text(&["tool_name", "toolName"])
}

fn turn_ended(payload: &HookPayload, failed: bool) -> TurnEnded {
    let text = payload.text(&["last_assistant_message"]).unwrap_or_default();
    TurnEnded { text: Excerpt::new(text), said: None, failed }
}

/// How a conversation began, in the words agents have for it.
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

/// Which agent has loaded our Claude-layout plugin, told by what only its payloads have.
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
