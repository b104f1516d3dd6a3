//! Every threshold, as data. The defaults are `rules.toml` beside this file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The commented defaults.
pub const DEFAULT_RULES: &str = include_str!("rules.toml");

/// All thresholds, ladders, budgets, allow-lists and custom patterns that apply to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Record everything, do nothing.
    pub dry_run: bool,
}

impl Default for Rules {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "a test parses the built-in rules")]
        toml::from_str(DEFAULT_RULES).expect("built-in rules are valid")
    }
}

impl Rules {
    /// Tells whether two sets of rules are the same.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}
