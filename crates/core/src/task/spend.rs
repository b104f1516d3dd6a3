//! What a step costs.

use serde::{Deserialize, Serialize};

use crate::event::Usage;

/// Tokens, money and time of a step, a role or a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    /// Millionths of a US dollar.
    pub micros: u64,
    /// Tokens of all kinds.
    pub tokens: u64,
    pub millis: u64,
    /// The tokens by kind, where they are known.
    #[serde(skip_serializing_if = "is_unknown")]
    pub usage: Usage,
}

fn is_unknown(usage: &Usage) -> bool {
    *usage == Usage::default()
}

impl Spend {
    /// Tokens and money of an agent.
    pub fn of_usage(usage: Usage, micros: u64) -> Self {
        Self { micros, tokens: usage.total(), millis: 0, usage }
    }

    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut usage = self.usage;
        usage.add(&other.usage);
        Self {
            micros: self.micros.saturating_add(other.micros),
            tokens: self.tokens.saturating_add(other.tokens),
            millis: self.millis.saturating_add(other.millis),
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spend_of_a_journal_without_kinds_of_tokens_is_read_and_written_as_it_was() {
        let old = r#"{"micros":3,"tokens":2,"millis":1}"#;
        let spend: Spend = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&spend).unwrap(), old);
        let usage = Usage { input: 5, output: 7, ..Usage::default() };
        let sum = spend.plus(&Spend::of_usage(usage, 1));
        assert_eq!((sum.micros, sum.tokens, sum.millis, sum.usage), (4, 14, 1, usage));
    }
}
