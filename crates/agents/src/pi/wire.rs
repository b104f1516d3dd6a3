//! pi's requests, as of 0.73: they look like those of any program that uses OpenAI's library, so pi
//! is identified only by the key from `belay run`.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient};

/// Identifies the requests of this agent.
#[derive(Debug)]
pub(crate) struct PiWire;

impl WireClient for PiWire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn identify(&self, _: &dyn RequestHead) -> Option<RequestIdentity> {
        None
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
