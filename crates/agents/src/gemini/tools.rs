//! What the tools of Gemini CLI and its forks do.

use belay_core::ToolKind;

const TOOLS: &[(&str, ToolKind)] = &[
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
];

/// What a tool does; `None` for tools that are not the agent's own.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    if name.starts_with("mcp__") {
        return Some(ToolKind::Mcp);
    }
    TOOLS.binary_search_by_key(&name, |(tool, _)| tool).ok().map(|at| TOOLS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_in_order_and_found() {
        assert!(TOOLS.is_sorted_by_key(|(name, _)| *name));
        assert_eq!(kind_of("run_shell_command"), Some(ToolKind::Shell));
        assert_eq!(kind_of("other"), None);
    }
}
