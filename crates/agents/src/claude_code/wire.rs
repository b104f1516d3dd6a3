//! Claude Code's requests, as of 2.1.325: every one names its session, and its sub-agent if it is one.

use belay_core::event::Author;
use belay_core::{SessionKey, ToolKind};
use serde_json::Value;

use super::transcript::author::{Marks, Said, said};
use super::{ID, kind_of, sub_agent_key};
use crate::wire::{Dialect, Head, Sender, version_of};

/// The dialect.
#[derive(Debug)]
pub(crate) struct Wire;

impl Dialect for Wire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognise(&self, head: &dyn Head) -> Option<Sender> {
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
        Some(Sender { agent: ID, session, parent, version, ..Sender::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }

    fn prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        match said(text, Marks::default()) {
            Said::By(author) => Some((author, text)),
            Said::Summary | Said::Interrupted | Said::Noise => None,
        }
    }
}
