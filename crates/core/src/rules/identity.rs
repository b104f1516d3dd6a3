//! The `[[identity]]` sections of the rules: which inputs of a tool make two calls the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleError;
use crate::digest::Digest;
use crate::event::ToolCalled;
use crate::glob;

/// Inputs that identify the calls of a tool. Other inputs, such as a request number or a comment, do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolIdentity {
    /// The agent's name of the tool, with `*` and `?`: `mcp__jira__*`.
    pub tool: String,
    /// Names of the inputs that identify a call.
    pub inputs: Vec<String>,
}

impl ToolIdentity {
    pub(super) fn check(&self) -> Result<(), RuleError> {
        if self.tool.trim().is_empty() {
            return Err(RuleError::new("identity.tool", "is empty; name a tool, such as `mcp__jira__search`"));
        }
        if self.inputs.is_empty() {
            return Err(RuleError::new(format!("identity.{}.inputs", self.tool), "is empty; name at least one input"));
        }
        Ok(())
    }

    /// The fingerprint of a call by these inputs, if the rule is about its tool and one of them is present.
    pub(crate) fn key(&self, called: &ToolCalled) -> Option<Digest> {
        if !glob::matches(&self.tool, &called.tool.name) {
            return None;
        }
        let fields = top_level_fields(called.input.as_str());
        let mut parts = vec![called.tool.name.as_str()];
        for name in &self.inputs {
            if let Some((_, value)) = fields.iter().find(|(field, _)| field == name) {
                parts.extend([name.as_str(), value]);
            }
        }
        (parts.len() > 1).then(|| Digest::of_parts(parts.iter().map(|part| part.as_bytes())))
    }
}

/// The fields of an input in canonical form, `{name:value,...}`, as texts.
fn top_level_fields(input: &str) -> Vec<(&str, &str)> {
    let Some(start) = input.find('{') else { return Vec::new() };
    let body = &input[start + 1..];
    let mut fields = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut from) = (0_u32, false, false, 0);
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                fields.extend(body[from..at].split_once(':'));
                from = at + 1;
            }
            _ => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(input: serde_json::Value) -> Option<Digest> {
        let rule =
            ToolIdentity { tool: "mcp__jira__*".to_owned(), inputs: vec!["issue".to_owned(), "fields".to_owned()] };
        rule.key(&ToolCalled::new(None, None, "mcp__jira__get", &input))
    }

    #[test]
    fn only_the_named_inputs_count() {
        let first = key(json!({"issue": "A-1", "trace": "x1", "fields": ["a", "b"]}));
        assert!(first.is_some());
        assert_eq!(first, key(json!({"issue": "A-1", "trace": "other, {thing}", "fields": ["a", "b"]})));
        assert_ne!(first, key(json!({"issue": "A-2", "trace": "x1", "fields": ["a", "b"]})));
        assert_eq!(key(json!({"trace": "x1"})), None);
    }
}
