//! pi's requests, as of 0.73: they look like those of any program that uses OpenAI's library, so pi
//! is known only by the key `belay run` gave it.

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

    fn recognise(&self, _: &dyn Head) -> Option<Sender> {
        None
    }

    fn kind_of(&self, name: &str, _: &Value) -> Option<ToolKind> {
        kind_of(name)
    }
}
