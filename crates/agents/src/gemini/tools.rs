//! The built-in tools of Gemini CLI and its forks.

use belay_core::ToolKind;
use serde_json::Value;

use crate::tool_table::ToolTable;

/// The built-in tools.
pub(crate) const TABLE: ToolTable = ToolTable::new(&[
    ("agent", ToolKind::SubAgent),
    ("ask_user", ToolKind::Ask),
    ("ask_user_question", ToolKind::Ask),
    ("complete_task", ToolKind::Finish),
    ("delegate_to_agent", ToolKind::SubAgent),
    ("edit", ToolKind::Edit),
    ("enter_plan_mode", ToolKind::Plan),
    ("exit_plan_mode", ToolKind::Ask),
    ("glob", ToolKind::Search),
    ("google_web_search", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("list_directory", ToolKind::Read),
    ("read_file", ToolKind::Read),
    ("read_many_files", ToolKind::Read),
    ("replace", ToolKind::Edit),
    ("run_shell_command", ToolKind::Shell),
    ("save_memory", ToolKind::Plan),
    ("search_file_content", ToolKind::Search),
    ("skill", ToolKind::Plan),
    ("task", ToolKind::SubAgent),
    ("todo_write", ToolKind::Plan),
    ("web_fetch", ToolKind::Fetch),
    ("web_search", ToolKind::Search),
    ("write_file", ToolKind::Write),
    ("write_todos", ToolKind::Plan),
])
.with_mcp_prefix();

/// The kind of a tool; `None` for tools that are not built in.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TABLE.kind_of(name, &Value::Null)
}
