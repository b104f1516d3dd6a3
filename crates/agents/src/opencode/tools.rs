//! What opencode's own tools do.

use belay_core::ToolKind;

const TOOLS: &[(&str, ToolKind)] = &[
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
];

/// What a tool does; `None` for tools that are not opencode's own.
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
        assert_eq!(kind_of("github_search"), None);
    }
}
