//! `cargo xtask score --sensitivity`: how much each threshold matters.
//!
//! Every threshold is moved one step in both directions, one at a time. A value in the middle of a plateau changes
//! little; a value at the edge of a cliff was fitted to the examples. Then each source is scored with the values that
//! the other sources alone would have chosen.

use std::path::Path;

use super::Replay;
use super::alarms::Alarms;
use super::corpus::Corpus;
use super::measure::{Labels, Score, Scores};
use super::thresholds::{self, Threshold};

/// A looser step may cost this much precision.
const MAX_LOST_PRECISION: f64 = 0.01;

/// A threshold at another value, and what it scores.
struct Variant {
    config: String,
    value: f64,
    scores: Scores,
}

pub(super) fn run(path: &Path) -> Result<bool, String> {
    let corpus = Corpus::open(path, "-sessions.tar.gz", "-labels.tsv")?;
    let labels = Labels::read(&corpus.labels, &corpus.sessions)?;
    let replay = Replay::new(&corpus.work)?;
    let measure = |name: &str, config: &str| -> Result<Scores, String> {
        Ok(labels.score(&Alarms::read(&replay.run(&corpus.sessions, name, config)?)?))
    };
    let base = measure("base", "")?;
    println!("\nPrecision, recall and percent of clean sessions alarmed. An empty cell: the same as the base.\n");
    row("threshold", "value", ["looser", "stricter"].map(str::to_owned));
    row("(base)", "", [base.total().show(), String::new()]);
    let mut tried: Vec<(Threshold, Vec<Variant>)> = Vec::new();
    for threshold in thresholds::all()? {
        let mut variants = Vec::new();
        for value in [threshold.looser(), threshold.stricter()] {
            let config = threshold.config(value);
            let scores = if value == threshold.value { base.clone() } else { measure("variant", &config)? };
            variants.push(Variant { config, value, scores });
        }
        let cells = [&variants[0], &variants[1]].map(|variant| cell(variant, base.total()));
        row(&threshold.name(), &threshold.value.to_string(), cells);
        for variant in &variants {
            print_sources(&base, variant);
        }
        tried.push((threshold, variants));
    }
    let worst = tried
        .iter()
        .map(|(threshold, variants)| {
            (base.total().precision() - variants[0].scores.total().precision(), threshold.name())
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_default();
    println!("\nOne step looser costs at most {:.4} precision ({}).", worst.0, worst.1);
    leave_one_out(&base, &tried, &measure)?;
    Ok(worst.0 <= MAX_LOST_PRECISION)
}

fn row(name: &str, value: &str, cells: [String; 2]) {
    println!("{name:<36}{value:>6}  {:<32}{}", cells[0], cells[1]);
}

fn cell(variant: &Variant, base: Score) -> String {
    let total = variant.scores.total();
    if total == base { String::new() } else { format!("{} -> {}", variant.value, total.show()) }
}

/// The sources that score differently under a variant.
fn print_sources(base: &Scores, variant: &Variant) {
    for (source, score) in &variant.scores.0 {
        let before = base.0.get(source).copied().unwrap_or_default();
        if before != *score {
            println!("    {source:<32}{} instead of {}", score.show(), before.show());
        }
    }
}

/// Scores each source with the values that are best for the others.
fn leave_one_out(
    base: &Scores,
    tried: &[(Threshold, Vec<Variant>)],
    measure: &dyn Fn(&str, &str) -> Result<Scores, String>,
) -> Result<(), String> {
    println!("\nLeave one source out: each source with the values that all others together prefer.\n");
    println!("{:<28}{:<24}{:<24}changed", "source", "with our values", "with theirs");
    for (source, own) in &base.0 {
        let before = base.without(source).weighted();
        let mut config = String::new();
        let mut changed = Vec::new();
        for (threshold, variants) in tried {
            let best = variants
                .iter()
                .max_by(|a, b| a.scores.without(source).weighted().total_cmp(&b.scores.without(source).weighted()));
            // A tie keeps our value; a pattern is changed once, because its steps are written together.
            let again = changed.iter().any(|name: &String| name.starts_with(&format!("{}.", threshold.pattern)));
            if let Some(best) = best.filter(|best| !again && best.scores.without(source).weighted() > before + 1e-9) {
                config += &best.config;
                changed.push(format!("{} = {}", threshold.name(), best.value));
            }
        }
        let theirs = if config.is_empty() { base.clone() } else { measure("variant", &config)? };
        let theirs = theirs.0.get(source).copied().unwrap_or_default();
        println!("{source:<28}{:<24}{:<24}{}", own.show(), theirs.show(), changed.join(", "));
    }
    Ok(())
}
