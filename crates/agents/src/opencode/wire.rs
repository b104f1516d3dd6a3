//! opencode's requests, as of 1.18: each names its session, including title requests.

use belay_core::{SessionKey, ToolKind};
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient, version_of};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct OpencodeWire;

impl WireClient for OpencodeWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, head: &dyn RequestHead) -> Option<RequestIdentity> {
        let version = version_of(head, "opencode")?;
        let session = head.header("x-session-id").filter(|id| !id.is_empty());
        let session = session.map(|id| SessionKey::new(ID, id));
        Some(RequestIdentity { agent: ID, session, version: Some(version), ..RequestIdentity::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
