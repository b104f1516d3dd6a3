//! How bad an issue is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad an issue is, least first. An issue without a stated severity is major.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Minor,
    #[default]
    Major,
    Critical,
}

impl Severity {
    /// The severity that a reviewer's word stands for, in the vocabularies that reviewers use.
    pub fn from_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "critical" | "blocker" | "blocking" | "severe" | "p0" => Some(Self::Critical),
            "major" | "high" | "important" | "medium" | "p1" | "p2" => Some(Self::Major),
            "minor" | "low" | "nit" | "nitpick" | "trivial" | "style" | "p3" => Some(Self::Minor),
            _ => None,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        })
    }
}
