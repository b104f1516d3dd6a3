//! Updates the built-in price table: `prices DATE FILE...` prints it with the rows of the given files.
//!
//! A file is LiteLLM's `model_prices_and_context_window.json`. Rows that it lacks are retained, because `belay audit`
//! prices old sessions, too.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a command-line program reads files and prints")]

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
        let models: BTreeMap<String, Value> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
        for provider in PROVIDERS {
            for (name, model) in models.iter().filter(|(_, model)| model["litellm_provider"] == **provider) {
                let chats = matches!(model["mode"].as_str(), Some("chat" | "responses"));
                if chats
                    && !EXCLUDED.iter().any(|part| name.contains(part))
                    && let Some(row) = row(model)
                {
                    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase().replace('.', "-");
                    rows.entry(name).or_insert(row);
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
