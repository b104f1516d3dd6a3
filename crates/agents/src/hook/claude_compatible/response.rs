//! What the family understands in return.

use serde_json::{Map, Value, json};

use crate::hook::{HookPoint, HookReply, ParsedHook};

/// What an agent of the family makes of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capabilities {
    /// `continue: false` at a tool call ends the turn; elsewhere it is ignored or refused.
    pub(crate) ends_turn: bool,
    /// A refused permission may interrupt the agent.
    pub(crate) interrupts: bool,
    /// `systemMessage` is shown to the person.
    pub(crate) tells_person: bool,
}

impl Capabilities {
    pub(super) fn compose(&self, heard: &ParsedHook, reply: &HookReply<'_>) -> Option<Value> {
        let mut answer = Map::new();
        let specific = |fields: &[(&str, Value)]| {
            let mut specific = Map::from_iter([("hookEventName".to_owned(), Value::from(heard.event))]);
            specific.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            Value::Object(specific)
        };
        let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
        match (heard.moment, reply.hold_reason()) {
            (HookPoint::Prompt | HookPoint::BeforeModel, Some(reason)) => {
                put("decision", "block".into());
                put("reason", reason.into());
            }
            (HookPoint::BeforeTool, Some(reason)) => {
                put("hookSpecificOutput", specific(&deny(reason)));
                if self.ends_turn {
                    put("continue", false.into());
                    put("stopReason", reason.into());
                }
                if self.tells_person {
                    put("systemMessage", reason.into());
                }
            }
            (HookPoint::BeforeTool, None) => {
                put("hookSpecificOutput", specific(&deny(reply.nudge_text()?)));
            }
            (HookPoint::Permission, Some(reason)) => {
                let mut decision = json!({ "behavior": "deny", "message": reason });
                if self.interrupts {
                    decision["interrupt"] = true.into();
                }
                put("hookSpecificOutput", specific(&[("decision", decision)]));
            }
            (HookPoint::AfterBatch | HookPoint::TurnEnd, Some(reason)) => {
                put("continue", false.into());
                put("stopReason", reason.into());
            }
            (HookPoint::SessionStart | HookPoint::Prompt | HookPoint::AfterTool | HookPoint::AfterBatch, _) => {
                put("hookSpecificOutput", specific(&[("additionalContext", reply.context_text()?.into())]));
            }
            (HookPoint::SessionEnd, _) => {
                put("systemMessage", reply.person?.into());
            }
            _ => return None,
        }
        Some(Value::Object(answer))
    }
}

fn deny(reason: &str) -> [(&'static str, Value); 2] {
    [("permissionDecision", "deny".into()), ("permissionDecisionReason", reason.into())]
}
