//! Qwen Code's requests, as of 0.24: nothing in them names the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{Dialect, Head, Sender, version_of};

/// The dialect.
#[derive(Debug)]
pub(crate) struct Wire;

impl Dialect for Wire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognise(&self, head: &dyn Head) -> Option<Sender> {
        let version = version_of(head, "QwenCode")?;
        Some(Sender { agent: ID, version: Some(version), ..Sender::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
