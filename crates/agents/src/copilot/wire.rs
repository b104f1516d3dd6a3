//! Copilot CLI's requests to a custom model provider, as of 1.0.102: they state who initiated the turn, but do not name
//! the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct CopilotWire;

impl WireClient for CopilotWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        head.header("x-initiator")?;
        Some(RequestIdentity { agent: ID, ..RequestIdentity::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
