//! When two issues are the same one in other words.
//!
//! A claim is compared by its words: lower case, without numbers, filler and endings. Identifiers weigh more than
//! prose, because "`lock_key` is taken twice" and "double locking in lock_key()" agree on little else. How much two
//! claims must agree depends on how near their places are. The figures are in `convergence.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verdict::Place;

#[cfg(test)]
mod tests;

/// How much two claims must agree to be the same issue, by the distance of their places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Similarity {
    /// Both in the same file, at most `near_lines` apart.
    pub near: f32,
    /// Both in the same file.
    pub same_file: f32,
    /// One has no place.
    pub no_place: f32,
    /// In different files.
    pub other_file: f32,
    /// Lines that move when code above them is edited still count as near.
    pub near_lines: u32,
    /// Weight of an identifier; a word of prose weighs 1.
    pub identifier_weight: f32,
}

impl Similarity {
    /// Whether the claims at these places are the same issue.
    pub fn is_same(&self, a: (Option<&Place>, &str), b: (Option<&Place>, &str)) -> bool {
        self.score(a.1, b.1) >= self.threshold(a.0, b.0)
    }

    /// Agreement of two claims, 0 to 1: the weighted share of words that both have (Dice).
    pub fn score(&self, a: &str, b: &str) -> f32 {
        let (a, b) = (self.words(a), self.words(b));
        let total: f32 = a.values().sum::<f32>() + b.values().sum::<f32>();
        if total == 0.0 {
            return 0.0;
        }
        let shared: f32 = a.iter().filter_map(|(word, weight)| Some(weight + b.get(word)?)).sum();
        shared / total
    }

    fn threshold(&self, a: Option<&Place>, b: Option<&Place>) -> f32 {
        let (Some(a), Some(b)) = (a, b) else { return self.no_place };
        match (a.file == b.file, a.line, b.line) {
            (false, ..) => self.other_file,
            (true, Some(a), Some(b)) if a.abs_diff(b) <= self.near_lines => self.near,
            (true, ..) => self.same_file,
        }
    }

    /// The words of a claim with their weights.
    fn words(&self, claim: &str) -> BTreeMap<String, f32> {
        let is_separator = |c: char| !(c.is_alphanumeric() || c == '_');
        let mut words = BTreeMap::new();
        for word in claim.split(is_separator).filter(|word| !word.is_empty()) {
            if word.chars().all(|c| c.is_numeric()) {
                continue;
            }
            if is_identifier(word) {
                // Its parts count too: prose often names a function by its words.
                words.insert(word.to_lowercase(), self.identifier_weight);
                for part in word.split('_').filter(|part| part.len() > 2) {
                    words.entry(stem(&part.to_lowercase())).or_insert(1.0);
                }
                continue;
            }
            let word = word.to_lowercase();
            if !FILLER.contains(&word.as_str()) {
                words.entry(stem(&word)).or_insert(1.0);
            }
        }
        words
    }
}

/// `snake_case` and `camelCase`; prose has neither.
fn is_identifier(word: &str) -> bool {
    let inner_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.trim_matches('_').contains('_') || inner_capital
}

/// A word without its most common English endings.
fn stem(word: &str) -> String {
    let endings = ["ing", "ed", "es", "s"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.chars().count() >= 3));
    let stem = cut.unwrap_or(word);
    // "leak" and "leakage" differ for good; "missing" and "missed" should not.
    let doubled =
        stem.len() > 3 && stem.is_ascii() && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
    if doubled { stem[..stem.len() - 1].to_owned() } else { stem.trim_end_matches('e').to_owned() }
}

/// Words that say nothing about an issue.
const FILLER: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "does", "for", "from", "has",
    "have", "if", "in", "into", "is", "issue", "it", "its", "line", "may", "might", "of", "on", "or", "problem",
    "should", "so", "still", "that", "the", "then", "there", "this", "to", "was", "when", "where", "which", "while",
    "will", "with", "would",
];
