//! Copilot CLI's built-in tools.

use belay_core::ToolKind;
use serde_json::Value;

use crate::tool_table::ToolTable;

/// The built-in tools.
pub(super) const TABLE: ToolTable = ToolTable::new(&[
    ("apply_patch", ToolKind::Edit),
    ("ask_user", ToolKind::Ask),
    ("bash", ToolKind::Shell),
    ("create", ToolKind::Write),
    ("edit", ToolKind::Edit),
    ("exit_plan_mode", ToolKind::Ask),
    ("fetch_copilot_cli_documentation", ToolKind::Read),
    ("glob", ToolKind::Search),
    ("grep", ToolKind::Search),
    ("list_agents", ToolKind::Poll),
    ("list_bash", ToolKind::Poll),
    ("powershell", ToolKind::Shell),
    ("read_agent", ToolKind::Poll),
    ("read_bash", ToolKind::Poll),
    ("read_powershell", ToolKind::Poll),
    ("report_intent", ToolKind::Plan),
    ("rg", ToolKind::Search),
    ("skill", ToolKind::Plan),
    ("sql", ToolKind::Plan),
    ("store_memory", ToolKind::Plan),
    ("str_replace_editor", ToolKind::Edit),
    ("task", ToolKind::SubAgent),
    ("task_complete", ToolKind::Finish),
    ("update_todo", ToolKind::Plan),
    ("view", ToolKind::Read),
    ("web_fetch", ToolKind::Fetch),
    ("web_search", ToolKind::Search),
    ("write_agent", ToolKind::SubAgent),
    ("write_bash", ToolKind::Shell),
    ("write_powershell", ToolKind::Shell),
]);

/// The kind of a tool; `None` for tools that are not built in.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TABLE.kind_of(name, &Value::Null)
}
