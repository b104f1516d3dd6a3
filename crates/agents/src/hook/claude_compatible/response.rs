//! Encoding replies in Claude Code's format.

use serde_json::{Map, Value, json};

use crate::hook::{HookPoint, HookReply, ParsedHook};

/// The reply fields that an agent honours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capabilities {
    /// `continue: false` at a tool call ends the turn.
    pub(crate) ends_turn: bool,
    /// A denied permission request may interrupt the agent.
    pub(crate) interrupts: bool,
    /// A denied tool call may carry a `systemMessage` for the person.
    pub(crate) shows_system_message: bool,
    /// A permission hook may answer for the person, before or while the terminal asks.
    pub(crate) answers_permission: bool,
}

impl Capabilities {
    pub(super) fn encode(&self, parsed: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let mut answer = Map::new();
        let specific = |fields: &[(&str, Value)]| {
            let mut specific = Map::from_iter([("hookEventName".to_owned(), Value::from(parsed.event))]);
            specific.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            Value::Object(specific)
        };
        let mut insert = |key: &str, value: Value| answer.insert(key.to_owned(), value);
        match (parsed.point, reply.hold_reason()) {
            (HookPoint::Prompt | HookPoint::BeforeModel, Some(reason)) => {
                insert("decision", "block".into());
                insert("reason", reason.into());
            }
            (HookPoint::BeforeTool, Some(reason)) => {
                insert("hookSpecificOutput", specific(&deny(reason)));
                if self.ends_turn {
                    insert("continue", false.into());
                    insert("stopReason", reason.into());
                }
                if self.shows_system_message {
                    insert("systemMessage", reason.into());
                }
            }
            (HookPoint::BeforeTool, None) => {
                insert("hookSpecificOutput", specific(&deny(reply.nudge_text()?)));
            }
            (HookPoint::Permission, Some(reason)) => {
                let mut decision = json!({ "behavior": "deny", "message": reason });
                if self.interrupts {
                    decision["interrupt"] = true.into();
                }
                insert("hookSpecificOutput", specific(&[("decision", decision)]));
            }
            (HookPoint::AfterBatch | HookPoint::TurnEnd, Some(reason)) => {
                insert("continue", false.into());
                insert("stopReason", reason.into());
            }
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool | HookPoint::AfterBatch, _) => {
                insert("hookSpecificOutput", specific(&[("additionalContext", reply.context_text()?.into())]));
            }
            (HookPoint::TurnEnd, None) => {
                insert("decision", "block".into());
                insert("reason", reply.continuation?.into());
            }
            (HookPoint::SessionEnd, _) => {
                insert("systemMessage", reply.person?.into());
            }
            _ => return None,
        }
        Some(Value::Object(answer))
    }
}

fn deny(reason: &str) -> [(&'static str, Value); 2] {
    [("permissionDecision", "deny".into()), ("permissionDecisionReason", reason.into())]
}
