//! opencode's built-in tools.

use belay_core::ToolKind;
use serde_json::Value;

use crate::tool_table::ToolTable;

/// The built-in tools.
pub(super) const TABLE: ToolTable = ToolTable::new(&[
    ("apply_patch", ToolKind::Edit),
    ("bash", ToolKind::Shell),
    ("codesearch", ToolKind::Search),
    ("edit", ToolKind::Edit),
    ("glob", ToolKind::Search),
    ("grep", ToolKind::Search),
    ("invalid", ToolKind::Other),
    ("list", ToolKind::Read),
    ("lsp", ToolKind::Search),
    ("multiedit", ToolKind::Edit),
    ("patch", ToolKind::Edit),
    ("plan_enter", ToolKind::Plan),
    ("plan_exit", ToolKind::Ask),
    ("question", ToolKind::Ask),
    ("read", ToolKind::Read),
    ("skill", ToolKind::Plan),
    ("task", ToolKind::SubAgent),
    ("todoread", ToolKind::Plan),
    ("todowrite", ToolKind::Plan),
    ("webfetch", ToolKind::Fetch),
    ("websearch", ToolKind::Search),
    ("write", ToolKind::Write),
]);

/// The kind of a tool; `None` for tools that are not built in.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TABLE.kind_of(name, &Value::Null)
}
