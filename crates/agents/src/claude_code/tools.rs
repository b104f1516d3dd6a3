//! Claude Code's built-in tools. Names changed over versions; old ones are included.

use belay_core::ToolKind;
use serde_json::Value;

use crate::tool_table::ToolTable;

/// The built-in tools.
pub(super) const TABLE: ToolTable = ToolTable::new(&[
    ("Agent", ToolKind::SubAgent),
    ("AgentOutputTool", ToolKind::Poll),
    ("AskUserQuestion", ToolKind::Ask),
    ("Bash", ToolKind::Shell),
    ("BashOutput", ToolKind::Poll),
    ("Edit", ToolKind::Edit),
    ("EnterPlanMode", ToolKind::Plan),
    ("ExitPlanMode", ToolKind::Ask),
    ("Glob", ToolKind::Search),
    ("Grep", ToolKind::Search),
    ("LS", ToolKind::Read),
    ("LSP", ToolKind::Search),
    ("ListMcpResourcesTool", ToolKind::Mcp),
    ("Monitor", ToolKind::Poll),
    ("MultiEdit", ToolKind::Edit),
    ("NotebookEdit", ToolKind::Edit),
    ("NotebookRead", ToolKind::Read),
    ("PowerShell", ToolKind::Shell),
    ("Read", ToolKind::Read),
    ("ReadMcpResourceTool", ToolKind::Mcp),
    ("ScheduleWakeup", ToolKind::Poll),
    ("SendMessage", ToolKind::SubAgent),
    ("Skill", ToolKind::Plan),
    ("SlashCommand", ToolKind::Plan),
    ("Task", ToolKind::SubAgent),
    ("TaskCreate", ToolKind::Plan),
    ("TaskGet", ToolKind::Plan),
    ("TaskList", ToolKind::Plan),
    ("TaskOutput", ToolKind::Poll),
    ("TaskUpdate", ToolKind::Plan),
    ("TodoRead", ToolKind::Plan),
    ("TodoWrite", ToolKind::Plan),
    ("ToolSearch", ToolKind::Plan),
    ("WebFetch", ToolKind::Fetch),
    ("WebSearch", ToolKind::Search),
    ("Write", ToolKind::Write),
])
.with_mcp_prefix();

/// The kind of a tool; `None` for tools that are not built in.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TABLE.kind_of(name, &Value::Null)
}
