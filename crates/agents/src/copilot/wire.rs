//! Copilot CLI's requests with a model of the user's own, as of 1.0.102: only a hint of who started
//! the turn, and nothing that names the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient};

/// The dialect.
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
