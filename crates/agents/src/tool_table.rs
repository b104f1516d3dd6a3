//! Classification of an agent's built-in tools.

use belay_core::ToolKind;
use serde_json::Value;

/// Kinds of an agent's built-in tools by name.
#[derive(Debug)]
pub struct ToolTable {
    rows: &'static [(&'static str, ToolKind)],
    /// Whether MCP tools are named `mcp__<server>__<tool>`.
    mcp_prefix: bool,
    /// Kind of a call that depends on its input.
    by_input: Option<fn(&str, &Value) -> Option<ToolKind>>,
}

impl ToolTable {
    /// The table of agents whose tools are unknown.
    pub const EMPTY: Self = Self::new(&[]);

    /// Creates a table from rows sorted by name without duplicates. A constant table that violates this does not compile.
    pub(crate) const fn new(rows: &'static [(&'static str, ToolKind)]) -> Self {
        let mut row = 1;
        while row < rows.len() {
            assert!(is_before(rows[row - 1].0.as_bytes(), rows[row].0.as_bytes()), "tools must be sorted and unique");
            row += 1;
        }
        Self { rows, mcp_prefix: false, by_input: None }
    }

    /// Classifies names of the form `mcp__<server>__<tool>` as MCP tools.
    pub(crate) const fn with_mcp_prefix(self) -> Self {
        Self { mcp_prefix: true, ..self }
    }

    /// Adds a rule that takes precedence over the rows.
    pub(crate) const fn with_input_rule(self, by_input: fn(&str, &Value) -> Option<ToolKind>) -> Self {
        Self { by_input: Some(by_input), ..self }
    }

    /// The kind of a call; `None` for tools that are not built in.
    pub fn kind_of(&self, name: &str, input: &Value) -> Option<ToolKind> {
        if self.mcp_prefix && name.starts_with("mcp__") {
            return Some(ToolKind::Mcp);
        }
        if let Some(kind) = self.by_input.and_then(|rule| rule(name, input)) {
            return Some(kind);
        }
        self.rows.binary_search_by_key(&name, |(tool, _)| tool).ok().map(|at| self.rows[at].1)
    }
}

const fn is_before(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: ToolTable =
        ToolTable::new(&[("Bash", ToolKind::Shell), ("task", ToolKind::SubAgent), ("task_x", ToolKind::Poll)]);

    #[test]
    fn lookup_requires_the_exact_name() {
        let kind_of = |name: &str| TOOLS.kind_of(name, &Value::Null);
        assert_eq!(kind_of("Bash"), Some(ToolKind::Shell));
        assert_eq!(kind_of("task_x"), Some(ToolKind::Poll));
        assert_eq!(kind_of("bash"), None);
        assert_eq!(kind_of("mcp__github__search"), None);
        const WITH_MCP: ToolTable = ToolTable::new(&[("task", ToolKind::SubAgent)]).with_mcp_prefix();
        assert_eq!(WITH_MCP.kind_of("mcp__github__search", &Value::Null), Some(ToolKind::Mcp));
        assert_eq!(WITH_MCP.kind_of("task", &Value::Null), Some(ToolKind::SubAgent));
    }

    #[test]
    fn each_agent_knows_only_its_own_tools() {
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
    fn unsorted_or_duplicate_rows_panic() {
        let twice: &[_] = &[("a", ToolKind::Read), ("a", ToolKind::Edit)];
        let back: &[_] = &[("ab", ToolKind::Read), ("a", ToolKind::Edit)];
        for rows in [twice, back] {
            assert!(std::panic::catch_unwind(|| ToolTable::new(rows)).is_err());
        }
    }
}
