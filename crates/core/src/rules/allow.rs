//! The `[allow]` section of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleError;
use crate::action::ToolKind;
use crate::digest::Digest;
use crate::event::ToolCalled;
use crate::glob;

/// What never counts as evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowList {
    /// Calls as `Tool:input` with `*` and `?`: `Bash:npm test`, `*:git status*`. The tool is the agent's name
    /// or Belay's kind (`shell:`, `read:`); the input is the command, path or query.
    pub actions: Vec<String>,
    /// Pairs of action and outcome, `ACTION:OUTCOME` as in findings.
    pub pairs: Vec<String>,
}

impl AllowList {
    pub(super) fn check(&self) -> Result<(), RuleError> {
        if let Some(glob) = self.actions.iter().find(|glob| !glob.contains(':')) {
            return Err(RuleError::new(
                "allow.actions",
                format!("`{glob}` names no tool; write `Bash:{glob}` or `*:{glob}`"),
            ));
        }
        match self.pairs.iter().find(|pair| parse(pair).is_none()) {
            Some(pair) => Err(RuleError::new(
                "allow.pairs",
                format!("`{pair}` is not a pair of two digests of 16 hex digits, `ACTION:OUTCOME`"),
            )),
            None => Ok(()),
        }
    }

    /// Whether this call is allowed.
    pub(crate) fn allows(&self, called: &ToolCalled) -> bool {
        if self.actions.is_empty() {
            return false;
        }
        let input = called.input.as_str().trim();
        let kind = word(called.tool.kind);
        let fits = |tool: &str| {
            let call = format!("{tool}:{input}");
            self.actions.iter().any(|glob| glob::matches(glob, &call))
        };
        fits(&called.tool.name) || fits(kind)
    }

    /// Whether this pair is allowed.
    pub(crate) fn allows_pair(&self, action: Digest, outcome: Digest) -> bool {
        self.pairs.iter().any(|pair| parse(pair) == Some((action, outcome)))
    }
}

/// Name of a tool kind, as in events.
fn word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Shell => "shell",
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Write => "write",
        ToolKind::Search => "search",
        ToolKind::Fetch => "fetch",
        ToolKind::SubAgent => "sub_agent",
        ToolKind::Mcp => "mcp",
        ToolKind::Plan => "plan",
        ToolKind::Poll => "poll",
        ToolKind::Finish => "finish",
        ToolKind::Ask => "ask",
        ToolKind::Other => "other",
    }
}

fn parse(pair: &str) -> Option<(Digest, Digest)> {
    let (action, outcome) = pair.split_once(':')?;
    Some((Digest::parse(action.trim())?, Digest::parse(outcome.trim())?))
}
