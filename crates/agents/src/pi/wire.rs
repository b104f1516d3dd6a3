//! pi's requests, as of 0.73: they look like those of any program that uses OpenAI's library, so pi
//! is known only by the key `belay run` gave it.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{RequestHead, RequestIdentity, WireClient};

/// The dialect.
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
