//! Claude Code's requests, as of 2.1.325: each names its session and, if applicable, its sub-agent.

use belay_core::event::Author;
use belay_core::{SessionKey, ToolKind};
use serde_json::Value;

use super::transcript::prompt_author::{LineFlags, UserText, classify_user_text};
use super::{ID, kind_of, sub_agent_key};
use crate::wire::{RequestHead, RequestIdentity, WireClient, version_of};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct ClaudeCodeWire;

impl WireClient for ClaudeCodeWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        let session = head.header("x-claude-code-session-id").filter(|id| !id.is_empty());
        let version = version_of(head, "claude-cli");
        if session.is_none() && version.is_none() {
            return None;
        }
        let main = session.map(|id| SessionKey::new(ID, id));
        let sub_agent = session.zip(head.header("x-claude-code-agent-id"));
        let (session, parent) = match sub_agent {
            Some((session, agent)) => (Some(sub_agent_key(session, agent)), main),
            None => (main, None),
        };
        Some(RequestIdentity { agent: ID, session, parent, version, ..RequestIdentity::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }

    fn user_prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        match classify_user_text(text, LineFlags::default()) {
            UserText::By(author) => Some((author, text)),
            UserText::Summary | UserText::Interrupted | UserText::Noise => None,
        }
    }
}
