//! pi: session files under `~/.pi/agent/sessions`, one per conversation.

pub mod transcript;
pub(crate) mod wire;

use belay_core::ToolKind;

/// Canonical agent id.
pub const ID: &str = "pi";

/// What pi's own tools do.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    Some(match name {
        "bash" => ToolKind::Shell,
        "read" | "ls" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "write" => ToolKind::Write,
        "grep" | "find" => ToolKind::Search,
        _ => return None,
    })
}
