//! pi: session files under `~/.pi/agent/sessions`, one per conversation.

mod spec;
pub mod transcript;
pub(crate) mod wire;

pub use spec::SPEC;

use belay_core::ToolKind;
use serde_json::Value;

use crate::tool_table::ToolTable;

/// Canonical agent id.
pub const ID: &str = "pi";

/// pi's built-in tools.
const TOOLS: ToolTable = ToolTable::new(&[
    ("bash", ToolKind::Shell),
    ("edit", ToolKind::Edit),
    ("find", ToolKind::Search),
    ("grep", ToolKind::Search),
    ("ls", ToolKind::Read),
    ("read", ToolKind::Read),
    ("write", ToolKind::Write),
]);

/// The kind of a tool; `None` for tools that are not built in.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TOOLS.kind_of(name, &Value::Null)
}
