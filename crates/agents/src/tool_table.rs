//! What an agent's own tools do, as a table.

use belay_core::ToolKind;

/// Names of tools and what they do.
#[derive(Debug)]
pub(crate) struct ToolTable(&'static [(&'static str, ToolKind)]);

impl ToolTable {
    /// The rows stand in the order of their names, each once: a constant table of any other kind does not compile.
    pub(crate) const fn new(rows: &'static [(&'static str, ToolKind)]) -> Self {
        let mut row = 1;
        while row < rows.len() {
            assert!(is_before(rows[row - 1].0.as_bytes(), rows[row].0.as_bytes()), "tools are out of order");
            row += 1;
        }
        Self(rows)
    }

    /// What a tool does; `None` for one that is not in the table.
    pub(crate) fn kind_of(&self, name: &str) -> Option<ToolKind> {
        self.0.binary_search_by_key(&name, |(tool, _)| tool).ok().map(|at| self.0[at].1)
    }

    /// As [`Tools::kind_of`], for agents that name the tools of their MCP servers `mcp__<server>__<tool>`.
    pub(crate) fn kind_of_or_mcp(&self, name: &str) -> Option<ToolKind> {
        if name.starts_with("mcp__") { Some(ToolKind::Mcp) } else { self.kind_of(name) }
    }
}

const fn is_before(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const TOOLS: ToolTable =
        ToolTable::new(&[("Bash", ToolKind::Shell), ("task", ToolKind::SubAgent), ("task_x", ToolKind::Poll)]);

    #[test]
    fn tools_are_found_by_their_whole_name() {
        assert_eq!(TOOLS.kind_of("Bash"), Some(ToolKind::Shell));
        assert_eq!(TOOLS.kind_of("task_x"), Some(ToolKind::Poll));
        assert_eq!(TOOLS.kind_of("bash"), None);
        assert_eq!(TOOLS.kind_of("mcp__github__search"), None);
        assert_eq!(TOOLS.kind_of_or_mcp("mcp__github__search"), Some(ToolKind::Mcp));
        assert_eq!(TOOLS.kind_of_or_mcp("task"), Some(ToolKind::SubAgent));
    }

    #[test]
    fn each_agent_knows_its_own_tools_and_no_others() {
        let known = [
            (crate::claude_code::kind_of("Bash"), ToolKind::Shell),
            (crate::claude_code::kind_of("mcp__github__search"), ToolKind::Mcp),
            (crate::codex::kind_of("exec_command", &Value::Null), ToolKind::Shell),
            (crate::codex::kind_of("mcp__github__search", &Value::Null), ToolKind::Mcp),
            (crate::copilot::kind_of("bash"), ToolKind::Shell),
            (crate::gemini::kind_of("run_shell_command"), ToolKind::Shell),
            (crate::gemini::kind_of("mcp__github__search"), ToolKind::Mcp),
            (crate::opencode::kind_of("bash"), ToolKind::Shell),
        ];
        for (found, kind) in known {
            assert_eq!(found, Some(kind));
        }
        let unknown = [
            crate::claude_code::kind_of("bash"),
            crate::codex::kind_of("ask_question", &Value::Null),
            crate::copilot::kind_of("github-search"),
            crate::gemini::kind_of("other"),
            crate::opencode::kind_of("github_search"),
        ];
        assert_eq!(unknown, [None; 5]);
    }

    #[test]
    fn what_is_out_of_order_or_there_twice_is_no_table() {
        let twice: &[_] = &[("a", ToolKind::Read), ("a", ToolKind::Edit)];
        let back: &[_] = &[("ab", ToolKind::Read), ("a", ToolKind::Edit)];
        for rows in [twice, back] {
            assert!(std::panic::catch_unwind(|| ToolTable::new(rows)).is_err());
        }
    }
}
