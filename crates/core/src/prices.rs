//! Model prices and context windows. The table is `prices.txt` next to this file.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::glob;
use crate::rules::usd_to_micros;

/// The commented table.
pub const DEFAULT_PRICES: &str = include_str!("prices.txt");

/// What [`ModelPrice::assumed_for`] assumes of most models, in words.
pub const ASSUMED_PRICE_PHRASE: &str = "$15 per million input tokens, $75 per million output tokens";

/// One row of the user's own prices: models whose name matches `match`.
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

impl PriceRow {
    /// The amounts of US dollars, by name.
    pub(crate) fn amounts(&self) -> [(&'static str, f64); 4] {
        [
            ("input", self.input),
            ("output", self.output),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ]
    }
}

/// The built-in table: lines sorted by name, parsed when a model is looked up.
#[derive(Debug)]
pub struct Prices {
    /// The date of the prices.
    pub as_of: &'static str,
    rows: Vec<(&'static str, &'static str)>,
}

static BUILT_IN: LazyLock<Prices> = LazyLock::new(|| {
    let lines = DEFAULT_PRICES.lines().filter(|line| !line.starts_with('#'));
    let mut rows: Vec<_> = lines.filter_map(|line| line.split_once(' ')).collect();
    let as_of = rows.iter().find(|(name, _)| *name == AS_OF).map_or("", |(_, date)| date.trim());
    rows.retain(|(name, _)| *name != AS_OF);
    rows.sort_unstable();
    Prices { as_of, rows }
});

/// The name of the line with the date.
const AS_OF: &str = "as_of";

impl Prices {
    /// The table Belay comes with.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The names of all models, in order.
    pub fn models(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().map(|(name, _)| *name)
    }

    /// The row with exactly this name.
    fn row(&self, name: &str) -> Option<ModelPrice> {
        let at = self.rows.binary_search_by_key(&name, |(name, _)| name).ok()?;
        ModelPrice::parse(self.rows[at].1)
    }
}

/// Millionths of a US dollar per million tokens. Whole numbers, so that sums are the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Rates {
    /// Tokens kept for an hour cost twice the input where writes for minutes cost 1.25 times the input (Anthropic's
    /// scheme); other providers have one price for writes.
    fn cache_write_1h(&self) -> u64 {
        let surcharged = u128::from(self.cache_write) * 4 == u128::from(self.input) * 5;
        if surcharged { self.input.saturating_mul(2) } else { self.cache_write }
    }
}

/// What one model costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPrice {
    rates: Rates,
    /// Rates of requests with more input tokens than the threshold, in ascending order.
    long_context: Vec<(u64, Rates)>,
    /// Tokens the model takes in; 0 when unknown.
    pub window: u64,
}

impl ModelPrice {
    /// What a model without a price is assumed to cost: the list price of the most expensive model that a coding agent
    /// has had as its default (Claude Opus 4). Only `pro` models cost more, so such a name costs at least as much as the
    /// most expensive `pro` model of the same family. A new model may still cost more than any that is known.
    pub fn assumed_for(model: Option<&str>) -> Self {
        let rates = Rates { input: 15_000_000, output: 75_000_000, cache_read: 1_500_000, cache_write: 18_750_000 };
        let name = model.map(canonical).unwrap_or_default();
        let name = without_provider(&name);
        let pro_rows =
            BUILT_IN.rows.iter().filter(|(row, _)| is_pro(name) && is_pro(row) && family(row) == family(name));
        let rates = pro_rows.filter_map(|(_, line)| Self::parse(line)).fold(rates, |most, row| most.max(row.rates));
        Self { rates, long_context: Vec::new(), window: 0 }
    }

    /// The rates for fresh input and output, such as `$15 per million input tokens, $75 per million output tokens`.
    pub fn phrase(&self) -> String {
        let usd = |micros: u64| micros as f64 / 1e6;
        format!(
            "${} per million input tokens, ${} per million output tokens",
            usd(self.rates.input),
            usd(self.rates.output)
        )
    }

    /// The price of a model: own rows first, then the built-in table; `None` if it is unknown.
    ///
    /// The built-in table matches exact names. Only what names the provider, a release date or the latest release is
    /// ignored: `gpt-9-sol` never gets the price of `gpt-9`.
    pub fn for_model(model: &str, own: &[PriceRow]) -> Option<Self> {
        let name = canonical(model);
        if let Some(row) = own.iter().find(|row| glob::matches(&canonical_pattern(&row.matches), &name)) {
            return Some(Self::of_row(row));
        }
        // Most names are exact.
        BUILT_IN.row(&name).or_else(|| {
            let mut name = without_provider(&name);
            loop {
                if let Some(price) = BUILT_IN.row(name) {
                    return Some(price);
                }
                name = without_release(name)?;
            }
        })
    }

    fn of_row(row: &PriceRow) -> Self {
        let rates = Rates {
            input: usd_to_micros(row.input),
            output: usd_to_micros(row.output),
            cache_read: usd_to_micros(row.cache_read),
            cache_write: usd_to_micros(row.cache_write),
        };
        Self { rates, long_context: Vec::new(), window: row.window.unwrap_or(0) }
    }

    /// Parses a line of the table after the name: rates, window, then a threshold and rates per long context.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let rates = Rates::parse(&mut fields)?;
        let window = fields.next()?.parse().ok()?;
        let mut long_context = Vec::new();
        while let Some(threshold) = fields.next() {
            long_context.push((threshold.strip_prefix('>')?.parse().ok()?, Rates::parse(&mut fields)?));
        }
        Some(Self { rates, long_context, window })
    }

    /// The rates in US dollars per million tokens: input, output, cache read, cache write, cache write for an hour; each
    /// with the number of input tokens from which it applies, in ascending order.
    pub fn rates(&self) -> Vec<(u64, [f64; 5])> {
        let dollars = |rates: &Rates| {
            [rates.input, rates.output, rates.cache_read, rates.cache_write, rates.cache_write_1h()]
                .map(|micros| micros as f64 / 1e6)
        };
        let long = self.long_context.iter().map(|(threshold, rates)| (*threshold, dollars(rates)));
        std::iter::once((0, dollars(&self.rates))).chain(long).collect()
    }

    /// What a token of output costs, in millionths of a US dollar.
    pub fn output_micros(&self) -> f64 {
        self.rates.output as f64 / 1e6
    }

    /// What one request with this usage costs, in millionths of a US dollar.
    pub fn cost_micros(&self, usage: &Usage) -> u64 {
        // Usage beyond the window is a sum over several requests, whose individual lengths are unknown.
        let context = Some(usage.context()).filter(|context| *context <= self.window).unwrap_or(0);
        let long = self.long_context.iter().rev().find(|(threshold, _)| context > *threshold);
        let rates = long.map_or(&self.rates, |(_, rates)| rates);
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input, rates.input)
            + part(usage.output, rates.output)
            + part(usage.cache_read, rates.cache_read)
            + part(usage.cache_write.saturating_sub(usage.cache_write_1h), rates.cache_write)
            + part(usage.cache_write_1h.min(usage.cache_write), rates.cache_write_1h());
        u64::try_from(sum / 1_000_000).unwrap_or(u64::MAX)
    }
}

impl Rates {
    /// The higher rate of each kind.
    fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    fn parse<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut next = || fields.next()?.parse().ok().map(usd_to_micros);
        Some(Self { input: next()?, output: next()?, cache_read: next()?, cache_write: next()? })
    }
}

/// The first word of a model's name without its version: `gpt`, `o` for `o3`.
fn family(name: &str) -> &str {
    let first = name.split('-').next().unwrap_or(name);
    first.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Whether a name is that of a model that thinks longer at several times the price.
fn is_pro(name: &str) -> bool {
    name.split('-').any(|part| part == "pro")
}

/// Lower case, dots as dashes, without a path of providers.
fn canonical(model: &str) -> String {
    canonical_pattern(model.rsplit('/').next().unwrap_or(model))
}

fn canonical_pattern(name: &str) -> String {
    name.to_ascii_lowercase().replace('.', "-")
}

/// Bedrock and Vertex prefix the provider and the region.
fn without_provider(name: &str) -> &str {
    ["anthropic-", "openai-"].iter().find_map(|provider| name.rsplit_once(provider)).map_or(name, |(_, rest)| rest)
}

/// The name without its last suffix that names a release of the same model; `None` if it has none.
fn without_release(name: &str) -> Option<&str> {
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let date = |text: &str| numeric(text) && text.len() == 8;
    if let Some(rest) = name.strip_suffix("[1m]").or_else(|| name.strip_suffix("-latest")) {
        return Some(rest);
    }
    // Bedrock: `-v1:0`.
    if let Some((rest, version)) = name.rsplit_once("-v")
        && version.split_once(':').is_some_and(|(major, minor)| numeric(major) && numeric(minor))
    {
        return Some(rest);
    }
    if let Some((rest, _)) = name.rsplit_once(['-', '@']).filter(|(_, text)| date(text)) {
        return Some(rest);
    }
    let (rest, day) = name.rsplit_once('-')?;
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    let lengths = (year.len(), month.len(), day.len()) == (4, 2, 2);
    (lengths && [year, month, day].into_iter().all(numeric)).then_some(rest)
}

#[cfg(test)]
mod tests;
