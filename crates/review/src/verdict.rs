//! What a reviewer answered, read from its output.
//!
//! A reviewer whose CLI can enforce a schema answers with JSON ([`SCHEMA`]); any other answers with a status line
//! followed by a list of issues. Output that is neither, or that contradicts itself, is an error and never an approval:
//! the diff under review may contain a status line of its own, written to be repeated.

mod json;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use json::SCHEMA;

use crate::severity::Severity;

/// A reviewer's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: VerdictStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<RaisedIssue>,
    /// The output could not be read twice. The verdict is not the reviewer's own word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unparsed: bool,
}

/// Whether the reviewer accepts the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum VerdictStatus {
    Done,
    IssuesFound,
    /// What is left can only be done by a person: credentials, a decision, access.
    BlockedOnHuman {
        action: String,
    },
}

/// One issue as a reviewer states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RaisedIssue {
    /// The id of a known issue, if the reviewer says that this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub claim: String,
    pub severity: Severity,
    /// What shows that the claim is true: a failing command, an input, an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Why the issue is raised now although the bar was set in an earlier round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A place in the work tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Relative to the root, with `/`.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Why an output is not a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerdictError {
    #[error("the output is empty")]
    Empty,
    #[error("the first line is `{0}`, not `STATUS: DONE` or `STATUS: ISSUES_FOUND`")]
    NoStatus(String),
    #[error("the output has two different status lines")]
    TwoStatuses,
    #[error("the status is `done`, but the output lists {0}")]
    DoneWithIssues(String),
    #[error("the JSON does not match the schema: {0}")]
    Schema(String),
}

/// Longest claim, evidence or reason that is kept.
const MAX_TEXT: usize = 2000;
/// Most issues of one verdict. The rest is dropped.
const MAX_ISSUES: usize = 100;

impl Verdict {
    /// Reads a reviewer's final message.
    pub fn parse(output: &str) -> Result<Self, VerdictError> {
        let body = text::unwrap(output);
        if body.is_empty() {
            return Err(VerdictError::Empty);
        }
        let mut verdict = if body.starts_with('{') { json::parse(body)? } else { text::parse(body)? };
        verdict.check()?;
        verdict.bound();
        Ok(verdict)
    }

    /// The verdict if the output could not be read, even after a second request: issues were found, in its words.
    pub fn unparsed(output: &str) -> Self {
        let excerpt: String = output.trim().chars().take(MAX_TEXT).collect();
        let claim = if excerpt.is_empty() { "The reviewer's output was empty.".to_owned() } else { excerpt };
        let issue = RaisedIssue { claim, ..RaisedIssue::default() };
        Self { status: VerdictStatus::IssuesFound, issues: vec![issue], unparsed: true }
    }

    /// An approval that lists defects contradicts itself. Minor remarks are fine.
    fn check(&self) -> Result<(), VerdictError> {
        let worst = self.issues.iter().max_by_key(|issue| issue.severity);
        match (&self.status, worst) {
            (VerdictStatus::Done, Some(issue)) if issue.severity > Severity::Minor => {
                Err(VerdictError::DoneWithIssues(format!("a {} issue", issue.severity)))
            }
            _ => Ok(()),
        }
    }

    fn bound(&mut self) {
        self.issues.truncate(MAX_ISSUES);
        for issue in &mut self.issues {
            let texts = [Some(&mut issue.claim), issue.evidence.as_mut(), issue.reason.as_mut()];
            for text in texts.into_iter().flatten() {
                if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
                    text.truncate(end);
                }
            }
        }
    }
}
