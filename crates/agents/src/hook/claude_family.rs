//! The shapes Claude Code gave the world: several agents use its payloads and its answers, with
//! small differences that a [`Family`] names.

mod answer;
mod names;

use belay_core::event::{
    Author, Body, Compacted, ModelFailed, PermissionAsked, Prompt, SessionEnded, SessionStarted, StartKind, SubAgent,
    TurnEnded,
};
use belay_core::{Excerpt, SessionKey, Status, ToolKind};
use serde_json::Value;

use super::telling::{Telling, ToolAnswer, call_id};
use super::{Dialect, Heard, Payload, Reply, Told, text_of};
use crate::transcript::Format;

pub(crate) use crate::claude_code::transcript::result::Ending;
pub(crate) use answer::Powers;
pub(crate) use names::{CLAUDE, Names};

/// What sets one member of the family apart.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) agent: &'static str,
    /// Its names for the events of the family.
    pub(crate) names: &'static Names,
    /// What its tools do.
    pub(crate) kind_of: fn(&str, &Value) -> Option<ToolKind>,
    /// Fields that hold a call's id, best first.
    pub(crate) call_id: &'static [&'static str],
    /// The session of a sub-agent.
    pub(crate) sub_agent: fn(&str, &str) -> SessionKey,
    /// The session file of a sub-agent, from the file its hooks name and its id.
    pub(crate) sub_agent_file: fn(&str, &str) -> Option<String>,
    /// How a call ended, from its answer; the last is whether the agent says that it failed.
    pub(crate) ending: fn(ToolKind, &Value, &str, bool) -> Ending,
    /// Who wrote a prompt; `None` when it is no prompt at all.
    pub(crate) author: fn(&str) -> Option<Author>,
    /// What its answers can do.
    pub(crate) powers: Powers,
    /// Its session file.
    pub(crate) transcript: &'static dyn Format,
}

impl Dialect for Family {
    fn agent(&self) -> &'static str {
        self.agent
    }

    fn understand(&self, told: &Told<'_>) -> Option<Heard> {
        let payload = Payload::parse(told.payload)?;
        let said = payload.text(&["hook_event_name", "hookEventName"]).or(told.event)?;
        let (event, moment) = self.names.find(said)?;
        let session = payload.id(&["session_id", "sessionId"])?;
        let own = SessionKey::new(self.agent, session);
        let agent = payload.id(&["agent_id", "agentId"]);
        let child = agent.map(|agent| (self.sub_agent)(session, agent));
        // The start and end of a sub-agent are told by its parent; all else it tells itself.
        let speaker = if event.starts_with("Subagent") { None } else { child.clone() };
        let mut telling = Telling::new(told, &payload, moment, speaker.clone().unwrap_or_else(|| own.clone()));
        if let (Some(_), Some(agent)) = (speaker, agent) {
            let above = payload.id(&["parentAgentId"]).map(|above| SessionKey::new(self.agent, above));
            telling.speaks_for(above.unwrap_or(own), |file| (self.sub_agent_file)(file, agent));
        }
        match event {
            "SessionStart" => telling.tell(Body::SessionStarted(SessionStarted {
                how: start_kind(payload.text(&["source"])),
                model: payload.name(&["model"]),
                transcript: telling.transcript(),
                ..SessionStarted::default()
            })),
            "SessionEnd" => {
                let reason = payload.text(&["reason"]).map(|reason| Excerpt::bounded(reason, 64).as_str().to_owned());
                telling.tell(Body::SessionEnded(SessionEnded { reason, exit_code: None }));
            }
            "UserPromptSubmit" => {
                let prompt = payload.text(&["prompt"]).unwrap_or_default();
                // What a sub-agent is told comes from the agent above it.
                let by = telling.parent.as_ref().map_or_else(|| (self.author)(prompt), |_| Some(Author::Agent));
                match by {
                    Some(by) => telling.tell(Body::Prompt(Prompt { by, text: Excerpt::new(prompt) })),
                    // A model request without a new prompt.
                    None => return Some(telling.at_model(event)),
                }
            }
            "PreToolUse" => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT));
                telling.called(call_id(&payload, self.call_id), (self.kind_of)(name, &input), name, &input);
            }
            "PostToolUse" | "PostToolUseFailure" => {
                self.returned(&mut telling, &payload, event == "PostToolUseFailure", told.exit_code)?;
            }
            "PostToolBatch" => self.batch(&mut telling, &payload),
            "PermissionRequest" => {
                let (name, input) = (tool_name(&payload)?, payload.input(INPUT));
                let what = Excerpt::bounded(&format!("{name}: {}", text_of(&input)), 256);
                telling.tell(Body::PermissionAsked(PermissionAsked { call: call_id(&payload, self.call_id), what }));
            }
            "Notification" if self.asks(payload.text(&["notification_type", "notificationType"])) => {
                let what = Excerpt::bounded(payload.text(&["message"]).unwrap_or("a question"), 256);
                telling.tell(Body::PermissionAsked(PermissionAsked { call: None, what }));
            }
            "ErrorOccurred" => {
                let message = Excerpt::new(&text_of(payload.get("error")));
                telling.tell(Body::ModelFailed(ModelFailed { status: None, message, retry_at: None }));
            }
            "Stop" => telling.tell(Body::TurnEnded(turn_ended(&payload, false))),
            "StopFailure" => {
                let message = Excerpt::new(payload.text(&["last_assistant_message", "error"]).unwrap_or_default());
                let status = api_status(message.as_str());
                telling.tell(Body::ModelFailed(ModelFailed { status, message, retry_at: None }));
                telling.tell(Body::TurnEnded(turn_ended(&payload, true)));
            }
            "SubagentStart" | "SubagentStop" => {
                let child = child?;
                let sub = SubAgent { child: child.clone(), role: payload.name(&["agent_type", "agentType"]) };
                if event == "SubagentStart" {
                    telling.tell(Body::SubAgentStarted(sub));
                } else {
                    let parent = telling.key().clone();
                    telling.tell(Body::SubAgentEnded(sub));
                    telling.tell_of(child, Some(parent), Body::SessionEnded(SessionEnded::default()));
                }
            }
            "PreCompact" => {
                let automatic = payload.text(&["trigger"]) != Some("manual");
                telling.tell(Body::Compacted(Compacted { automatic, before: None }));
            }
            _ => {}
        }
        Some(telling.done(event))
    }

    fn compose(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Value> {
        self.powers.compose(heard, reply)
    }

    fn transcript(&self) -> Option<&'static dyn Format> {
        Some(self.transcript)
    }
}

impl Family {
    /// Whether a notification says that a person is asked something no other hook tells of.
    fn asks(&self, notification: Option<&str>) -> bool {
        match notification {
            Some("elicitation_dialog") => true,
            Some("permission_prompt") => !self.names.tells_permissions(),
            _ => false,
        }
    }

    fn returned(&self, telling: &mut Telling<'_>, payload: &Payload, failed: bool, known: Option<i32>) -> Option<()> {
        let name = tool_name(payload)?;
        let input = payload.input(INPUT);
        let response = payload.value(if failed { &["error"] } else { RESPONSE });
        let kind = (self.kind_of)(name, &input);
        let text = text_of(response);
        let mut ending = (self.ending)(kind.unwrap_or_default(), response, &text, failed);
        if payload.flag("is_interrupt") {
            ending.status = Status::Refused;
        }
        if let (None, Some(code)) = (ending.exit_code, known) {
            ending.exit_code = known;
            ending.status = if code == 0 { Status::Ok } else { Status::Error };
        }
        telling.returned(ToolAnswer {
            call: call_id(payload, self.call_id),
            kind,
            name,
            input: &input,
            response,
            text: &text,
            status: Some(ending.status),
            exit_code: ending.exit_code,
            duration_ms: payload.count("duration_ms"),
        });
        Some(())
    }

    /// The calls of one model answer, told once more when all of them are over. Most were told one
    /// by one before; those that failed validation are told only here.
    fn batch(&self, telling: &mut Telling<'_>, payload: &Payload) {
        let calls = payload.get("tool_calls").as_array().map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<Payload> = calls.iter().take(MAX_BATCH).filter_map(Payload::of).collect();
        telling.batch = calls.first().and_then(|call| call_id(call, self.call_id));
        for call in &calls {
            // Without an id it could not be told from the same call told before.
            let (Some(name), Some(id)) = (tool_name(call), call_id(call, self.call_id)) else { continue };
            let input = call.input(INPUT);
            let response = call.value(RESPONSE);
            let kind = (self.kind_of)(name, &input);
            let text = text_of(response);
            // There is no flag here that would say so.
            let rejected = call.text(&["status"]) == Some("error")
                || ["<tool_use_error>", "PreToolUse:"].iter().any(|sign| text.starts_with(sign));
            let ending = (self.ending)(kind.unwrap_or_default(), response, &text, rejected);
            telling.called(Some(id.clone()), kind, name, &input);
            telling.returned(ToolAnswer {
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
const INPUT: &[&str] = &["tool_input", "toolArgs", "toolInput"];

/// Where a tool's answer stands.
const RESPONSE: &[&str] = &["tool_response", "toolResult"];

/// More calls than this in one model answer are not looked at.
const MAX_BATCH: usize = 64;

fn tool_name(payload: &Payload) -> Option<&str> {
    payload.text(&["tool_name", "toolName"])
}

fn turn_ended(payload: &Payload, failed: bool) -> TurnEnded {
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
pub(crate) fn speaker(payload: &[u8]) -> &'static str {
    let Some(payload) = Payload::parse(payload) else { return crate::claude_code::ID };
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
