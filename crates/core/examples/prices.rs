//! Updates the built-in price table: `prices DATE FILE...` prints it with the rows of the given files.
//!
//! A file is LiteLLM's `model_prices_and_context_window.json`, or `data.py` of the package genai-prices. The first file
//! that has a model decides; where a later one says otherwise, the difference is printed to stderr. Rows that all of them
//! lack are retained, because `belay audit` prices old sessions, too.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a command-line program reads files and prints"
)]

use std::collections::BTreeMap;
use std::error::Error;

use belay_core::prices::DEFAULT_PRICES;
use serde_json::Value;

/// Providers of their own models. The first that lists a model wins.
const PROVIDERS: &[&str] =
    &["anthropic", "openai", "gemini", "xai", "deepseek", "moonshot", "zai", "mistral", "dashscope"];

/// Parts of names of models that no coding agent uses.
const EXCLUDED: &[&str] = &["ft:", "audio", "lyria", "learnlm", "gemma", "tts", "container"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let date = args.next().ok_or("usage: prices DATE FILE...")?;
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for path in args {
        let text = std::fs::read_to_string(&path)?;
        if path.ends_with(".py") {
            add_genai_prices(&text, &mut rows);
            continue;
        }
        let models: BTreeMap<String, Value> = serde_json::from_str(&text)?;
        for provider in PROVIDERS {
            for (name, model) in models.iter().filter(|(_, model)| model["litellm_provider"] == **provider) {
                let chats = matches!(model["mode"].as_str(), Some("chat" | "responses"));
                if chats
                    && !EXCLUDED.iter().any(|part| name.contains(part))
                    && let Some(row) = row(model)
                {
                    rows.entry(canonical(name)).or_insert(row);
                }
            }
        }
    }
    let (comments, old): (Vec<&str>, Vec<&str>) = DEFAULT_PRICES.lines().partition(|line| line.starts_with('#'));
    for (name, row) in old.iter().filter_map(|line| line.split_once(' ')).filter(|(name, _)| *name != "as_of") {
        rows.entry(name.to_owned()).or_insert_with(|| row.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    }
    // A dated name has its own row only if its price differs.
    let redundant = |name: &str, row: &String| dateless(name).is_some_and(|name| rows.get(name) == Some(row));
    println!("{}\nas_of {date}", comments.join("\n"));
    for (name, row) in rows.iter().filter(|(name, row)| !redundant(name, row)) {
        println!("{name} {row}");
    }
    Ok(())
}

fn canonical(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase().replace('.', "-")
}

/// The providers of [`PROVIDERS`] as genai-prices names them.
const GENAI_PROVIDERS: &[&str] = &["anthropic", "openai", "google", "x-ai", "deepseek", "moonshotai", "zai", "mistral"];

/// A model of genai-prices, as far as it has been read.
#[derive(Default)]
struct GenaiModel {
    name: String,
    window: Option<u64>,
    /// Input, output, cache read, cache write.
    rates: [Option<f64>; 4],
}

impl GenaiModel {
    /// The row without long contexts, which the first source has.
    fn row(&self) -> Option<String> {
        let [input, output, cache_read, cache_write] = self.rates;
        let input = input?;
        let rates = [input, output?, cache_read.unwrap_or(input), cache_write.unwrap_or(input)];
        Some(format!("{} {}", rates.map(|rate| rate.to_string()).join(" "), self.window?))
    }

    /// Whether a row has other rates than the ones that are stated here.
    fn contradicts(&self, row: &str) -> bool {
        let theirs = row.split(' ').map(|rate| rate.parse::<f64>().ok());
        self.rates.iter().zip(theirs).any(|(rate, theirs)| rate.is_some() && *rate != theirs)
    }

    fn settle(self, provider: &str, rows: &mut BTreeMap<String, String>) {
        let listed = GENAI_PROVIDERS.contains(&provider) && !EXCLUDED.iter().any(|part| self.name.contains(part));
        let Some(row) = self.row().filter(|_| listed) else { return };
        match rows.get(&self.name) {
            Some(known) if self.contradicts(known) => eprintln!("{}: {known}, but genai-prices has {row}", self.name),
            Some(_) => {}
            None => {
                rows.insert(self.name, row);
            }
        }
    }
}

/// Reads the generated file line by line; the indentation tells providers, models and prices apart. A model whose price
/// depends on the date or time is left out.
fn add_genai_prices(text: &str, rows: &mut BTreeMap<String, String>) {
    const RATES: [&str; 4] = ["input_mtok=", "output_mtok=", "cache_read_mtok=", "cache_write_mtok="];
    let quoted = |value: &str| value.trim_matches(['\'', ',']).to_owned();
    let decimal = |value: &str| value.split_once("Decimal('")?.1.split('\'').next()?.parse::<f64>().ok();
    let (mut provider, mut model) = (String::new(), GenaiModel::default());
    // The rate whose value is on the next line.
    let mut open = None;
    for line in text.lines() {
        let field = line.trim_start();
        match line.len() - field.len() {
            8 if field.starts_with("id=") => {
                std::mem::take(&mut model).settle(&provider, rows);
                provider = quoted(&field[3..]);
            }
            16 if field.starts_with("id=") => {
                std::mem::take(&mut model).settle(&provider, rows);
                model.name = canonical(&quoted(&field[3..]));
            }
            16 if field.starts_with("context_window=") => {
                model.window = field["context_window=".len()..].trim_end_matches(',').parse().ok();
            }
            20 => {
                for (rate, name) in RATES.iter().enumerate() {
                    let Some((before, value)) = field.split_once(name) else { continue };
                    // `input_mtok` is also the end of longer names.
                    if before.is_empty() || before.ends_with(' ') {
                        open = value.ends_with("TieredPrices(").then_some(rate);
                        model.rates[rate] = model.rates[rate].or(decimal(value));
                    }
                }
            }
            // Long tiers continue on the next line.
            24 if field.starts_with("base=") => {
                if let Some(rate) = open.take() {
                    model.rates[rate] = model.rates[rate].or(decimal(field));
                }
            }
            _ => {}
        }
    }
    model.settle(&provider, rows);
}

/// Rates, window, and the rates of each long context; `None` if the model has no price.
fn row(model: &Value) -> Option<String> {
    let window = model["max_input_tokens"].as_u64().or_else(|| model["max_tokens"].as_u64())?;
    if let Some(tiers) = model["tiered_pricing"].as_array() {
        let mut tiers = tiers.iter();
        let mut row = format!("{} {window}", rates(tiers.next()?, "")?);
        for tier in tiers {
            row += &format!(" >{} {}", tier["range"][0].as_f64()? as u64, rates(tier, "")?);
        }
        return Some(row);
    }
    let mut row = format!("{} {window}", rates(model, "")?);
    for threshold in [128_u64, 200, 256, 272] {
        if let Some(rates) = rates(model, &format!("_above_{threshold}k_tokens")) {
            row += &format!(" >{} {rates}", threshold * 1_000);
        }
    }
    Some(row)
}

/// Dollars per million tokens: input, output, cache read, cache write. A cache without a price of its own costs as
/// much as input.
fn rates(model: &Value, suffix: &str) -> Option<String> {
    let price = |key: &str| model[format!("{key}{suffix}")].as_f64();
    let input = price("input_cost_per_token")?;
    let output = price("output_cost_per_token")?;
    let cache_read = price("cache_read_input_token_cost").unwrap_or(input);
    let cache_write = price("cache_creation_input_token_cost").unwrap_or(input);
    let dollars = |price: f64| ((price * 1e12).round() / 1e6).to_string();
    (output > 0.0).then(|| [input, output, cache_read, cache_write].map(dollars).join(" "))
}

/// A name without its date: `-20260131` or `-2026-01-31`.
fn dateless(name: &str) -> Option<&str> {
    [9, 11].into_iter().find_map(|len| {
        let (rest, date) = name.split_at_checked(name.len().checked_sub(len)?)?;
        let digits = date.bytes().filter(u8::is_ascii_digit).count();
        let dashes = date.bytes().filter(|byte| *byte == b'-').count();
        (date.starts_with('-') && digits == 8 && digits + dashes == len).then_some(rest)
    })
}
