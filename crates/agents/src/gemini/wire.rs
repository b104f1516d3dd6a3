//! Gemini CLI's requests, as of 0.61: they do not name the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct GeminiWire;

impl WireClient for GeminiWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        let rest = head.header("user-agent")?.strip_prefix("GeminiCLI")?;
        let version = rest.split('/').nth(1).map(str::to_owned);
        Some(RequestIdentity { agent: ID, version, ..RequestIdentity::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
