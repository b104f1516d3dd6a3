//! What Copilot CLI's own tools do.

use belay_core::ToolKind;

const TOOLS: &[(&str, ToolKind)] = &[
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
];

/// What a tool does; `None` for tools that are not Copilot's own.
pub fn kind_of(name: &str) -> Option<ToolKind> {
    TOOLS.binary_search_by_key(&name, |(tool, _)| tool).ok().map(|at| TOOLS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_in_order_and_found() {
        assert!(TOOLS.is_sorted_by_key(|(name, _)| *name));
        assert_eq!(kind_of("bash"), Some(ToolKind::Shell));
        assert_eq!(kind_of("github-search"), None);
    }
}
