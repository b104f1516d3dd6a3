//! The `[[custom]]` sections of the rules: user-defined patterns.

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuleError, Severity};
use crate::action::ToolKind;
use crate::effect::InterventionLevel;
use crate::event::{ToolCalled, ToolReturned};
use crate::glob;
use crate::outcome::CallStatus;

/// Maximum number of custom patterns: one bit each in a call's record.
pub(super) const MAX_CUSTOM_PATTERNS: usize = 32;
/// Maximum size of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// A user-defined pattern. It counts calls that match all given conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomPattern {
    /// Name in findings.
    pub name: String,
    /// Message to the agent. `{target}` stands for the call, `{count}` and `{threshold}` for the numbers.
    pub message: String,
    /// Tool kinds; empty for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<ToolKind>,
    /// The agent's tool names, with `*` and `?`; empty for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Regular expression for the command of a shell call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Regular expression for the path (and what follows it) of a read, edit or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Regular expression for head and tail of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Required status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CallStatus>,
    /// What two calls must have in common to be counted together.
    #[serde(default)]
    pub same: GroupBy,
    /// Number of calls to look back.
    #[serde(default = "twenty")]
    pub window: usize,
    /// Number of occurrences that triggers it.
    #[serde(default = "three")]
    pub threshold: u32,
    /// Severity of its findings.
    #[serde(default)]
    pub severity: Severity,
    /// Intervention: notice, nudge or pause.
    #[serde(default = "nudge")]
    pub intervention: InterventionLevel,
}

/// What two calls must have in common to be counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// Nothing: every match counts.
    #[default]
    Nothing,
    /// The same action.
    Action,
    /// The same action with the same outcome.
    Outcome,
}

fn twenty() -> usize {
    20
}

fn three() -> u32 {
    3
}

fn nudge() -> InterventionLevel {
    InterventionLevel::Nudge
}

impl CustomPattern {
    /// Checks the name, the expressions and the limits.
    pub fn check(&self) -> Result<(), RuleError> {
        let at = |key: &str| format!("custom.{}.{key}", self.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(RuleError::new("custom.name", format!("`{}` must be letters, digits, `_` and `-`", self.name)));
        }
        if self.message.trim().is_empty() {
            return Err(RuleError::new(at("message"), "is empty; say what the agent should read"));
        }
        for (key, text) in [("command", &self.command), ("path", &self.path), ("outcome", &self.outcome)] {
            if let Some(Err(e)) = text.as_ref().map(|text| compile(text)) {
                return Err(RuleError::new(at(key), format!("is not a regular expression: {e}")));
            }
        }
        if self.threshold == 0 {
            return Err(RuleError::new(at("threshold"), "must be at least 1"));
        }
        if self.window == 0 || self.window > crate::session::CALL_WINDOW {
            return Err(RuleError::new(at("window"), format!("must be 1 to {}", crate::session::CALL_WINDOW)));
        }
        if self.intervention == InterventionLevel::Kill {
            return Err(RuleError::new(
                at("intervention"),
                "must be notice, nudge or pause; only a person kills a session",
            ));
        }
        let says = self.kinds.is_empty() && self.tools.is_empty() && self.command.is_none();
        if says
            && self.path.is_none()
            && self.outcome.is_none()
            && self.status.is_none()
            && self.same == GroupBy::Nothing
        {
            return Err(RuleError::new(
                format!("custom.{}", self.name),
                "matches every call; say which by kinds, tools, command, path, outcome or status",
            ));
        }
        Ok(())
    }
}

fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).build()
}

/// When a pattern can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvaluateAt {
    /// When the call is requested.
    Before,
    /// When the call has a result.
    After,
}

/// A compiled custom pattern. If its expression is invalid, which [`super::Rules::check`] reports, it matches
/// nothing.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern {
    kinds: Vec<ToolKind>,
    tools: Vec<String>,
    command: Option<Regex>,
    path: Option<Regex>,
    outcome: Option<Regex>,
    status: Option<CallStatus>,
    broken: bool,
    pub(crate) evaluate_at: EvaluateAt,
}

impl CompiledPattern {
    pub(super) fn new(pattern: &CustomPattern) -> Self {
        let mut broken = false;
        let mut ready = |text: &Option<String>| match text.as_ref().map(|text| compile(text)) {
            Some(Ok(regex)) => Some(regex),
            Some(Err(_)) => {
                broken = true;
                None
            }
            None => None,
        };
        let (command, path, outcome) = (ready(&pattern.command), ready(&pattern.path), ready(&pattern.outcome));
        let after = outcome.is_some() || pattern.status.is_some() || pattern.same == GroupBy::Outcome;
        Self {
            kinds: pattern.kinds.clone(),
            tools: pattern.tools.clone(),
            command,
            path,
            outcome,
            status: pattern.status,
            broken,
            evaluate_at: if after { EvaluateAt::After } else { EvaluateAt::Before },
        }
    }

    /// Whether a call matches, as far as can be decided before its result.
    pub(crate) fn matches_call(&self, called: &ToolCalled) -> bool {
        let kind = called.tool.kind;
        let input = called.input.as_str();
        let files = matches!(kind, ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search);
        !self.broken
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.tools.is_empty() || self.tools.iter().any(|tool| glob::matches(tool, &called.tool.name)))
            && self.command.as_ref().is_none_or(|regex| kind == ToolKind::Shell && regex.is_match(input))
            && self.path.as_ref().is_none_or(|regex| files && regex.is_match(input))
    }

    /// Whether the result matches.
    pub(crate) fn matches_outcome(&self, returned: &ToolReturned, status: CallStatus) -> bool {
        self.status.is_none_or(|wanted| wanted == status)
            && self.outcome.as_ref().is_none_or(|regex| regex.is_match(returned.output.as_str()))
    }
}
