//! Limits in tokens and money.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::format;
use crate::rules::usd_to_micros;

/// Limits in tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Tokens, all kinds together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
}

/// Why a text is not a budget.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BudgetError {
    #[error("invalid amount `{0}`; use 2.50usd or $2.50 for money, 500k or 2M for tokens")]
    Invalid(String),
    #[error("`{text}` has no unit; use {number}usd for money or {number}tokens for tokens")]
    NoUnit { text: String, number: String },
    /// In the configuration 0 means unlimited, which is not what a budget of 0 suggests.
    #[error("the budget must be positive, not `{0}`; use an amount such as 2.50usd or 500k")]
    NotPositive(String),
}

impl Budget {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, and those of `other` where there is none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self { tokens: self.tokens.or(other.tokens), cost_micros: self.cost_micros.or(other.cost_micros) }
    }

    /// What is left of it after this was spent.
    #[must_use]
    pub fn reduced_by(&self, tokens: u64, cost_micros: u64) -> Self {
        Self {
            tokens: self.tokens.map(|limit| limit.saturating_sub(tokens)),
            cost_micros: self.cost_micros.map(|limit| limit.saturating_sub(cost_micros)),
        }
    }

    /// The budget of something that has spent this before, and may spend these limits from now on.
    #[must_use]
    pub fn raised_by(&self, tokens: u64, cost_micros: u64) -> Self {
        Self {
            tokens: self.tokens.map(|limit| limit.saturating_add(tokens)),
            cost_micros: self.cost_micros.map(|limit| limit.saturating_add(cost_micros)),
        }
    }

    /// Nothing is left.
    pub fn is_used_up(&self) -> bool {
        self.tokens == Some(0) || self.cost_micros == Some(0)
    }

    /// For people: `$2.50 and 500k tokens`.
    pub fn phrase(&self) -> String {
        let amounts = [self.cost_micros.map(format::dollars), self.tokens.map(format::tokens)];
        format::list_of(&amounts.into_iter().flatten().collect::<Vec<_>>())
    }
}

/// Several amounts, such as those of repeated options. Later ones replace earlier ones.
impl FromIterator<Self> for Budget {
    fn from_iter<T: IntoIterator<Item = Self>>(amounts: T) -> Self {
        amounts.into_iter().fold(Self::default(), |all, amount| amount.or(&all))
    }
}

/// `2.50usd`, `500k`, or `2.50usd,500k`.
impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        text.split(',').map(amount).collect()
    }
}

fn amount(text: &str) -> Result<Budget, BudgetError> {
    let invalid = || BudgetError::Invalid(text.to_owned());
    let lower = text.trim().to_ascii_lowercase();
    let money = lower.strip_prefix('$').or_else(|| lower.strip_suffix("usd"));
    let tokens = lower.strip_suffix("tokens").or_else(|| lower.ends_with(['k', 'm']).then_some(lower.as_str()));
    let number = |digits: &str, most: f64| {
        let number = digits.trim().parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
        number.ok_or_else(invalid)
    };
    let budget = match (money, tokens) {
        (Some(money), _) => match number(money, 1e9)? {
            // It would be rounded to an amount that the user did not ask for.
            usd if usd > 0.0 && usd < 1e-6 => Budget { cost_micros: Some(0), tokens: None },
            usd => Budget { cost_micros: Some(usd_to_micros(usd)), tokens: None },
        },
        (None, Some(tokens)) => {
            let tokens = tokens.trim();
            let (digits, factor) = match tokens.char_indices().last() {
                Some((at, 'k')) => (&tokens[..at], 1e3),
                Some((at, 'm')) => (&tokens[..at], 1e6),
                _ => (tokens, 1.0),
            };
            Budget { tokens: Some((number(digits, 1e15)? * factor).round() as u64), cost_micros: None }
        }
        (None, None) if number(&lower, f64::MAX)? == 0.0 => Budget { tokens: Some(0), cost_micros: None },
        (None, None) => return Err(BudgetError::NoUnit { text: text.to_owned(), number: lower }),
    };
    if budget.is_used_up() { Err(BudgetError::NotPositive(text.to_owned())) } else { Ok(budget) }
}

/// The text that is parsed to the same budget.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(micros) = self.cost_micros {
            write!(f, "{}", micros / 1_000_000)?;
            if !micros.is_multiple_of(1_000_000) {
                let fraction = format!("{:06}", micros % 1_000_000);
                let (cents, rest) = fraction.split_at(2);
                write!(f, ".{cents}{}", rest.trim_end_matches('0'))?;
            }
            f.write_str("usd")?;
        }
        if self.cost_micros.is_some() && self.tokens.is_some() {
            f.write_str(",")?;
        }
        match self.tokens {
            Some(tokens) if tokens > 0 && tokens.is_multiple_of(1_000_000) => write!(f, "{}M", tokens / 1_000_000),
            Some(tokens) if tokens > 0 && tokens.is_multiple_of(1_000) => write!(f, "{}k", tokens / 1_000),
            Some(tokens) => write!(f, "{tokens}tokens"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn money(micros: u64) -> Budget {
        Budget { cost_micros: Some(micros), tokens: None }
    }

    const fn tokens(tokens: u64) -> Budget {
        Budget { cost_micros: None, tokens: Some(tokens) }
    }

    #[test]
    fn parses_money_and_tokens() {
        for (text, budget) in [
            ("2.50usd", money(2_500_000)),
            ("$0.1", money(100_000)),
            ("5 USD", money(5_000_000)),
            ("500k", tokens(500_000)),
            ("1.5M", tokens(1_500_000)),
            ("200 tokens", tokens(200)),
            ("2M tokens", tokens(2_000_000)),
            ("2.50usd, 500k", Budget { cost_micros: Some(2_500_000), tokens: Some(500_000) }),
            ("1usd,2usd", money(2_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(budget), "{text}");
        }
        for text in [
            "",
            ",",
            "5usd,",
            "usd",
            "k",
            "-1usd",
            "-infusd",
            "infusd",
            "nanusd",
            "$-1",
            "-1e-10usd",
            "five",
            "1e99usd",
            "NaN",
            "infk",
            "12€",
        ] {
            let error = text.parse::<Budget>().unwrap_err();
            assert!(matches!(error, BudgetError::Invalid(_)), "{text}: {error}");
        }
    }

    #[test]
    fn rejects_ambiguous_amounts() {
        for text in ["5", "2.50", "500000"] {
            let why = text.parse::<Budget>().unwrap_err().to_string();
            assert!(why.contains("has no unit") && why.contains(&format!("{text}usd")), "{why}");
        }
        for text in ["0", "0usd", "$0", "0k", "0 tokens", "0.0000001usd", "0.0000006usd", "1e-300usd", "-0usd"] {
            assert_eq!(text.parse::<Budget>(), Err(BudgetError::NotPositive(text.to_owned())));
        }
    }

    #[test]
    fn is_written_with_units() {
        let both = Budget { cost_micros: Some(2_500_000), tokens: Some(500_000) };
        assert_eq!((both.to_string(), both.phrase()), ("2.50usd,500k".to_owned(), "$2.50 and 500k tokens".to_owned()));
        assert_eq!(
            [1, 40, 1_234_567, 15_000_000].map(|micros| money(micros).to_string()),
            ["0.000001usd", "0.00004usd", "1.234567usd", "15usd"]
        );
        assert_eq!([1, 2_500, 3_000_000].map(|count| tokens(count).to_string()), ["1tokens", "2500tokens", "3M"]);
        assert_eq!(Budget::default().to_string(), "");
    }

    proptest! {
        /// `belay exec` gets the budget of a step as text.
        #[test]
        fn the_text_is_parsed_to_the_same_budget(
            cost_micros in proptest::option::of(1..=1_000_000_000_000_000u64),
            tokens in proptest::option::of(1..=1_000_000_000_000_000u64),
        ) {
            let budget = Budget { tokens, cost_micros };
            prop_assume!(!budget.is_unlimited());
            prop_assert_eq!(budget.to_string().parse(), Ok(budget));
        }
    }
}
