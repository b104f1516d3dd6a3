//! Gemini CLI's requests, as of 0.61: nothing in them names the session.

use belay_core::ToolKind;
use serde_json::Value;

use super::{ID, kind_of};
use crate::wire::{Dialect, Head, Sender};

/// The dialect.
#[derive(Debug)]
pub(crate) struct Wire;

impl Dialect for Wire {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognise(&self, head: &dyn Head) -> Option<Sender> {
        let rest = head.header("user-agent")?.strip_prefix("GeminiCLI")?;
        let version = rest.split('/').nth(1).map(str::to_owned);
        Some(Sender { agent: ID, version, ..Sender::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
