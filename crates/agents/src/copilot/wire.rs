//! Copilot CLI's requests with a model of the user's own, as of 1.0.102: only a hint of who started
//! the turn, and nothing that names the session.

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
        head.header("x-initiator")?;
        Some(Sender { agent: ID, ..Sender::default() })
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
