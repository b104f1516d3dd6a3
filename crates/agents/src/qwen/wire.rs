//! Qwen Code's requests, as of 0.24: they do not name the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient, version_of};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct QwenWire;

impl WireClient for QwenWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        let version = version_of(head, "QwenCode")?;
        Some(RequestIdentity { agent: ID, version: Some(version), ..RequestIdentity::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
