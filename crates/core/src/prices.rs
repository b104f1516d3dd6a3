//! What models cost, and how much they take in. The table is `prices.toml` beside this file.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::glob;

/// The commented table.
pub const DEFAULT_PRICES: &str = include_str!("prices.toml");

/// One row: models whose name fits `match`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceRow {
    /// Which models: a name, `*` stands for anything; case does not matter, dots and dashes are the same.
    #[serde(rename = "match")]
    pub matches: String,
    /// US dollars per million fresh input tokens.
    pub input: f64,
    /// US dollars per million output tokens.
    pub output: f64,
    /// US dollars per million tokens read from the cache.
    #[serde(default)]
    pub cache_read: f64,
    /// US dollars per million tokens written to the cache.
    #[serde(default)]
    pub cache_write: f64,
    /// Tokens the model takes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// The built-in table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The day the prices were looked up.
    pub as_of: String,
    #[serde(rename = "model")]
    rows: Vec<PriceRow>,
}

static BUILT_IN: LazyLock<Prices> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test parses the built-in table")]
    toml::from_str(DEFAULT_PRICES).expect("the built-in prices are valid")
});

impl Prices {
    /// The table Belay comes with.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }
}

/// What one model costs: millionths of a US dollar per million tokens, that is, millionths of a
/// millionth per token. Whole numbers, so that sums are the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// Tokens the model takes in; 0 when unknown.
    pub window: u64,
}

impl ModelPrice {
    /// The tariff of a model: own rows first, then the built-in table; `None` when nobody knows it.
    pub fn for_model(model: &str, own: &[PriceRow]) -> Option<Self> {
        let plain = |name: &str| name.to_ascii_lowercase().replace('.', "-");
        let name = plain(model.rsplit('/').next().unwrap_or(model));
        let own = own.iter().find(|row| glob::matches(&plain(&row.matches), &name));
        let row = own.or_else(|| BUILT_IN.rows.iter().find(|row| glob::matches(&row.matches, &name)))?;
        let micros = |dollars: f64| (dollars.max(0.0) * 1e6).round() as u64;
        Some(Self {
            input: micros(row.input),
            output: micros(row.output),
            cache_read: micros(row.cache_read),
            cache_write: micros(row.cache_write),
            window: row.window.unwrap_or(0),
        })
    }

    /// What a token of output costs, in millionths of a US dollar.
    pub fn output_micros(&self) -> f64 {
        self.output as f64 / 1e6
    }

    /// What so many tokens cost, in millionths of a US dollar.
    pub fn cost_micros(&self, usage: &Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write);
        u64::try_from(sum / 1_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
