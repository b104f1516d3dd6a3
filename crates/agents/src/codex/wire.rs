//! Codex's requests, as of 0.166. A thread is a session; a sub-agent is a thread with a parent. A
//! thread's title is requested in a separate thread.

use std::collections::BTreeMap;

use belay_core::event::Author;
use belay_core::{SessionKey, ToolKind};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::transcript::user_prompt::{UserText, classify_user_text};
use super::{ID, kind_of};
use crate::wire::{FinalRefusal, RequestHead, RequestIdentity, WireClient};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct CodexWire;

/// The fields of `x-codex-turn-metadata` that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TurnMetadata {
    thread_source: String,
    parent_thread_id: Option<String>,
    workspaces: BTreeMap<String, IgnoredAny>,
}

impl WireClient for CodexWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        let user_agent = head.header("user-agent").unwrap_or_default();
        let turn = head.header("x-codex-turn-metadata");
        if turn.is_none() && !user_agent.starts_with("codex") {
            return None;
        }
        let turn: TurnMetadata = turn.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let key = |id: &str| (!id.is_empty()).then(|| SessionKey::new(ID, id));
        let auxiliary = turn.thread_source == "thread_title";
        let thread = head.header("thread-id").or(head.header("session-id")).filter(|_| !auxiliary);
        let parent = head.header("x-codex-parent-thread-id").map(str::to_owned).or(turn.parent_thread_id);
        let version = user_agent.split_once('/').and_then(|(_, rest)| rest.split(' ').next());
        Some(RequestIdentity {
            agent: ID,
            session: thread.and_then(key),
            parent: parent.as_deref().and_then(key),
            auxiliary,
            cwd: turn.workspaces.into_keys().next(),
            version: version.map(str::to_owned),
        })
    }

    fn kind_of(&self, name: &str, input: &Value) -> Option<ToolKind> {
        kind_of(name, input)
    }

    fn user_prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        match classify_user_text(text) {
            UserText::By(author) => Some((author, text)),
            UserText::Noise => None,
        }
    }

    /// Codex retries almost every error; it shows a 400 response unchanged and stops.
    fn refuse(&self, _: &str, message: &str) -> FinalRefusal {
        FinalRefusal {
            status: 400,
            headers: vec![("content-type", "text/plain; charset=utf-8")],
            body: message.to_owned(),
        }
    }
}
